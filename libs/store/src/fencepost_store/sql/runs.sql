-- lock_run --
-- Why: who writes for a run takes its row first; after a lock wait only the locked row is fresh.
-- Locks: the run's row, FOR NO KEY UPDATE.  Clock: database, read above the lock.
-- Result: the run's control columns and `now`; no row when it is not there (or another tenant's).
WITH held AS MATERIALIZED (
    SELECT * FROM agent.runs WHERE id = :run_id FOR NO KEY UPDATE
)
SELECT id, tenant_id, user_id, roles, module, mode, status, waiting_on, stop, pause_asked, revision, attempt,
       max_attempts, progress, attempt_progress, wakes, lease_owner, lease_expires_at, available_at,
       nullif(deadline_at, 'infinity') AS deadline_at, deadline_left, conversation_id, graph_version, event_seq,
       locale, zone, rerouted, clock_timestamp() AS now
  FROM held;

-- lock_run_if_free --
-- Why: a sweep takes what nobody holds and leaves the rest for its next round.
-- Locks: the run's row, FOR NO KEY UPDATE SKIP LOCKED.  Clock: database, read above the lock.
-- Result: as lock_run; no row when another holds it.
WITH held AS MATERIALIZED (
    SELECT * FROM agent.runs WHERE id = :run_id FOR NO KEY UPDATE SKIP LOCKED
)
SELECT id, tenant_id, user_id, roles, module, mode, status, waiting_on, stop, pause_asked, revision, attempt,
       max_attempts, progress, attempt_progress, wakes, lease_owner, lease_expires_at, available_at,
       nullif(deadline_at, 'infinity') AS deadline_at, deadline_left, conversation_id, graph_version, event_seq,
       locale, zone, rerouted, clock_timestamp() AS now
  FROM held;

-- ensure_conversation --
-- Why: a conversation id may be a new one made by the client; is it the caller's, and is a run of it at work?
-- Locks: none, or the new row; one that another is making just now is waited for.  Clock: database.
-- Result: one row; none when it is another's, or was made while this statement waited: its snapshot is older.
WITH made AS (
    INSERT INTO agent.conversations (id, tenant_id, user_id, purpose)
    VALUES (:id, :tenant_id, :user_id, :purpose)
    ON CONFLICT (id) DO NOTHING
    RETURNING id
)
SELECT id, false AS busy FROM made
UNION ALL
SELECT c.id,
       c.holder_run_id IS NOT NULL
       OR EXISTS (SELECT FROM agent.runs r WHERE r.conversation_id = c.id AND r.status = 'queued') AS busy
  FROM agent.conversations c
 WHERE c.id = :id
   AND c.user_id = :user_id;

-- conversation_of_user --
-- Why: ensure_conversation found none; one that was made meanwhile is seen by a statement of its own.
-- Locks: none.  Clock: none.
-- Result: one row, or none when it is another's.
SELECT c.id,
       c.holder_run_id IS NOT NULL
       OR EXISTS (SELECT FROM agent.runs r WHERE r.conversation_id = c.id AND r.status = 'queued') AS busy
  FROM agent.conversations c
 WHERE c.id = :id
   AND c.user_id = :user_id;

-- run_by_key --
-- Why: the run that an idempotency key made.
-- Locks: none.  Clock: none.
-- Result: id and the hash of the request that made it.
SELECT id, request_hash
  FROM agent.runs
 WHERE tenant_id = agent.tenant()
   AND user_id = :user_id
   AND route = :route
   AND idempotency_key = :key;

-- start_run --
-- Why: the run, once per (tenant, user, route, key), and what exists together with it (I01): first event, payload, hint,
-- budget, the user's message, a feed line. A twin waits here for the first to commit.
-- Locks: the key's index entry, the conversation's row.  Clock: database.
-- Result: the run's instants, or no row and nothing written when the key was used before.
WITH given AS MATERIALIZED (
    SELECT g.*, uuid_send(gen_random_uuid()) AS salt, clock_timestamp() AS at
      FROM unnest(CAST(:event_ids AS uuid[]), CAST(:event_types AS text[]), CAST(:event_versions AS int[]),
                  CAST(:event_actors AS text[]), CAST(:event_causes AS uuid[]), CAST(:event_payloads AS bytea[]))
           AS g (id, type, schema_version, actor, causation_id, payload)
), hashed AS MATERIALIZED (
    SELECT g.*, sha256(g.salt || g.payload) AS payload_hash, z.zero AS prev_hash,
           agent.event_hash(CAST(:id AS uuid), 1, g.id, g.type, g.schema_version, g.actor, g.at, g.causation_id, NULL,
                            sha256(g.salt || g.payload), z.zero) AS hash
      FROM given g CROSS JOIN (SELECT decode(repeat('00', 32), 'hex') AS zero) AS z
), run AS (
    INSERT INTO agent.runs (id, tenant_id, user_id, roles, module, mode, conversation_id, root_run_id, input, locale, zone,
                            currency, metadata, budget, route, idempotency_key, request_hash, traceparent, priority,
                            available_at, rank, deadline_at, created_at, continues_run_id, origin_run_id, origin_kind,
                            origin_seq, substitutes, reference_at, simulation_id, rerouted, graph_version, manifest_fp,
                            catalog_fp, event_seq, event_head)
    SELECT :id, :tenant_id, :user_id, :roles, :module, :mode, :conversation_id, :root, CAST(:input AS jsonb), :locale,
           :zone, :currency, CAST(:metadata AS jsonb), CAST(:budget AS jsonb), :route, :key, :request_hash, :traceparent,
           :priority, h.at, h.at - make_interval(secs => :priority * 60.0),
           coalesce(h.at + CAST(:deadline AS interval), 'infinity'), h.at, CAST(:continues AS uuid),
           CAST(:origin_run_id AS uuid), :origin_kind, :origin_seq, CAST(:substitutes AS jsonb),
           CAST(:reference_at AS timestamptz), CAST(:simulation_id AS uuid), :rerouted, :graph_version, :manifest_fp,
           :catalog_fp, 1, h.hash
      FROM hashed h
    ON CONFLICT ON CONSTRAINT runs_one_per_idempotency_key DO NOTHING
    RETURNING *
), appended AS (
    INSERT INTO agent.run_events (run_id, seq, id, tenant_id, type, schema_version, actor, at, causation_id,
                                  correlation_id, payload_hash, prev_hash, hash)
    SELECT run.id, 1, h.id, run.tenant_id, h.type, h.schema_version, h.actor, h.at, h.causation_id, NULL,
           h.payload_hash, h.prev_hash, h.hash
      FROM hashed h CROSS JOIN run
), paid AS (
    INSERT INTO agent.run_event_payloads (run_id, seq, tenant_id, salt, payload)
    SELECT run.id, 1, run.tenant_id, h.salt, h.payload FROM hashed h CROSS JOIN run
), hinted AS (
    INSERT INTO agent.outbox (id, tenant_id, run_id, module, event_type, traceparent, publish_at)
    SELECT :outbox_id, run.tenant_id, run.id, run.module, :event_type, run.traceparent, run.available_at FROM run
), budgeted AS (
    INSERT INTO agent.budgets (root_run_id, tenant_id, limits)
    SELECT run.id, run.tenant_id, run.budget FROM run WHERE run.root_run_id = run.id
), place AS (
    UPDATE agent.conversations c
       SET next_seq = c.next_seq + 1,
           updated_at = clock_timestamp(),
           title = CASE c.title WHEN '' THEN left(:text, 80) ELSE c.title END
      FROM run
     WHERE c.id = run.conversation_id
       AND run.mode = 'live'
    RETURNING c.id, c.next_seq - 1 AS seq
), said AS (
    INSERT INTO agent.messages (id, conversation_id, seq, tenant_id, user_id, run_id, author, text)
    SELECT :message_id, place.id, place.seq, run.tenant_id, run.user_id, run.id, 'user', :text FROM place CROSS JOIN run
), told AS (
    INSERT INTO agent.feed (tenant_id, user_id, conversation_id, kind, data)
    SELECT run.tenant_id, run.user_id, run.conversation_id, 'run.status',
           jsonb_build_object('run_id', run.id, 'status', run.status)
      FROM run
     WHERE run.mode = 'live'
    UNION ALL
    SELECT run.tenant_id, run.user_id, run.conversation_id, 'message.created',
           jsonb_build_object('message_id', CAST(:message_id AS uuid), 'conversation_id', place.id, 'seq', place.seq,
                              'run_id', run.id, 'author', 'user')
      FROM place CROSS JOIN run
)
SELECT run.created_at, nullif(run.deadline_at, 'infinity') AS deadline_at FROM run;

-- run_is_settled --
-- Why: may a stopped run end at once?
-- Locks: none (the run's row is held).  Clock: none.
-- Result: one row.
SELECT NOT EXISTS (SELECT FROM agent.effect_attempts a WHERE a.run_id = :run_id AND a.state = 'started')
   AND NOT EXISTS (SELECT FROM agent.runs c WHERE c.parent_run_id = :run_id AND c.finished_at IS NULL) AS settled;

-- open_interrupt --
-- Why: what a run asks a person now.
-- Locks: none (the run's row is held).  Clock: none.
-- Result: id and kind, or no row.
SELECT id, kind FROM agent.interrupts WHERE run_id = :run_id AND status = 'open';

-- open_interrupt_kind --
-- Why: what a resumed run still waits for.
-- Locks: none (the run's row is held).  Clock: none.
-- Result: the kind, or no row.
SELECT kind FROM agent.interrupts WHERE run_id = :run_id AND status = 'open';
