-- insert_feed --
-- Why: lines for the caller's streams, in the transaction of what they tell, in their order.
-- Locks: none.  Clock: database.
-- Result: none.
INSERT INTO agent.feed (tenant_id, user_id, conversation_id, kind, data)
SELECT CAST(:tenant_id AS uuid), :user_id, CAST(:conversation_id AS uuid), line.kind, CAST(line.data AS jsonb)
  FROM unnest(CAST(:kinds AS text[]), CAST(:datas AS text[])) WITH ORDINALITY AS line (kind, data, place)
 ORDER BY line.place;

-- withdraw_open_interrupts --
-- Why: a run that ends asks nobody anything any more.
-- Locks: the run's open interrupt (the run's row is held).  Clock: none.
-- Result: id and kind of each.
UPDATE agent.interrupts SET status = 'withdrawn' WHERE run_id = :run_id AND status = 'open' RETURNING id, kind;

-- insert_finalization --
-- Why: why and how the run ended, once; the primary key refuses a second one.
-- Locks: none besides the run's row, held.  Clock: database.
-- Result: none.
INSERT INTO agent.finalizations (run_id, tenant_id, status, reason, code, node, explanation, decided_by, evidence,
                                 left_undone, unconfirmed_effects, usage)
VALUES (:run_id, :tenant_id, :status, :reason, :code, :node, :explanation, :decided_by, CAST(:evidence AS jsonb),
        CAST(:left_undone AS jsonb), CAST(:unconfirmed_effects AS jsonb), CAST(:usage AS jsonb));

-- insert_message --
-- Why: the next message of a conversation, with its feed line; the seq comes from the locked conversation row. An
-- answer that names no files of its own comes with those the run made, each in its newest version.
-- Locks: the conversation's row.  Clock: database.
-- Result: the message's seq, or no row when the conversation is not this tenant's.
WITH place AS (
    UPDATE agent.conversations
       SET next_seq = next_seq + 1,
           updated_at = clock_timestamp()
     WHERE id = :conversation_id
       AND tenant_id = :tenant_id
    RETURNING id, next_seq - 1 AS seq
), told AS (
    INSERT INTO agent.feed (tenant_id, user_id, conversation_id, kind, data)
    SELECT :tenant_id, :user_id, place.id, 'message.created',
           jsonb_build_object('message_id', CAST(:id AS uuid), 'conversation_id', place.id, 'seq', place.seq,
                              'run_id', CAST(:run_id AS uuid), 'author', CAST(:author AS text))
      FROM place
)
INSERT INTO agent.messages (id, conversation_id, seq, tenant_id, user_id, run_id, author, text, artifacts)
SELECT :id, place.id, place.seq, :tenant_id, :user_id, CAST(:run_id AS uuid), :author, :text,
       CASE WHEN CAST(:author AS text) <> 'assistant' OR CAST(:artifacts AS jsonb) <> '[]' THEN CAST(:artifacts AS jsonb)
            ELSE coalesce((SELECT jsonb_agg(f.id ORDER BY f.id)
                   FROM agent.artifacts f
                  WHERE f.run_id = CAST(:run_id AS uuid)
                    AND f.origin = 'tool'
                    AND f.status <> 'rejected'
                    AND NOT EXISTS (SELECT FROM agent.artifacts n
                                     WHERE n.first_id = f.first_id AND n.version > f.version
                                       AND n.run_id = f.run_id)), '[]') END
  FROM place
RETURNING seq;

-- release_conversation --
-- Why: who lets go of a conversation tells the next run that waits for it.
-- Locks: the conversation's row (after the run's).  Clock: database.
-- Result: none.
WITH released AS (
    UPDATE agent.conversations
       SET holder_run_id = NULL,
           updated_at = clock_timestamp()
     WHERE id = :conversation_id
       AND holder_run_id = :run_id
    RETURNING id
), following AS (
    SELECT r.id, r.tenant_id, r.module, r.traceparent, r.available_at
      FROM released
      CROSS JOIN LATERAL (SELECT n.* FROM agent.runs n
                           WHERE n.conversation_id = released.id AND n.status = 'queued' AND n.id <> :run_id
                           ORDER BY n.id LIMIT 1) AS r
)
INSERT INTO agent.outbox (id, tenant_id, run_id, module, event_type, traceparent, publish_at)
SELECT :outbox_id, f.tenant_id, f.id, f.module, :event_type, f.traceparent, greatest(f.available_at, clock_timestamp())
  FROM following AS f;
