-- insert_vote --
-- Why: one vote a person; expiry is part of its condition, judged above the lock (case AP-1).
-- Locks: the interrupt's row, held already.  Clock: database.
-- Result: when it was given, or no row when the interrupt is not open or past its time.
WITH held AS MATERIALIZED (
    SELECT id, run_id, tenant_id, expires_at FROM agent.interrupts WHERE id = :id AND status = 'open' FOR NO KEY UPDATE
)
INSERT INTO agent.approval_votes (interrupt_id, voter, run_id, tenant_id, decision, resolution, resolution_hash, key, roles, link_id)
SELECT held.id, :voter, held.run_id, held.tenant_id, :decision, CAST(:resolution AS jsonb), :resolution_hash, :key,
       CAST(:roles AS text[]), CAST(:link_id AS uuid)
  FROM held
 WHERE held.expires_at > clock_timestamp()
RETURNING voted_at;

-- votes_of --
-- Why: what was said to an approval so far.
-- Locks: none (run and interrupt are held where a decision is made).  Clock: none.
-- Result: a row a person, the first vote first.
SELECT voter, decision, resolution, resolution_hash, key, link_id, voted_at
  FROM agent.approval_votes
 WHERE interrupt_id = :id
 ORDER BY voted_at, voter;

-- voters_today --
-- Why: at commit those who approved must still be allowed to; who resolved it counts where no vote was stored.
-- Locks: none (run and interrupt are held).  Clock: none.
-- Result: a row a person who approved this action, with the roles of today (none for somebody never seen).
SELECT said.voter, coalesce(p.roles, '{}') AS roles
  FROM (SELECT v.voter
          FROM agent.approval_votes v
         WHERE v.interrupt_id = :id
           AND EXISTS (SELECT FROM jsonb_array_elements(v.resolution -> 'decisions') AS d
                        WHERE CAST(d ->> 'index' AS int) = :index AND d ->> 'decision' = 'approve')
        UNION
        SELECT i.resolved_by
          FROM agent.interrupts i
         WHERE i.id = :id AND i.resolved_by IS NOT NULL
           AND NOT EXISTS (SELECT FROM agent.approval_votes w WHERE w.interrupt_id = i.id)) AS said
  LEFT JOIN agent.principals p ON p.tenant_id = agent.tenant() AND p.user_id = said.voter;

-- asked_actions --
-- Why: what a decision is about: tools by the catalog they were prepared under, arguments, authors.
-- Locks: none (run and interrupt are held where a decision is made).  Clock: none.
-- Result: a row an action asked for; fingerprint and body are NULL where the catalog isn't published.
SELECT a.index, a.n, a.tool, a.tool_version, a.risk, a.effect_class, a.arguments, a.author, a.catalog_fp, r.module,
       c.fingerprint, c.body
  FROM agent.actions a
  JOIN agent.runs r ON r.id = a.run_id
  LEFT JOIN agent.catalogs c ON c.fingerprint = a.catalog_fp
 WHERE a.interrupt_id = :interrupt_id
   AND a.status <> 'withdrawn'
 ORDER BY a.index;
