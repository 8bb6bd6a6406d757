-- recovery_facts --
-- Why: all that the recovery gate judges, in one statement, for a run that was worked on before.
-- Locks: none (the gate's record judges the fence).  Clock: database.
-- Result: one row.
WITH run AS MATERIALIZED (
    SELECT r.id, r.tenant_id, r.user_id, r.roles, r.module, r.conversation_id, r.root_run_id, r.catalog_fp, r.input,
           coalesce((SELECT max(c.at) FROM langgraph.checkpoints c WHERE c.run_id = r.id), r.created_at) AS worked_at
      FROM agent.runs r
     WHERE r.id = :run_id
)
SELECT run.user_id, run.roles AS started_with, run.module, run.catalog_fp, p.roles, p.seen_at, clock_timestamp() AS now,
       (SELECT coalesce(jsonb_agg(jsonb_build_object(
                   'index', e.index, 'tool', e.tool, 'class', e.class, 'state', e.state, 'ends_at', a.attempt_ends_at)
                   ORDER BY e.index), '[]')
          FROM agent.effects e
          LEFT JOIN agent.effect_attempts a ON a.effect_key = e.effect_key AND a.state = 'started'
         WHERE e.run_id = run.id
           AND e.state IN ('started', 'accepted', 'unknown', 'needs_human')) AS effects,
       (SELECT coalesce(jsonb_agg(jsonb_build_object(
                   'index', a.index, 'n', a.n, 'tool', a.tool, 'tool_version', a.tool_version, 'status', a.status,
                   'approval', a.approval, 'token_expires_at', a.token_expires_at, 'decided_by', a.decided_by,
                   'decided_at', a.decided_at, 'decider_roles', d.roles) ORDER BY a.index), '[]')
          FROM agent.actions a
          LEFT JOIN agent.principals d ON d.tenant_id = run.tenant_id AND d.user_id = a.decided_by
         WHERE a.run_id = run.id
           AND a.status IN ('prepared', 'approved')
           AND NOT EXISTS (SELECT FROM agent.effects e WHERE e.run_id = a.run_id AND e.index = a.index)) AS pending,
       (SELECT jsonb_build_object(
                   'asked', count(*), 'open', max(i.n) FILTER (WHERE i.status = 'open'),
                   'confirmed_at', max(i.resolved_at) FILTER (WHERE i.resolution ->> 'choice' = 'go_on'),
                   'said_stop', coalesce(bool_or(i.resolution ->> 'choice' = 'stop'), false),
                   'never_answered', coalesce(bool_or(i.status = 'expired'), false))
          FROM agent.interrupts i
         WHERE i.run_id = run.id AND i.kind = 'input' AND i.index = :gate_index) AS asked,
       (SELECT to_jsonb(b) FROM agent.budgets b WHERE b.root_run_id = run.root_run_id) AS budget,
       -- Two looks by index: one condition over both would read every artifact there is at each recovery.
       ARRAY(SELECT f.id::text FROM agent.artifacts f
              WHERE f.run_id = run.id AND (f.lost IS NOT NULL OR f.erased_at IS NOT NULL)
             UNION
             SELECT f.id::text
               FROM jsonb_array_elements_text(CASE jsonb_typeof(run.input -> 'attachments')
                    WHEN 'array' THEN run.input -> 'attachments' ELSE '[]' END) AS said
               JOIN agent.artifacts f ON f.id = CASE WHEN said ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN CAST(said AS uuid) END
              WHERE f.lost IS NOT NULL OR f.erased_at IS NOT NULL
              ORDER BY 1) AS artifacts_bad,
       (SELECT count(*) FROM agent.messages m
         WHERE m.conversation_id = run.conversation_id AND m.run_id IS DISTINCT FROM run.id
           AND m.created_at > run.worked_at) AS said_since,
       (SELECT count(*) FROM agent.state_events s
         WHERE s.conversation_id = run.conversation_id AND s.run_id IS DISTINCT FROM run.id
           AND s.at > run.worked_at) AS state_since
  FROM run
  LEFT JOIN agent.principals p ON p.tenant_id = run.tenant_id AND p.user_id = run.user_id;

-- newer_catalog --
-- Why: was a contract changed after something was approved under it? Asked only where something approved waits.
-- Locks: none.  Clock: none.
-- Result: the module's catalog in force when it is another than the bound one, and since when.
SELECT fingerprint, body, in_force_at
  FROM (SELECT fingerprint, body, in_force_at
          FROM agent.catalogs
         WHERE module = :module
           AND revoked_at IS NULL
         ORDER BY in_force_at DESC, fingerprint
         LIMIT 1) AS now_in_force
 WHERE fingerprint IS DISTINCT FROM :catalog;

-- withdraw_void_approvals --
-- Why: an approval that doesn't hold any more carries nothing; the graph prepares it again and a person is asked.
-- Locks: the actions (the run's row is held).  Clock: none.
-- Result: index and n of each.
UPDATE agent.actions a
   SET status = 'withdrawn'
  FROM unnest(CAST(:indexes AS int[]), CAST(:ns AS int[])) AS v (index, n)
 WHERE a.run_id = :run_id
   AND a.index = v.index
   AND a.n = v.n
   AND a.status = 'approved'
   AND NOT EXISTS (SELECT FROM agent.effects e WHERE e.run_id = a.run_id AND e.index = a.index)
RETURNING a.index, a.n;
