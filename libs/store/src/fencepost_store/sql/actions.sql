-- tenant_of_run --
-- Why: the gateway must name the tenant before row-level security lets it see the run.
-- Locks: none.  Clock: none.
-- Result: one row; NULL when there is no such run.
SELECT agent.tenant_of_run(:run_id) AS tenant_id;

-- run_surroundings --
-- Why: what a tool's context and an action's checks need besides the control columns.
-- Locks: none.  Clock: database.
-- Result: one row: currency, lineage, what the gate let through, the bound catalog (body hashed again here), the tenant's policy.
SELECT r.currency, r.root_run_id, r.created_at, r.gate_revision, r.catalog_fp, c.revoked_at IS NOT NULL AS catalog_revoked,
       encode(sha256(convert_to(c.body, 'UTF8')), 'hex') = c.fingerprint AS catalog_intact,
       s.body AS settings, r.input -> 'ordered' AS ordered, p.lost_after,
       p.started_at AS recovered_at, clock_timestamp() AS now
  FROM agent.runs r
  LEFT JOIN agent.catalogs c ON c.fingerprint = r.catalog_fp
  LEFT JOIN agent.settings s ON s.tenant_id = r.tenant_id AND s.user_id = ''
  LEFT JOIN agent.epochs p ON p.number = r.recovery_epoch
 WHERE r.id = :run_id;

-- look_at_run --
-- Why: an early answer before anything is computed; what counts is judged again under the lock.
-- Locks: none.  Clock: database.
-- Result: as lock_run.
SELECT id, tenant_id, user_id, roles, module, mode, status, waiting_on, stop, pause_asked, revision, attempt,
       max_attempts, progress, attempt_progress, wakes, lease_owner, lease_expires_at, available_at,
       nullif(deadline_at, 'infinity') AS deadline_at, deadline_left, conversation_id, graph_version, event_seq,
       locale, zone, rerouted, clock_timestamp() AS now
  FROM agent.runs
 WHERE id = :run_id;

-- actions_at --
-- Why: all preparations of an index, the newest first.
-- Locks: none, or what the caller holds (the run's row).  Clock: none.
-- Result: rows of agent.actions.
SELECT run_id, index, n, tenant_id, tool, tool_version, catalog_fp, arguments, arguments_hash, author, risk,
       effect_class, approval, status, preview, change, precondition, token_id, token_key_id, token_mac,
       token_expires_at, token_spent_at, interrupt_id, decided_by, prepared_at, grant_id
  FROM agent.actions
 WHERE run_id = :run_id
   AND index = :index
 ORDER BY n DESC;

-- insert_action --
-- Why: a prepared call, once per (run, index, n); an edit that its editor's decision covers is approved at once.
-- Locks: the key's index entries (the run's row is held).  Clock: database.
-- Result: none.
INSERT INTO agent.actions (run_id, index, n, tenant_id, tool, tool_version, catalog_fp, arguments, arguments_hash,
                           author, risk, effect_class, approval, status, preview, change, precondition, token_id,
                           token_key_id, token_mac, token_expires_at, interrupt_id, grant_id, decision, decided_by,
                           decided_at)
VALUES (:run_id, :index, :n, :tenant_id, :tool, :tool_version, :catalog_fp, :arguments, :arguments_hash,
        :author, :risk, :effect_class, :approval, :status, CAST(:preview AS jsonb), CAST(:change AS jsonb),
        CAST(:precondition AS jsonb), :token_id, :token_key_id, :token_mac, :token_expires_at, :interrupt_id, CAST(:grant_id AS uuid),
        CASE WHEN CAST(:decided_by AS text) IS NOT NULL THEN 'approve' END, CAST(:decided_by AS text),
        CASE WHEN CAST(:decided_by AS text) IS NOT NULL THEN clock_timestamp() END);

-- withdraw_action --
-- Why: a later preparation takes its place: its token and its approval are worth nothing any more.
-- Locks: the open interrupt that asks for it, then the action's row (the run's row is held).  Clock: none.
-- Result: the ids of the interrupts withdrawn with it.
WITH asked AS (
    UPDATE agent.interrupts i
       SET status = 'withdrawn'
      FROM agent.actions a
     WHERE a.run_id = :run_id AND a.index = :index AND a.n = :n
       AND i.id = a.interrupt_id
       AND i.status = 'open'
    RETURNING i.id
), gone AS (
    UPDATE agent.actions
       SET status = 'withdrawn'
     WHERE run_id = :run_id AND index = :index AND n = :n
)
SELECT id FROM asked;

-- lock_approval --
-- Why: an approval counts as it is under its lock.
-- Locks: the interrupt's row, FOR NO KEY UPDATE, after its run's.  Clock: none.
-- Result: the row, or no row.
SELECT id, status, indexes, opened_at, expires_at, resolution, resolved_by, resolved_at
  FROM agent.interrupts
 WHERE id = :id
   AND run_id = :run_id
   FOR NO KEY UPDATE;

-- look_at_approval --
-- Why: an early answer; what counts is judged again under the lock.
-- Locks: none.  Clock: none.
-- Result: as lock_approval.
SELECT id, status, indexes, opened_at, expires_at, resolution, resolved_by, resolved_at
  FROM agent.interrupts
 WHERE id = :id
   AND run_id = :run_id;

-- lock_action --
-- Why: a preparation is committed as it is under its lock, at an instant read above all locks.
-- Locks: the action's row, FOR NO KEY UPDATE, after its run's and its interrupt's.  Clock: database.
-- Result: the row and `now`, or no row.
WITH held AS MATERIALIZED (
    SELECT run_id, index, n, tenant_id, tool, tool_version, catalog_fp, arguments, arguments_hash, author, risk,
           effect_class, approval, status, preview, change, precondition, token_id, token_key_id, token_mac,
           token_expires_at, token_spent_at, interrupt_id, decided_by, prepared_at, grant_id
      FROM agent.actions
     WHERE run_id = :run_id AND index = :index AND n = :n
       FOR NO KEY UPDATE
)
SELECT held.*, clock_timestamp() AS now FROM held;

-- spend_token --
-- Why: once; the condition is part of the update.
-- Locks: the action's row, held.  Clock: database.
-- Result: the token's id, or no row when it was spent.
UPDATE agent.actions
   SET token_spent_at = clock_timestamp()
 WHERE run_id = :run_id AND index = :index AND n = :n
   AND token_spent_at IS NULL
RETURNING token_id;

-- end_action --
-- Why: the action's status follows its effect's outcome, in the same transaction.
-- Locks: the action's row, held.  Clock: none.
-- Result: none.
UPDATE agent.actions SET status = :status WHERE run_id = :run_id AND index = :index AND n = :n;

-- roles_of --
-- Why: the rights of today of who edited an action's arguments.
-- Locks: none.  Clock: none.
-- Result: the roles, or no row when the person was never seen.
SELECT roles FROM agent.principals WHERE tenant_id = agent.tenant() AND user_id = :user_id;

-- durability --
-- Why: the promises reach as far as COMMIT does; a server that may forget a COMMIT is not worked with.
-- Locks: none.  Clock: none.
-- Result: the settings that are off.
SELECT name
  FROM pg_settings
 WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit')
   AND setting = 'off';

-- artifacts_named --
-- Why: what goes out with an action, as it is now: its bytes' hash is part of what was approved.
-- Locks: none.  Clock: none.
-- Result: a row an artifact of this person that may be used.
SELECT id, name, encode(sha256, 'hex') AS sha256, size_bytes
  FROM agent.artifacts
 WHERE tenant_id = agent.tenant()
   AND user_id = :user_id
   AND id = ANY (CAST(:ids AS uuid[]))
   AND status <> 'rejected'
   AND erased_at IS NULL;
