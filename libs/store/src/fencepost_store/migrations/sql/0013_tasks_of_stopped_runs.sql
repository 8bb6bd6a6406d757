-- A stop is told to a run's tasks at once: whoever polls asks after them now, not when their next time comes (up to 5 s).
-- Whatever stops a run (a person, its deadline, a hand-over) passes here. The run's row is held, its tasks come after it.
CREATE FUNCTION agent.poll_tasks_of_stopped_run() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, agent AS $$
BEGIN
    UPDATE agent.tasks SET poll_at = clock_timestamp()
     WHERE run_id = NEW.id AND state IN ('starting', 'running') AND poll_at > clock_timestamp();
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION agent.poll_tasks_of_stopped_run() FROM PUBLIC;
CREATE TRIGGER runs_stop_polls_tasks AFTER UPDATE OF status ON agent.runs
    FOR EACH ROW WHEN (NEW.status = 'cancelling' AND OLD.status <> 'cancelling')
    EXECUTE FUNCTION agent.poll_tasks_of_stopped_run();
