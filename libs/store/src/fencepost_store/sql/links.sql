-- replace_links --
-- Why: one live link a person and question: an earlier one is worth nothing once another was made.
-- Locks: the links' rows (run and interrupt are held).  Clock: database.
-- Result: none.
UPDATE agent.approval_links
   SET replaced_at = clock_timestamp()
 WHERE interrupt_id = :interrupt_id
   AND approver = :approver
   AND spent_at IS NULL
   AND replaced_at IS NULL;

-- insert_link --
-- Why: a link that decides once; its secret is in the link alone.
-- Locks: none besides (run and interrupt are held).  Clock: database, through its column.
-- Result: none.
INSERT INTO agent.approval_links (id, tenant_id, interrupt_id, run_id, n, approver, created_by, token_hash, expires_at)
VALUES (:id, agent.tenant(), :interrupt_id, :run_id, :n, :approver, :created_by, :token_hash, :expires_at);

-- link_by_id --
-- Why: what a link is bound to; the secret is compared with the hash by the caller.
-- Locks: none.  Clock: database.
-- Result: one row, or none.
SELECT l.id, l.interrupt_id, l.run_id, l.n, l.approver, l.created_by, l.token_hash, l.expires_at, l.spent_at, l.replaced_at,
       l.expires_at <= clock_timestamp() AS is_past, coalesce(p.roles, '{}') AS roles_today
  FROM agent.approval_links l
  LEFT JOIN agent.principals p ON p.tenant_id = l.tenant_id AND p.user_id = l.approver
 WHERE l.id = :id;

-- spend_link --
-- Why: once, and in time, in the transaction of the decision it makes; judged above the lock.
-- Locks: the link's row, after run and interrupt.  Clock: database.
-- Result: the id, or no row when it was spent, replaced, or past its time.
WITH held AS MATERIALIZED (
    SELECT id, expires_at FROM agent.approval_links
     WHERE id = :id AND spent_at IS NULL AND replaced_at IS NULL
       FOR NO KEY UPDATE
)
UPDATE agent.approval_links l
   SET spent_at = clock_timestamp()
  FROM held
 WHERE l.id = held.id
   AND held.expires_at > clock_timestamp()
RETURNING l.id;
