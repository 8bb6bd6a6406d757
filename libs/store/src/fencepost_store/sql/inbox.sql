-- receive_once --
-- Why: a message that carries a fact takes effect once. The row belongs to the transaction of the effect: if
--      that doesn't commit, the message wasn't received (case EV-3).
-- Locks: the new row; a twin waits here until the first one commits or rolls back.  Clock: database.
-- Result: the event's id, or no row when it was received before.
INSERT INTO agent.inbox (consumer, event_id)
VALUES (:consumer, :event_id)
ON CONFLICT DO NOTHING
RETURNING event_id;

-- keep_poison --
-- Why: a record that can't be read is skipped, and a person can still look at it.
-- Locks: the new row.  Clock: database.
-- Result: none; the row count is 0 when it was kept before.
INSERT INTO agent.poison_records (topic, part, pos, reason, bytes)
VALUES (:topic, :part, :pos, :reason, :bytes)
ON CONFLICT DO NOTHING;
