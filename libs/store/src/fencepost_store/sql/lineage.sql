-- source_run --
-- Why: what a retry, a fork or a simulation is made from.
-- Locks: none.  Clock: none.
-- Result: one row; none for another tenant's.
SELECT r.id, r.user_id, r.roles, r.module, r.mode, r.status, r.conversation_id, r.root_run_id, r.input, r.locale, r.zone,
       r.currency, r.metadata, r.budget, r.event_seq, r.created_at, coalesce(r.reference_at, r.created_at) AS reference_at,
       r.rerouted, r.finished_at, r.graph_version, r.manifest_fp, r.catalog_fp, r.origin_run_id, r.origin_kind, r.substitutes,
       (SELECT p.roles FROM agent.principals p WHERE p.tenant_id = r.tenant_id AND p.user_id = r.user_id) AS roles_today
  FROM agent.runs r
 WHERE r.id = :run_id;

-- origin_of_run --
-- Why: a worker that executes a fork or a simulation inherits from its origin's log, history and state.
-- Locks: none.  Clock: none.
-- Result: one row; none for a run with no origin.
SELECT r.origin_kind, r.origin_run_id, r.origin_seq, coalesce(r.substitutes, '{}') AS substitutes, r.reference_at,
       o.conversation_id, o.event_seq AS origin_head, o.created_at AS origin_created_at,
       coalesce(CAST(r.substitutes ->> 'history_of' AS uuid), o.id) AS history_of
  FROM agent.runs r
  JOIN agent.runs o ON o.id = r.origin_run_id
 WHERE r.id = :run_id
   AND r.origin_kind IN ('fork', 'simulation');

-- answers_of_run --
-- Why: answers of the ledger, for logs of version 1, whose events didn't hold them.
-- Locks: none.  Clock: none.
-- Result: a row a call.
SELECT id, answer FROM agent.model_calls WHERE run_id = :run_id AND state = 'settled' AND NOT late AND answer IS NOT NULL;

-- previews_of_run --
-- Why: what a person read before deciding; words of an ending are made of it.
-- Locks: none.  Clock: none.
-- Result: a row a preparation.
SELECT index, n, preview, change FROM agent.actions WHERE run_id = :run_id;

-- find_version --
-- Why: a graph or a contract as people name it: by fingerprint, by its version, a graph of a module's also without its name.
-- Locks: none.  Clock: database.
-- Result: those of this module that aren't revoked, the newest first; served: a living worker would take its runs up.
SELECT d.fingerprint, d.published_at,
       EXISTS (SELECT FROM agent.workers w
                WHERE w.alive_until > statement_timestamp()
                  AND :module = ANY (w.modules) AND d.fingerprint = ANY (w.versions)) AS served
  FROM agent.definitions d
 WHERE :kind = 'graph' AND d.module IN ('*', :module) AND d.revoked_at IS NULL
   AND (d.fingerprint = :wanted OR d.version = :wanted OR right(d.version, length(:wanted) + 1) = '-' || :wanted)
UNION ALL
SELECT c.fingerprint, c.in_force_at, true
  FROM agent.catalogs c
 WHERE :kind = 'contract' AND c.module = :module AND (c.fingerprint = :wanted OR c.version = :wanted) AND c.revoked_at IS NULL
 ORDER BY published_at DESC;

-- published_versions --
-- Why: who named a version that isn't there is told which are.
-- Locks: none.  Clock: none.
-- Result: names, the newest first.
SELECT version
  FROM (SELECT d.version, d.published_at FROM agent.definitions d
         WHERE :kind = 'graph' AND d.module IN ('*', :module) AND d.revoked_at IS NULL
        UNION ALL
        SELECT c.version, c.in_force_at FROM agent.catalogs c
         WHERE :kind = 'contract' AND c.module = :module AND c.revoked_at IS NULL) AS v
 GROUP BY version
 ORDER BY max(published_at) DESC, version DESC
 LIMIT 10;

-- served_graph --
-- Why: what a new run of a module would be bound to now, for one whose own graph nobody serves any more.
-- Locks: none.  Clock: database.
-- Result: a fingerprint: the module's own graph before those of all modules, in the order in which workers name theirs (the
--      newest first). No row: nobody serves the module.
SELECT d.fingerprint
  FROM agent.workers w
 CROSS JOIN unnest(w.versions) WITH ORDINALITY AS v (fingerprint, place)
  JOIN agent.definitions d ON d.fingerprint = v.fingerprint
 WHERE w.alive_until > statement_timestamp()
   AND :module = ANY (w.modules)
   AND d.module IN ('*', :module)
   AND d.revoked_at IS NULL
 ORDER BY d.module = '*', v.place, d.published_at DESC
 LIMIT 1;

-- last_real_runs --
-- Why: the runs that a simulation over many is made from: finished, real, of one module, the newest.
-- Locks: none.  Clock: none.
-- Result: ids, the newest first.
SELECT r.id
  FROM agent.runs r
 WHERE r.module = :module
   AND r.mode = 'live'
   AND r.finished_at IS NOT NULL
   AND r.graph_version <> ''
   AND (CAST(:user_id AS text) IS NULL OR r.user_id = CAST(:user_id AS text))
 ORDER BY r.id DESC
 LIMIT :last;

-- insert_simulation --
-- Why: many runs simulated under the same substitutes, once per key.
-- Locks: the key's index entry.  Clock: database.
-- Result: the id, or no row when the key was used before.
INSERT INTO agent.simulations (id, tenant_id, user_id, module, substitutes, runs, idempotency_key, request_hash)
VALUES (:id, agent.tenant(), :user_id, :module, CAST(:substitutes AS jsonb), :runs, :key, :request_hash)
ON CONFLICT ON CONSTRAINT simulations_one_per_idempotency_key DO NOTHING
RETURNING id;

-- simulation_by_key --
-- Why: what an idempotency key made.
-- Locks: none.  Clock: none.
-- Result: id and request hash.
SELECT id, request_hash FROM agent.simulations WHERE user_id = :user_id AND idempotency_key = :key;

-- simulation --
-- Why: a simulation over many runs, as its owner or an operator sees it.
-- Locks: none.  Clock: none.
-- Result: one row.
SELECT * FROM agent.simulations WHERE id = :id AND (CAST(:user_id AS text) IS NULL OR user_id = CAST(:user_id AS text));

-- simulated_runs --
-- Why: the runs of a simulation and what they were made from.
-- Locks: none.  Clock: none.
-- Result: a row a run.
SELECT r.id, r.origin_run_id, r.status, r.event_seq, r.finished_at, o.event_seq AS origin_seq
  FROM agent.runs r
  JOIN agent.runs o ON o.id = r.origin_run_id
 WHERE r.simulation_id = :id
 ORDER BY r.id;
