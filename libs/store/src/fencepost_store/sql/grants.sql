-- insert_grant --
-- Why: an approval that is remembered, in the transaction of the decision that it is part of.
-- Locks: none besides (run and interrupt are held).  Clock: database.
-- Result: none.
INSERT INTO agent.grants (id, tenant_id, user_id, granted_by, granted_roles, interrupt_id, run_id, index, module, tool,
                          tool_version, catalog_fp, risk, effect_class, condition, max_uses, expires_at)
VALUES (:id, agent.tenant(), :user_id, :granted_by, CAST(:granted_roles AS text[]), :interrupt_id, :run_id, :index, :module,
        :tool, :tool_version, :catalog_fp, :risk, :effect_class, CAST(:condition AS text), CAST(:max_uses AS int), :expires_at);

-- candidate_grants --
-- Why: which grants may cover an action; their conditions are judged outside every lock.
-- Locks: none.  Clock: database.
-- Result: id and condition, the oldest first.
SELECT id, condition
  FROM agent.grants
 WHERE tenant_id = agent.tenant()
   AND user_id = :user_id
   AND tool = :tool
   AND ended_at IS NULL
   AND expires_at > clock_timestamp()
 ORDER BY id
 LIMIT 50;

-- lock_grant --
-- Why: uses are counted, and a revocation is seen, under the grant's own lock.
-- Locks: the grant's row, FOR NO KEY UPDATE, after the run's and before the action's.  Clock: none.
-- Result: the row, or no row.
SELECT id, user_id, granted_by, granted_roles, tool, catalog_fp, condition, max_uses, uses, expires_at, ended_reason
  FROM agent.grants
 WHERE id = :id
   FOR NO KEY UPDATE;

-- look_at_grant --
-- Why: an early answer; what counts is judged again under the lock.
-- Locks: none.  Clock: none.
-- Result: as lock_grant.
SELECT id, user_id, granted_by, granted_roles, tool, catalog_fp, condition, max_uses, uses, expires_at, ended_reason
  FROM agent.grants
 WHERE id = :id;

-- grant_today --
-- Why: what a grant is judged by; a later statement than the lock, since only the locked row is fresh after a wait.
-- Locks: none (the grant is held where it counts).  Clock: database.
-- Result: the granter's roles, the module's catalog in force, whether this action used it before, and `now`.
SELECT coalesce(p.roles, '{}') AS roles,
       (SELECT c.fingerprint FROM agent.catalogs c
         WHERE c.module = g.module AND c.revoked_at IS NULL
         ORDER BY c.in_force_at DESC, c.fingerprint LIMIT 1) AS catalog_fp,
       EXISTS (SELECT FROM agent.grant_uses u
                WHERE u.grant_id = g.id AND u.run_id = CAST(:run_id AS uuid) AND u.index = CAST(:index AS int)) AS used,
       clock_timestamp() AS now
  FROM agent.grants g
  LEFT JOIN agent.principals p ON p.tenant_id = g.tenant_id AND p.user_id = g.granted_by
 WHERE g.id = :id;

-- count_grant_use --
-- Why: the last use is given once, however many runs ask for it at the same time.
-- Locks: the grant's row, held.  Clock: database.
-- Result: the uses now, or no row when none is left or its time is over.
UPDATE agent.grants
   SET uses = uses + 1
 WHERE id = :id
   AND ended_at IS NULL
   AND expires_at > clock_timestamp()
   AND (max_uses IS NULL OR uses < max_uses)
RETURNING uses;

-- insert_grant_use --
-- Why: the stored approval of one preparation: exactly these arguments (I12).
-- Locks: none besides (run and grant are held).  Clock: database.
-- Result: none.
INSERT INTO agent.grant_uses (run_id, index, n, grant_id, tenant_id, tool, catalog_fp, arguments_hash, granted_by)
VALUES (:run_id, :index, :n, :grant_id, agent.tenant(), :tool, :catalog_fp, :arguments_hash, :granted_by);

-- stored_grant_use --
-- Why: what a grant approved, to be compared with what is to be done.
-- Locks: none (run and grant are held).  Clock: none.
-- Result: one row, or none.
SELECT grant_id, arguments_hash, catalog_fp FROM agent.grant_uses WHERE run_id = :run_id AND index = :index AND n = :n;

-- end_grant --
-- Why: revoked by a person, or void for good: a contract or a role changed.
-- Locks: the grant's row.  Clock: database.
-- Result: the id, or no row when it had ended.
UPDATE agent.grants
   SET ended_at = clock_timestamp(), ended_by = :by, ended_reason = :reason
 WHERE id = :id
   AND ended_at IS NULL
RETURNING id;

-- view_grants --
-- Why: grants as the API shows them, one or a page, with what they are judged by today.
-- Locks: none.  Clock: database.
-- Result: newest first.
SELECT g.id, g.user_id, g.granted_by, g.granted_roles, g.interrupt_id, g.run_id, g.index, g.module, g.tool, g.tool_version,
       g.catalog_fp, g.risk, g.effect_class, g.condition, g.max_uses, g.uses, g.created_at, g.expires_at, g.ended_at,
       g.ended_by, g.ended_reason, coalesce(p.roles, '{}') AS roles_today, clock_timestamp() AS now,
       (SELECT c.fingerprint FROM agent.catalogs c
         WHERE c.module = g.module AND c.revoked_at IS NULL
         ORDER BY c.in_force_at DESC, c.fingerprint LIMIT 1) AS catalog_today
  FROM agent.grants g
  LEFT JOIN agent.principals p ON p.tenant_id = g.tenant_id AND p.user_id = g.granted_by
 WHERE (CAST(:id AS uuid) IS NULL OR g.id = CAST(:id AS uuid))
   AND (CAST(:user_id AS text) IS NULL OR g.user_id = CAST(:user_id AS text) OR g.granted_by = CAST(:user_id AS text))
   AND (CAST(:tool AS text) IS NULL OR g.tool = CAST(:tool AS text))
   AND (CAST(:before AS uuid) IS NULL OR g.id < CAST(:before AS uuid))
 ORDER BY g.id DESC
 LIMIT :limit;

-- view_grant_uses --
-- Why: what a grant approved, for who looks at it.
-- Locks: none.  Clock: none.
-- Result: the newest first, 50 at most.
SELECT run_id, index, n, tool, arguments_hash, used_at
  FROM agent.grant_uses
 WHERE grant_id = :id
 ORDER BY used_at DESC
 LIMIT 50;
