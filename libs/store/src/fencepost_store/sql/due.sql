-- what_is_due --
-- Why: an idle mesh is asked one cheap question a tick instead of one a sweep. It decides nothing: it says which
--      sweep to run now, and each sweep runs by itself now and then whatever is answered here.
--      Completed with the question about reminders where the module that owns them is installed.
-- Locks: none.  Clock: database.
-- Result: one row, a flag a loop; each is the first entry of a partial index.
SELECT EXISTS (SELECT FROM agent.outbox
                WHERE published_at IS NULL AND parked_at IS NULL AND publish_at <= clock_timestamp()
                  AND (relay_until IS NULL OR relay_until <= clock_timestamp())) AS relay_outbox,
       EXISTS (SELECT FROM agent.runs
                WHERE status IN ('running', 'cancelling') AND status = 'running'
                  AND lease_expires_at <= clock_timestamp()) AS expire_leases,
       EXISTS (SELECT FROM agent.runs
                WHERE status IN ('running', 'cancelling') AND status = 'cancelling') AS drain,
       EXISTS (SELECT FROM agent.runs
                WHERE status IN ('queued', 'running', 'waiting', 'paused')
                  AND deadline_at < 'infinity' AND deadline_at <= clock_timestamp()) AS deadlines,
       EXISTS (SELECT FROM agent.interrupts
                WHERE status = 'open' AND expires_at <= clock_timestamp()) AS expire_interrupts,
       {reminders} AS fire_reminders;

-- are_reminders_due --
-- Why: the part of the question above that needs the module's table.
-- Locks: none.  Clock: database.
-- Result: an expression, put into what_is_due.
EXISTS (SELECT FROM app.reminders WHERE status = 'active' AND next_at <= clock_timestamp());
