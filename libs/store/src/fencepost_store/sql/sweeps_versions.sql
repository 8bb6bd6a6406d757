-- unserved_runs --
-- Why: due work that no living worker may claim; it goes on by itself when its version is served again.
-- Locks: none.  Clock: database.
-- Result: module, version, how many, the oldest due instant, and whether the module is being rolled out (a worker of
--      it began within ten minutes).
WITH due AS MATERIALIZED (
    SELECT module, graph_version, count(*) AS runs, min(available_at) AS due_since
      FROM agent.runs
     WHERE status = 'queued'
       AND available_at <= statement_timestamp()
     GROUP BY module, graph_version
)
SELECT d.module, d.graph_version, d.runs, d.due_since,
       EXISTS (SELECT FROM agent.workers w
                WHERE w.alive_until > statement_timestamp() AND d.module = ANY (w.modules)
                  AND w.started_at > statement_timestamp() - interval '10 minutes') AS in_rollout
  FROM due d
 WHERE NOT EXISTS (SELECT FROM agent.workers w
                    WHERE w.alive_until > statement_timestamp()
                      AND d.module = ANY (w.modules)
                      AND (d.graph_version = '' OR d.graph_version = ANY (w.versions)))
 ORDER BY 1, 2
 LIMIT 100;

-- find_unserved_runs --
-- Why: the due runs of a version that nobody served for too long. Only candidates: each is judged under its lock.
-- Locks: none.  Clock: database.
-- Result: run ids in order; none that a person left queued (`stay`) within a week, nor one with an open question.
SELECT r.id
  FROM agent.runs r
 WHERE r.status = 'queued'
   AND r.available_at <= statement_timestamp()
   AND (CAST(:only AS uuid) IS NULL OR r.id = :only)
   AND r.id > :after
   AND (CAST(:only AS uuid) IS NOT NULL
        OR EXISTS (SELECT FROM unnest(CAST(:modules AS text[]), CAST(:versions AS text[])) AS v (module, version)
                    WHERE v.module = r.module AND v.version = r.graph_version))
   AND NOT EXISTS (SELECT FROM agent.workers w
                    WHERE w.alive_until > statement_timestamp()
                      AND r.module = ANY (w.modules)
                      AND (r.graph_version = '' OR r.graph_version = ANY (w.versions)))
   AND NOT EXISTS (SELECT FROM agent.interrupts i
                    WHERE i.run_id = r.id
                      AND (i.status = 'open'
                           OR i.kind = 'version' AND i.resolution ->> 'choice' = 'stay'
                              AND i.resolved_at > statement_timestamp() - interval '7 days'))
 ORDER BY r.id
 LIMIT :batch;

-- ask_about_version --
-- Why: nobody serves the version a run is bound to: a person is asked what shall become of it.
-- Locks: none new (the run's row is held).  Clock: database.
-- Result: none.
INSERT INTO agent.interrupts (id, run_id, tenant_id, user_id, kind, index, n, question, candidates, expires_at)
SELECT :id, r.id, r.tenant_id, r.user_id, 'version', 0,
       1 + (SELECT count(*) FROM agent.interrupts i WHERE i.run_id = r.id AND i.kind = 'version' AND i.index = 0),
       :question, CAST(:candidates AS jsonb), clock_timestamp() + interval '7 days'
  FROM agent.runs r
 WHERE r.id = :run_id;

-- find_children_to_stop --
-- Why: children of a run that was stopped; they were started for it and may not go on without it.
-- Locks: none.  Clock: none.
-- Result: run ids in order, by runs_by_parent_idx; of a parent that is being stopped, or was.
SELECT c.id
  FROM agent.runs c
  JOIN agent.runs p ON p.id = c.parent_run_id
 WHERE c.parent_run_id IS NOT NULL
   AND c.finished_at IS NULL
   AND c.status <> 'cancelling'
   AND p.stop IS NOT NULL
   AND (CAST(:only AS uuid) IS NULL OR c.id = :only)
   AND c.id > :after
 ORDER BY c.id
 LIMIT :batch;
