-- recovery_plan --
-- Why: what a restore leaves behind, told before anything is changed.
-- Locks: none.  Clock: database.
-- Result: one row.
SELECT clock_timestamp() AS now,
       (SELECT max(number) FROM agent.epochs) AS epoch,
       (SELECT max(at) FROM agent.run_events) AS newest_event_at,
       (SELECT count(*) FROM agent.workers WHERE alive_until > clock_timestamp() AND NOT starts_with(boot_id, 'epoch-')) AS alive,
       (SELECT coalesce(array_agg(id ORDER BY id), '{}') FROM agent.runs WHERE finished_at IS NULL AND mode = 'live') AS live,
       (SELECT coalesce(jsonb_agg(jsonb_build_object('effect_key', e.effect_key, 'run_id', e.run_id, 'tool', e.tool,
                                                     'class', e.class, 'state', e.state) ORDER BY e.effect_key), '[]')
          FROM agent.effects e
         WHERE e.state IN ('started', 'accepted', 'unknown', 'absent', 'needs_human', 'compensating')) AS effects;

-- start_epoch --
-- Why: from here on nobody who was at work before claims anything; workers come back under a new boot.
-- Locks: the epoch's index entry (a second recovery waits, and is the next one), the workers' rows.  Clock: database.
-- Result: the epoch's number and start.
WITH fenced AS (
    UPDATE agent.workers SET boot_id = 'epoch-' || (SELECT max(number) + 1 FROM agent.epochs), alive_until = clock_timestamp()
), told AS (
    INSERT INTO agent.audit (actor, what, detail)
    VALUES (:actor, 'recover', jsonb_build_object('lost_after', CAST(:lost_after AS timestamptz), 'reason', CAST(:reason AS text)))
)
INSERT INTO agent.epochs (number, lost_after, actor, reason)
SELECT max(number) + 1, CAST(:lost_after AS timestamptz), :actor, :reason FROM agent.epochs
RETURNING number, started_at;

-- mark_recovered --
-- Why: what this run does from now on may have been done already in what was lost.
-- Locks: the run's row (held).  Clock: none.
-- Result: none.
UPDATE agent.runs SET recovery_epoch = :epoch WHERE id = :run_id;

-- reopen_absent_effects --
-- Why: what wasn't there may have been sent again in what was lost: one more attempt, of which nobody knows.
-- Locks: the effects' rows (the run's row is held).  Clock: database.
-- Result: their keys, indexes and tools.
WITH moved AS (
    UPDATE agent.effects e
       SET state = 'unknown', attempts = attempts + 1, next_look_at = NULL, updated_at = clock_timestamp()
     WHERE e.run_id = :run_id
       AND e.state = 'absent'
    RETURNING e.effect_key, e.index, e.tool, e.attempts, e.run_id, e.tenant_id, e.request
), lost AS (
    INSERT INTO agent.effect_attempts (effect_key, attempt, run_id, tenant_id, executor_boot, state, request, started_at,
                                       attempt_ends_at, settled_at, settled_by)
    SELECT effect_key, attempts, run_id, tenant_id, 'lost', 'unknown', request, CAST(:lost_after AS timestamptz),
           CAST(:recovered_at AS timestamptz), clock_timestamp(), 'recover'
      FROM moved
)
SELECT effect_key, index, tool, attempts FROM moved ORDER BY index;

-- look_at_once --
-- Why: what isn't known is looked up as soon as somebody is there to ask.
-- Locks: the effects' rows.  Clock: database.
-- Result: none; the row count.
UPDATE agent.effects SET next_look_at = clock_timestamp() WHERE state = 'unknown' AND next_look_at > clock_timestamp();

-- runs_left_by_recovery --
-- Why: who paused a run decides who lets it go on: those that a recovery paused, and nobody resumed or paused since.
-- Locks: none (each is judged again under its row's lock by the state machine).  Clock: none.
-- Result: ids, oldest first.
SELECT r.id
  FROM agent.runs r
 CROSS JOIN LATERAL (
       SELECT max(e.seq) FILTER (WHERE e.type = 'run.repaired' AND convert_from(p.payload, 'UTF8')::jsonb @> '{"verb": "recover"}') AS recovered,
              max(e.seq) FILTER (WHERE e.type = 'run.pause_asked') AS paused,
              max(e.seq) FILTER (WHERE e.type = 'run.resumed') AS resumed
         FROM agent.run_events e
         LEFT JOIN agent.run_event_payloads p ON p.run_id = e.run_id AND p.seq = e.seq
        WHERE e.run_id = r.id AND e.type IN ('run.repaired', 'run.pause_asked', 'run.resumed')) AS last
 WHERE r.status = 'paused'
   AND r.recovery_epoch IS NOT NULL
   AND last.paused > last.recovered
   AND last.recovered > coalesce(last.resumed, 0)
 ORDER BY r.id;

-- note_resumed --
-- Why: an operator's word over many tenants' runs is kept beside the recovery's own.
-- Locks: none.  Clock: the row's default.
-- Result: none.
INSERT INTO agent.audit (actor, what, detail)
VALUES (:actor, 'resume_recovered', jsonb_build_object('reason', CAST(:reason AS text), 'runs', CAST(:runs AS integer)));
