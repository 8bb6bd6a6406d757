-- what_is_due --
-- Why: an idle mesh is asked one cheap question a tick instead of one a sweep. It decides nothing: it says which
--      sweep to run now, and each sweep runs by itself now and then whatever is answered here.
--      Completed with the question about reminders where the module that owns them is installed.
-- Locks: none.  Clock: database.
-- Result: one row, a flag a loop. Each is asked in its partial index's order, so that the first entry answers:
--      a plain EXISTS may be planned as a scan of the table, and clock_timestamp() is volatile, no index condition.
SELECT coalesce((SELECT true FROM agent.outbox
                  WHERE published_at IS NULL AND parked_at IS NULL AND publish_at <= statement_timestamp()
                    AND (relay_until IS NULL OR relay_until <= statement_timestamp())
                  ORDER BY publish_at, id LIMIT 1), false) AS relay_outbox,
       coalesce((SELECT true FROM agent.runs
                  WHERE status IN ('running', 'cancelling') AND status = 'running'
                    AND lease_expires_at <= statement_timestamp()
                  ORDER BY id LIMIT 1), false) AS expire_leases,
       coalesce((SELECT true FROM agent.runs
                  WHERE status IN ('running', 'cancelling') AND status = 'cancelling'
                  ORDER BY id LIMIT 1), false) AS drain,
       coalesce((SELECT true FROM agent.runs
                  WHERE status IN ('queued', 'running', 'waiting', 'paused')
                    AND deadline_at < 'infinity' AND deadline_at <= statement_timestamp()
                  ORDER BY deadline_at LIMIT 1), false) AS deadlines,
       coalesce((SELECT true FROM agent.interrupts
                  WHERE status = 'open' AND expires_at <= statement_timestamp()
                  ORDER BY expires_at LIMIT 1), false) AS expire_interrupts,
       coalesce((SELECT true FROM agent.tasks
                  WHERE state IN ('starting', 'running') AND poll_at <= statement_timestamp()
                  ORDER BY poll_at LIMIT 1), false) AS poll_tasks,
       coalesce((SELECT true FROM agent.tasks
                  WHERE ended_at IS NOT NULL AND told_at IS NULL
                  ORDER BY ended_at LIMIT 1), false) AS tell_tasks,
       EXISTS (SELECT 1 WHERE false{reminders}) AS fire_reminders;

-- are_reminders_due --
-- Why: the part of the question above that needs the module's table.
-- Locks: none.  Clock: database.
-- Result: one row when a reminder is due; put into what_is_due behind UNION ALL.
SELECT 1 FROM app.reminders WHERE status = 'active' AND next_at <= statement_timestamp() ORDER BY next_at LIMIT 1;
