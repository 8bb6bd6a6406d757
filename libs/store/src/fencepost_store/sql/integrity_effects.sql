-- The checks of integrity.sql that are about actions and effects: what happened to the world, and who allowed it.

-- i06_success_is_settled --
-- Why: 02 §1. Nothing succeeds while one of its effects is started, unknown or a person's to settle.
-- Locks: none.  Clock: none.
-- Result: runs that did.
SELECT 'run ' || r.id AS subject, 'succeeded with effect ' || e.effect_key || ' ' || e.state AS detail
  FROM agent.runs r
  JOIN agent.effects e ON e.run_id = r.id
 WHERE r.status = 'succeeded'
   AND e.state IN ('started', 'accepted', 'unknown', 'needs_human')
   AND e.compensation_run_id IS NULL;

-- i10_compensation_has_its_run --
-- Why: 02 §5. What is being undone names the run that does it; what is undone, an effect that did it, or a person.
-- Locks: none.  Clock: none.
-- Result: effects without.
SELECT 'effect ' || f.effect_key AS subject, f.state || ' by run ' || coalesce(f.compensation_run_id::text, 'none') AS detail
  FROM agent.effects f
 WHERE (f.state = 'compensating'
        AND NOT EXISTS (SELECT FROM agent.runs r
                         WHERE r.id = f.compensation_run_id AND r.tenant_id = f.tenant_id AND r.origin_run_id = f.run_id))
    OR (f.state = 'compensated' AND f.resolution IS NULL
        AND NOT EXISTS (SELECT FROM agent.effects c
                         WHERE c.compensates = f.effect_key AND c.run_id = f.compensation_run_id
                           AND c.state IN ('completed', 'compensating', 'compensated')))
    OR (f.compensates IS NOT NULL
        AND NOT EXISTS (SELECT FROM agent.effects o WHERE o.effect_key = f.compensates AND o.compensation_run_id IS NOT NULL));

-- i10_one_open_attempt --
-- Why: I10. One open attempt a key, one that landed (under a provider's key a repeat lands as the first did). Opaque
--      and queryable effects are repeated only after what settled every earlier attempt: a refusal, a look-up that said
--      absent, or a person; opaque ones never by a look-up.
-- Locks: none.  Clock: none.
-- Result: effects with more.
SELECT 'effect ' || e.effect_key AS subject,
       e.class || ' with ' || count(*) || ' attempts, ' || count(*) FILTER (WHERE a.state = 'started') || ' open, '
       || count(*) FILTER (WHERE a.state = 'completed') || ' completed' AS detail
  FROM agent.effects e
  JOIN agent.effect_attempts a USING (effect_key)
 GROUP BY e.effect_key, e.class
HAVING count(*) FILTER (WHERE a.state = 'started') > 1
    OR (e.class <> 'external_idempotent' AND count(*) FILTER (WHERE a.state = 'completed') > 1)
    OR (e.class IN ('external_opaque', 'external_queryable')
        AND count(*) FILTER (WHERE a.state IN ('started', 'unknown', 'completed')) > 1)
    OR (e.class = 'external_opaque'
        AND count(*) FILTER (WHERE a.state = 'absent' AND coalesce(a.settled_by, '') NOT LIKE 'user:%') > 0);

-- i10_person_gave_evidence --
-- Why: 02 §5. What a person settled names who and by what evidence, and has its event.
-- Locks: none.  Clock: none.
-- Result: effects resolved without.
SELECT 'effect ' || e.effect_key AS subject,
       e.state || CASE WHEN e.resolution IS NULL THEN ' without a resolution' ELSE ' without its event' END AS detail
  FROM agent.effects e
 WHERE (e.state = 'abandoned' AND e.resolution IS NULL)
    OR (e.resolution IS NOT NULL
        AND NOT EXISTS (SELECT FROM agent.run_events v WHERE v.run_id = e.run_id AND v.type = 'effect.resolved'));

-- i10_nothing_unknown_is_forgotten --
-- Why: I10. What isn't known is being looked at, waits for its run's repeat, or is before a person.
-- Locks: none.  Clock: database.
-- Result: external effects that stayed `started` long after their attempt's end (a minute: the sweep takes seconds).
SELECT 'effect ' || e.effect_key AS subject, e.state || ' since its attempt ended at ' || max(a.attempt_ends_at) AS detail
  FROM agent.effects e
  JOIN agent.effect_attempts a USING (effect_key)
 WHERE e.state = 'started'
   AND e.class LIKE 'external%'
 GROUP BY e.effect_key, e.state
HAVING max(a.attempt_ends_at) < clock_timestamp() - interval '60 seconds';

-- i10_effect_fits_its_attempts --
-- Why: I10, I05. What an effect says happened is what its attempts say.
-- Locks: none.  Clock: none.
-- Result: effects that disagree with them.
SELECT 'effect ' || e.effect_key AS subject,
       e.state || ' with ' || t.total || ' of ' || e.attempts || ' attempts, ' || t.open || ' open, '
       || t.completed || ' completed' AS detail
  FROM agent.effects e
  CROSS JOIN LATERAL (SELECT count(*) AS total, count(*) FILTER (WHERE a.state = 'started') AS open,
                             count(*) FILTER (WHERE a.state = 'completed') AS completed
                        FROM agent.effect_attempts a WHERE a.effect_key = e.effect_key) AS t
 WHERE e.attempts <> t.total
    OR (e.state IN ('prepared', 'withdrawn') AND t.open > 0)
    OR (e.state = 'started') <> (t.open > 0 AND e.state <> 'accepted')
    OR (e.state = 'completed' AND t.completed = 0)
    OR (e.state IN ('failed', 'absent', 'abandoned') AND t.completed > 0 AND e.compensation_run_id IS NULL);

-- i12_attempt_was_approved --
-- Why: I12. Medium and high risk act only on a stored approval of exactly these arguments, unexpired at the time.
-- Locks: none.  Clock: none.
-- Result: attempts that did not.
SELECT 'effect ' || e.effect_key || ' attempt ' || t.attempt AS subject,
       CASE WHEN a.run_id IS NULL THEN 'there is no such action'
            WHEN a.arguments_hash <> e.arguments_hash THEN 'its arguments are not those that were prepared'
            WHEN a.decision IS DISTINCT FROM 'approve' THEN a.risk || ' risk, decision ' || coalesce(a.decision, 'none')
            WHEN a.decided_at > t.started_at THEN 'approved only at ' || a.decided_at
            ELSE 'the approval had expired at ' || a.token_expires_at END AS detail
  FROM agent.effect_attempts t
  JOIN agent.effects e USING (effect_key)
  LEFT JOIN agent.actions a ON a.run_id = e.run_id AND a.index = e.index AND a.n = e.n
 WHERE a.run_id IS NULL
    OR a.arguments_hash <> e.arguments_hash
    OR (t.executor_boot <> 'lost' AND (a.risk IN ('medium', 'high') OR a.approval)
        AND (a.decision IS DISTINCT FROM 'approve' OR a.decided_at IS NULL OR a.decided_at > t.started_at
             OR a.token_expires_at <= t.started_at));

-- i13_rejected_is_never_tried --
-- Why: I13. Reject, expiry and withdrawal mean zero attempts.
-- Locks: none.  Clock: none.
-- Result: actions that were tried all the same.
SELECT 'action ' || a.index || '/' || a.n || ' of run ' || a.run_id AS subject,
       a.status || ' with attempt ' || min(t.attempt) AS detail
  FROM agent.actions a
  JOIN agent.effects e ON e.run_id = a.run_id AND e.index = a.index AND e.n = a.n
  JOIN agent.effect_attempts t USING (effect_key)
 WHERE a.status IN ('rejected', 'expired', 'withdrawn') OR a.decision = 'reject'
 GROUP BY a.index, a.n, a.run_id, a.status;

-- i15_gate_let_it_through --
-- Why: I15, 02 §4. After its first claim a run starts nothing that the recovery gate didn't let through.
-- Locks: none.  Clock: none.
-- Result: attempts opened under the present claim of a running run without the gate's yes for it.
SELECT 'effect ' || t.effect_key || ' attempt ' || t.attempt AS subject,
       'opened under revision ' || r.revision || ', the gate let through ' || coalesce(r.gate_revision::text, 'none') AS detail
  FROM agent.runs r
  JOIN agent.effect_attempts t ON t.run_id = r.id
 WHERE r.status = 'running'
   AND r.revision > 1
   AND r.gate_revision IS DISTINCT FROM r.revision
   AND t.started_at > (SELECT max(e.at) FROM agent.run_events e WHERE e.run_id = r.id AND e.type = 'run.claimed');

-- i22_no_attempt_after_the_stop --
-- Why: I22. After the cancel's commit nothing new is started. Both instants were read under the run's lock.
-- Locks: none.  Clock: none.
-- Result: attempts opened later.
SELECT 'effect ' || t.effect_key || ' attempt ' || t.attempt AS subject,
       'opened at ' || t.started_at || ', run ' || t.run_id || ' was stopped at ' || e.at AS detail
  FROM agent.effect_attempts t
  JOIN agent.run_events e ON e.run_id = t.run_id AND e.type IN ('run.cancel_asked', 'run.deadline_passed', 'run.handoff_asked')
 WHERE t.started_at > e.at;

-- i22_open_attempts_are_named --
-- Why: I22. A stopped run names what may still reach the world.
-- Locks: none.  Clock: none.
-- Result: attempts that were open at the end and are not in the finalization.
SELECT 'run ' || f.run_id AS subject, 'attempt of ' || t.effect_key || ' was open at the end and is not named' AS detail
  FROM agent.finalizations f
  JOIN agent.effect_attempts t ON t.run_id = f.run_id
 WHERE t.started_at < f.at
   AND coalesce(t.settled_at, 'infinity') > f.at
   AND NOT EXISTS (SELECT FROM jsonb_array_elements(f.unconfirmed_effects) AS u WHERE u ->> 'effect_key' = t.effect_key);

-- tables_with_effects --
-- Why: the modules' business tables that name the effect that wrote them.
-- Locks: none.  Clock: none.
-- Result: schema and table, quoted, that this role may read.
SELECT format('%I.%I', n.nspname, c.relname) AS place, has_table_privilege(c.oid, 'SELECT') AS readable
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'origin_effect_key' AND NOT a.attisdropped
 WHERE n.nspname = 'app'
   AND c.relkind IN ('r', 'p')
   AND NOT c.relispartition
 ORDER BY 1;

-- i11_business_row_has_its_effect --
-- Why: I11. A local effect, its completion and its event are one transaction. Completed with the modules' tables:
--      ` UNION ALL SELECT tenant_id, origin_effect_key, '<table>' FROM <table>` each.
-- Locks: none.  Clock: none.
-- Result: business rows whose effect is missing, not completed, or another tenant's.
SELECT b.place || ' row of ' || b.origin_effect_key AS subject,
       coalesce('its effect is ' || e.state || ' of tenant ' || e.tenant_id, 'its effect is not there') AS detail
  FROM (SELECT CAST(NULL AS uuid) AS tenant_id, CAST(NULL AS text) AS origin_effect_key, CAST(NULL AS text) AS place{tables}) AS b
  LEFT JOIN agent.effects e ON e.effect_key = b.origin_effect_key
 WHERE b.origin_effect_key IS NOT NULL
   AND (e.effect_key IS NULL OR e.tenant_id <> b.tenant_id OR e.state NOT IN ('completed', 'compensating', 'compensated'));

-- i11_completion_has_its_event --
-- Why: I11. A completed effect has its event, a committed action its effect.
-- Locks: none.  Clock: none.
-- Result: what is without.
SELECT 'effect ' || e.effect_key AS subject, 'completed without an event that says so' AS detail
  FROM agent.effects e
 WHERE e.state = 'completed'
   AND (SELECT count(*) FROM agent.run_events v WHERE v.run_id = e.run_id
           AND v.type IN ('action.committed', 'effect.resolved'))
       < (SELECT count(*) FROM agent.effects o WHERE o.run_id = e.run_id AND o.state = 'completed')
   AND EXISTS (SELECT FROM agent.run_events v WHERE v.run_id = e.run_id)
UNION ALL
SELECT 'action ' || a.index || '/' || a.n || ' of run ' || a.run_id, 'committed, its effect is ' || coalesce(e.state, 'not there')
  FROM agent.actions a
  LEFT JOIN agent.effects e ON e.run_id = a.run_id AND e.index = a.index AND e.n = a.n
 WHERE a.status = 'committed'
   AND coalesce(e.state, '') NOT IN ('completed', 'compensating', 'compensated');

-- i10_task_follows_its_effect --
-- Why: I10. A task's row says what its effect says: nothing is followed that ended, and nothing ends unfollowed.
-- Locks: none.  Clock: none.
-- Result: tasks that disagree with their effects.
SELECT 'task ' || t.id AS subject, t.state || ' of an effect that is ' || e.state AS detail
  FROM agent.tasks t
  JOIN agent.effects e USING (effect_key)
 WHERE (t.state = 'starting') <> (e.state = 'started')
    OR (t.state = 'running') <> (e.state = 'accepted')
    OR (t.state = 'completed' AND e.state NOT IN ('completed', 'compensating', 'compensated'))
    OR (t.state IN ('failed', 'cancelled') AND e.state <> 'failed');
