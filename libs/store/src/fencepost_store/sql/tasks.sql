-- insert_task --
-- Why: an asynchronous tool's task has its row before anything is sent, in the transaction of its attempt.
-- Locks: the task's index entries (run and effect are held).  Clock: database.
-- Result: none. Until it is accepted it is looked at when its attempt has ended.
INSERT INTO agent.tasks (id, effect_key, run_id, tenant_id, tool, poll_at, expires_at)
VALUES (:id, :effect_key, :run_id, :tenant_id, :tool,
        clock_timestamp() + make_interval(secs => CAST(:timeout_seconds AS double precision)),
        clock_timestamp() + make_interval(secs => CAST(:lives_seconds AS double precision)));

-- task_follows_effect --
-- Why: a task's row says what its effect says, in the same transaction.
-- Locks: the task's row, after its effect's.  Clock: database.
-- Result: the task's id, or no row when nothing changed. An accepted one is asked after first in 500 ms.
UPDATE agent.tasks
   SET state = :state,
       external_id = coalesce(external_id, :external_id),
       poll_at = CASE WHEN state = 'starting' THEN clock_timestamp() + interval '500 milliseconds' ELSE poll_at END,
       ended_at = CASE WHEN :state IN ('starting', 'running') THEN NULL ELSE clock_timestamp() END
 WHERE effect_key = :effect_key
   AND state <> :state
   AND (ended_at IS NULL OR state = 'unknown')
RETURNING id;

-- note_cancel_asked --
-- Why: the other side is asked to stop once; whether it did is what its state says.
-- Locks: the task's row.  Clock: database.
-- Result: none.
UPDATE agent.tasks SET cancel_asked_at = clock_timestamp() WHERE id = :id AND cancel_asked_at IS NULL;

-- tenant_of_task --
-- Why: the reconciler names a task, and the gateway has to name a tenant to see it.
-- Locks: none.  Clock: none.
-- Result: one row, NULL when there is none.
SELECT agent.tenant_of_task(:id) AS tenant_id;

-- task_by_id --
-- Why: what is to be asked after, and whether its run is being stopped.
-- Locks: none.  Clock: database.
-- Result: the task, or no row.
SELECT t.id, t.effect_key, t.run_id, t.tool, t.external_id, t.state, t.cancel_asked_at, t.ended_at,
       t.expires_at <= clock_timestamp() AS is_past, r.status = 'cancelling' AS is_stopping
  FROM agent.tasks t
  JOIN agent.runs r ON r.id = t.run_id
 WHERE t.id = :id;

-- task_of_effect --
-- Why: an event names the effect's key, which is what its sender was given.
-- Locks: none.  Clock: none.
-- Result: the task's id, or no row.
SELECT id FROM agent.tasks WHERE effect_key = :effect_key;

-- take_due_tasks --
-- Why: each task is asked after by one reconciler, at 500 ms doubling to 5 s; taking it is what moves its next time.
-- Locks: the tasks' rows, SKIP LOCKED; no run is written.  Clock: database.
-- Result: the tasks' ids.
WITH due AS (
    SELECT id
      FROM agent.tasks
     WHERE state IN ('starting', 'running')
       AND poll_at <= statement_timestamp()
     ORDER BY poll_at
     LIMIT :batch
       FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE agent.tasks t
   SET polls = t.polls + 1,
       poll_at = clock_timestamp() + make_interval(secs => least(5.0, 0.5 * power(2, least(t.polls + 1, 8))))
  FROM due
 WHERE t.id = due.id
RETURNING t.id;

-- find_untold_tasks --
-- Why: tasks that are over and whose run hasn't been told.
-- Locks: none.  Clock: none.
-- Result: task and run ids, by task.
WITH untold AS MATERIALIZED (
    SELECT id, run_id FROM agent.tasks WHERE ended_at IS NOT NULL AND told_at IS NULL
)
SELECT id, run_id FROM untold WHERE id > :after ORDER BY id LIMIT :batch;

-- tell_task --
-- Why: told once, in the transaction that woke its run, or found that nobody waits.
-- Locks: the task's row, after its run's.  Clock: database.
-- Result: the task's id, or no row when it was told before.
UPDATE agent.tasks SET told_at = clock_timestamp() WHERE id = :id AND told_at IS NULL AND ended_at IS NOT NULL RETURNING id;
