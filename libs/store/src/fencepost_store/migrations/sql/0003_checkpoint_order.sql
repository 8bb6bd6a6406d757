-- The order in which a run's checkpoints were stored. Their ids are made of the worker's clock, and a host whose
-- clock is an hour ahead would have the last word for an hour: the run would go back to what that host wrote.
ALTER TABLE langgraph.checkpoints ADD COLUMN place bigint GENERATED ALWAYS AS IDENTITY;
