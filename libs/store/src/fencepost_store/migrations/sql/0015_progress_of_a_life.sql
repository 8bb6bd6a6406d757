-- Who takes a run from a lost owner notes how far it had come: the next lost lease costs an attempt unless something was
-- stored in between. Until now one checkpoint excused every later loss, and a run that killed its workers was claimed for ever.
GRANT UPDATE (attempt_progress) ON agent.runs TO fencepost_reconciler;
