-- lock_whole_effect --
-- Why: what may be done about an effect, or what an outcome means for it, is decided on its locked row.
-- Locks: the effect's row, FOR NO KEY UPDATE, after its run's.  Clock: database, read above the lock.
-- Result: the effect and `now`, or no row.
WITH held AS MATERIALIZED (
    SELECT * FROM agent.effects WHERE effect_key = :effect_key FOR NO KEY UPDATE
)
SELECT held.effect_key, held.run_id, held.root_run_id, held.tenant_id, held.index, held.n, held.tool, held.class, held.state,
       held.arguments_hash, held.request, held.result, held.result_invalid, held.error, held.external_id, held.attempts,
       held.looks, held.next_look_at, held.resolution, held.compensates, clock_timestamp() AS now
  FROM held;

-- look_at_whole_effect --
-- Why: an early answer, and what a look-up needs; what counts is judged again under the lock.
-- Locks: none.  Clock: database.
-- Result: as lock_whole_effect.
SELECT effect_key, run_id, root_run_id, tenant_id, index, n, tool, class, state, arguments_hash, request, result,
       result_invalid, error, external_id, attempts, looks, next_look_at, resolution, compensates, clock_timestamp() AS now
  FROM agent.effects
 WHERE effect_key = :effect_key;

-- attempts_of --
-- Why: an effect's history, on which its next step is decided.
-- Locks: none (the effect's row is held, and attempts change only under it).  Clock: none.
-- Result: attempts in order; `landed` also where only a later observation says so.
SELECT attempt, state, executor_boot, started_at, attempt_ends_at,
       state = 'completed' OR EXISTS (SELECT FROM jsonb_array_elements(observations) AS o WHERE o ->> 'heard' = 'completed')
           AS landed,
       coalesce(outcome ->> 'external_id',
                (SELECT o ->> 'external_id' FROM jsonb_array_elements(observations) AS o
                  WHERE o ->> 'heard' = 'completed' LIMIT 1)) AS external_id
  FROM agent.effect_attempts
 WHERE effect_key = :effect_key
 ORDER BY attempt;

-- reopen_attempt --
-- Why: the stored request again, byte for byte, under the same key; the effect is `started` anew.
-- Locks: the effect's row (held), the attempt's index entries (the run's row is held, under its start fence).
-- Clock: database.
-- Result: the attempt's number and end, or no row when the effect isn't what was decided on.
WITH moved AS (
    UPDATE agent.effects
       SET state = 'started',
           attempts = attempts + 1,
           next_look_at = NULL,
           error = NULL,
           updated_at = clock_timestamp()
     WHERE effect_key = :effect_key
       AND attempts = :attempts
       AND state IN ('absent', 'unknown')
    RETURNING effect_key, attempts, run_id, tenant_id, request
)
INSERT INTO agent.effect_attempts (effect_key, attempt, run_id, tenant_id, executor_boot, state, request, attempt_ends_at)
SELECT effect_key, attempts, run_id, tenant_id, :boot, 'started', request,
       clock_timestamp() + make_interval(secs => CAST(:timeout_seconds AS double precision))
  FROM moved
RETURNING attempt, attempt_ends_at;

-- settle_outside --
-- Why: an outcome is a compare-and-set on its attempt, by its own executor; it asks for nothing of the run (02 §2).
-- Locks: the attempt's row (run and effect are held).  Clock: database.
-- Result: the attempt's number when this settled it; no row when it was settled before.
UPDATE agent.effect_attempts
   SET state = :attempt_state,
       outcome = CAST(:outcome AS jsonb),
       settled_at = clock_timestamp(),
       settled_by = :by
 WHERE effect_key = :effect_key
   AND attempt = :attempt
   AND (CAST(:boot AS text) IS NULL OR executor_boot = :boot)
   AND state = :before
RETURNING attempt;

-- observe_attempt --
-- Why: what is heard after an attempt was settled is kept beside it, and unsays nothing.
-- Locks: the attempt's row (run and effect are held).  Clock: database.
-- Result: none.
UPDATE agent.effect_attempts
   SET observations = observations || jsonb_build_array(CAST(:observation AS jsonb)
                                                        || jsonb_build_object('at', clock_timestamp()))
 WHERE effect_key = :effect_key
   AND attempt = :attempt;

-- move_effect --
-- Why: the effect says what its attempts say, in the same transaction.
-- Locks: the effect's row, held.  Clock: database.
-- Result: none. next_in: seconds until it may be looked at or repeated; NULL: at once, or never.
UPDATE agent.effects
   SET state = :state,
       result = CAST(:result AS jsonb),
       result_invalid = :result_invalid,
       error = CAST(:error AS jsonb),
       external_id = coalesce(:external_id, external_id),
       looks = looks + :looks,
       next_look_at = clock_timestamp() + make_interval(secs => CAST(:next_in AS double precision)),
       updated_at = clock_timestamp()
 WHERE effect_key = :effect_key;

-- attempts_are_absent --
-- Why: a settled `absent` is said of every attempt that may have landed.
-- Locks: the attempts' rows (run and effect are held).  Clock: database.
-- Result: none.
UPDATE agent.effect_attempts
   SET state = 'absent',
       settled_at = clock_timestamp(),
       settled_by = :by
 WHERE effect_key = :effect_key
   AND state = 'unknown';

-- earlier_in_lineage --
-- Why: 02 §6. A descendant doesn't do again what its lineage did, and waits for what it may have done.
-- Locks: none.  Clock: none.
-- Result: effects of other runs of the lineage with the same tool and arguments that landed or may have.
SELECT effect_key, run_id, state, updated_at
  FROM agent.effects
 WHERE root_run_id = :root_run_id
   AND tool = :tool
   AND arguments_hash = :arguments_hash
   AND run_id <> :run_id
   AND state IN ('started', 'accepted', 'unknown', 'needs_human', 'completed', 'compensating')
 ORDER BY created_at;
