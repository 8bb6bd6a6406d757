-- end_group --
-- Why: many runs' endings in one statement, each under its own record fence: what `record` and `finalize` write for
--      one run, for those whose facts the worker knows (claimed fresh, nothing prepared). Their last checkpoints too.
-- Locks: the named runs in id order, FOR NO KEY UPDATE SKIP LOCKED, then their conversations in id order.
-- Clock: database, read above the lock.
-- Result: a row per named run: written (also when this very ending is there already), busy, lost, or differs (an
--      effect, or other usage than told: it is to be ended by itself, on its locked row), and whether a run follows.
WITH RECURSIVE asked AS MATERIALIZED (
    SELECT *
      FROM unnest(CAST(:run_ids AS uuid[]), CAST(:owners AS text[]), CAST(:revisions AS bigint[]), CAST(:statuses AS text[]),
                  CAST(:reasons AS text[]), CAST(:codes AS text[]), CAST(:explanations AS text[]), CAST(:deciders AS text[]),
                  CAST(:evidences AS text[]), CAST(:undones AS text[]), CAST(:usages AS text[]), CAST(:calls AS bigint[]),
                  CAST(:ins AS bigint[]), CAST(:outs AS bigint[]), CAST(:message_ids AS uuid[]), CAST(:texts AS text[]),
                  CAST(:artifacts AS text[]), CAST(:outbox_ids AS uuid[]))
           AS a (run_id, owner, revision, status, reason, code, explanation, decided_by, evidence, undone, usage, calls, input,
                 output, message_id, words, artifacts, outbox_id)
), held AS MATERIALIZED (
    SELECT r.id, r.tenant_id, r.user_id, r.conversation_id, r.status, r.revision, r.lease_owner, r.lease_expires_at,
           r.event_seq, r.event_head
      FROM agent.runs r
     WHERE r.id = ANY (CAST(:run_ids AS uuid[]))
     ORDER BY r.id
       FOR NO KEY UPDATE SKIP LOCKED
), fenced AS MATERIALIZED (
    SELECT h.id, h.tenant_id, h.user_id, h.conversation_id, h.event_seq, h.event_head, a.status AS ending, a.reason, a.code,
           a.explanation, a.decided_by, a.evidence, a.undone, a.usage, a.calls, a.input, a.output, a.message_id, a.words,
           a.artifacts, a.outbox_id, clock_timestamp() AS at
      FROM held h
      JOIN asked a ON a.run_id = h.id
     WHERE h.status = 'running'
       AND h.revision = a.revision
       AND h.lease_owner = a.owner
       AND h.lease_expires_at > clock_timestamp()
), passed AS MATERIALIZED (
    -- What is looked up beside the locked row is of the statement's snapshot: a run that got an event since is not
    -- ended here, since the look-ups may not show what came with it.
    SELECT f.*
      FROM fenced f
      JOIN agent.runs s ON s.id = f.id AND s.event_seq = f.event_seq
     WHERE NOT EXISTS (SELECT FROM agent.effects e WHERE e.run_id = f.id)
       AND NOT EXISTS (SELECT FROM agent.interrupts i WHERE i.run_id = f.id AND i.status = 'open')
       AND (f.calls, f.input, f.output) = (SELECT count(*), coalesce(sum(c.input_tokens), 0), coalesce(sum(c.output_tokens), 0)
                                             FROM agent.model_calls c WHERE c.run_id = f.id)
), given AS MATERIALIZED (
    SELECT g.*, uuid_send(gen_random_uuid()) AS salt
      FROM unnest(CAST(:e_runs AS uuid[]), CAST(:e_places AS bigint[]), CAST(:e_ids AS uuid[]), CAST(:e_types AS text[]),
                  CAST(:e_versions AS int[]), CAST(:e_actors AS text[]), CAST(:e_payloads AS bytea[]))
           AS g (run_id, place, id, type, version, actor, payload)
), chain AS (
    SELECT p.id AS run_id, p.tenant_id, p.at, p.event_seq AS seq, CAST(0 AS bigint) AS place, p.event_head AS hash,
           CAST(NULL AS uuid) AS id, CAST(NULL AS text) AS type, CAST(NULL AS int) AS version, CAST(NULL AS text) AS actor,
           CAST(NULL AS bytea) AS salt,
           CAST(NULL AS bytea) AS payload, CAST(NULL AS bytea) AS payload_hash, CAST(NULL AS bytea) AS prev_hash
      FROM passed p
    UNION ALL
    SELECT c.run_id, c.tenant_id, c.at, c.seq + 1, g.place,
           agent.event_hash(c.run_id, c.seq + 1, g.id, g.type, g.version, g.actor, c.at, NULL, NULL,
                            sha256(g.salt || g.payload), c.hash),
           g.id, g.type, g.version, g.actor, g.salt, g.payload, sha256(g.salt || g.payload), c.hash
      FROM chain c
      JOIN given g ON g.run_id = c.run_id AND g.place = c.place + 1
), appended AS (
    INSERT INTO agent.run_events (run_id, seq, id, tenant_id, type, schema_version, actor, at, payload_hash, prev_hash, hash)
    SELECT c.run_id, c.seq, c.id, c.tenant_id, c.type, c.version, c.actor, c.at, c.payload_hash, c.prev_hash, c.hash
      FROM chain c
     WHERE c.place > 0
), paid AS (
    INSERT INTO agent.run_event_payloads (run_id, seq, tenant_id, salt, payload)
    SELECT c.run_id, c.seq, c.tenant_id, c.salt, c.payload FROM chain c WHERE c.place > 0
), heads AS MATERIALIZED (
    SELECT DISTINCT ON (c.run_id) c.run_id, c.seq, c.hash FROM chain c ORDER BY c.run_id, c.place DESC
), kept AS MATERIALIZED (
    SELECT * FROM unnest(CAST(:c_runs AS uuid[]), CAST(:c_spaces AS text[]), CAST(:c_ids AS text[]), CAST(:c_parents AS text[]),
                         CAST(:c_serdes AS text[]), CAST(:c_bodies AS bytea[]), CAST(:c_metadata AS text[]))
           WITH ORDINALITY AS c (run_id, space, id, parent_id, serde, body, metadata, place)
), stored AS (
    INSERT INTO langgraph.checkpoints (run_id, thread_id, checkpoint_ns, checkpoint_id, parent_id, tenant_id, revision,
                                       serde, body, metadata)
    SELECT p.id, p.id, k.space, k.id, k.parent_id, p.tenant_id, a.revision, k.serde, k.body, CAST(k.metadata AS jsonb)
      FROM kept k
      JOIN passed p ON p.id = k.run_id
      JOIN asked a ON a.run_id = k.run_id
     ORDER BY k.place
    ON CONFLICT ON CONSTRAINT checkpoints_pkey DO NOTHING
    RETURNING run_id
), finalized AS (
    INSERT INTO agent.finalizations (run_id, tenant_id, status, reason, code, explanation, decided_by, evidence, left_undone, usage)
    SELECT p.id, p.tenant_id, p.ending, p.reason, p.code, p.explanation, p.decided_by, CAST(p.evidence AS jsonb),
           CAST(p.undone AS jsonb), CAST(p.usage AS jsonb)
      FROM passed p
), talks AS MATERIALIZED (
    SELECT c.id, p.id AS run_id
      FROM agent.conversations c
      JOIN passed p ON p.conversation_id = c.id AND p.tenant_id = c.tenant_id
     ORDER BY c.id
       FOR NO KEY UPDATE OF c
), places AS (
    UPDATE agent.conversations c
       SET next_seq = c.next_seq + 1,
           holder_run_id = nullif(c.holder_run_id, t.run_id),
           updated_at = clock_timestamp()
      FROM talks t
     WHERE c.id = t.id
    RETURNING c.id, c.next_seq - 1 AS seq, t.run_id, c.holder_run_id IS NULL AS is_free
), said AS (
    INSERT INTO agent.messages (id, conversation_id, seq, tenant_id, user_id, run_id, author, text, artifacts)
    SELECT p.message_id, t.id, t.seq, p.tenant_id, p.user_id, p.id, 'assistant', p.words,
           CASE WHEN p.artifacts <> '[]' THEN CAST(p.artifacts AS jsonb)
                ELSE coalesce((SELECT jsonb_agg(f.id ORDER BY f.id)
                       FROM agent.artifacts f
                      WHERE f.run_id = p.id
                        AND f.origin = 'tool'
                        AND f.status <> 'rejected'
                        AND NOT EXISTS (SELECT FROM agent.artifacts n
                                         WHERE n.first_id = f.first_id AND n.version > f.version
                                           AND n.run_id = f.run_id)), '[]') END
      FROM places t
      JOIN passed p ON p.id = t.run_id
), told AS (
    INSERT INTO agent.feed (tenant_id, user_id, conversation_id, kind, data)
    SELECT p.tenant_id, p.user_id, p.conversation_id, l.kind, l.data
      FROM places t
      JOIN passed p ON p.id = t.run_id
      CROSS JOIN LATERAL (VALUES
          (1, 'message.created', jsonb_build_object('message_id', p.message_id, 'conversation_id', t.id, 'seq', t.seq,
                                                    'run_id', p.id, 'author', 'assistant')),
          (2, 'run.status', jsonb_build_object('run_id', p.id, 'status', p.ending))) AS l (place, kind, data)
     ORDER BY p.id, l.place
), following AS MATERIALIZED (
    SELECT p.id AS after_run, p.outbox_id, n.id, n.tenant_id, n.module, n.traceparent, n.available_at
      FROM places t
      JOIN passed p ON p.id = t.run_id
      CROSS JOIN LATERAL (SELECT q.* FROM agent.runs q
                           WHERE q.conversation_id = t.id AND q.status = 'queued' AND q.id <> p.id
                           ORDER BY q.id LIMIT 1) AS n
     WHERE t.is_free
), hinted AS (
    INSERT INTO agent.outbox (id, tenant_id, run_id, module, event_type, traceparent, publish_at)
    SELECT f.outbox_id, f.tenant_id, f.id, f.module, :event_type, f.traceparent, greatest(f.available_at, clock_timestamp())
      FROM following f
), ended AS (
    UPDATE agent.runs r
       SET status = p.ending,
           revision = r.revision + 1,
           lease_owner = NULL,
           lease_expires_at = NULL,
           claim_nonce = NULL,
           pause_asked = false,
           finished_at = p.at,
           progress = r.progress + CASE WHEN EXISTS (SELECT FROM stored s WHERE s.run_id = p.id) THEN 1 ELSE 0 END,
           event_seq = h.seq,
           event_head = h.hash
      FROM passed p
      JOIN heads h ON h.run_id = p.id
     WHERE r.id = p.id
    RETURNING r.id
)
SELECT a.run_id,
       CASE WHEN p.id IS NOT NULL THEN 'written'
            WHEN EXISTS (SELECT FROM agent.messages m WHERE m.id = a.message_id AND m.run_id = a.run_id) THEN 'written'
            WHEN f.id IS NOT NULL THEN 'differs'
            WHEN h.id IS NULL AND EXISTS (SELECT FROM agent.runs r WHERE r.id = a.run_id) THEN 'busy'
            ELSE 'lost'
       END AS answer,
       EXISTS (SELECT FROM following n WHERE n.after_run = a.run_id) AS has_hint
  FROM asked a
  LEFT JOIN held h ON h.id = a.run_id
  LEFT JOIN fenced f ON f.id = a.run_id
  LEFT JOIN passed p ON p.id = a.run_id;
