-- claim_runs --
-- Why: give a worker due runs of one module: choosing and moving are one statement. Tenants in turn, the longest
--      not served first, at most a fair share each, the rest filled up; inside a tenant by rank, so waiting ages it.
--      The conversation is taken here; a run behind another of its conversation is left alone. With :bound, the
--      canonical payload of run.bound, runs that aren't bound yet are bound in the same statement (I16).
-- Locks: runs FOR NO KEY UPDATE SKIP LOCKED, then conversations, then turns in tenant order.  Clock: database.
-- Result: the claimed runs' control columns, what they are bound to, and `now`.
WITH RECURSIVE versions AS MATERIALIZED (
    SELECT DISTINCT v FROM unnest(CAST(:versions AS text[])) AS u (v)
), tenants (v, tenant_id) AS (
    SELECT v.v, (SELECT r.tenant_id FROM agent.runs r
                  WHERE r.status = 'queued' AND r.module = :module AND r.graph_version = v.v
                  ORDER BY r.tenant_id LIMIT 1)
      FROM versions v
    UNION ALL
    SELECT t.v, (SELECT r.tenant_id FROM agent.runs r
                  WHERE r.status = 'queued' AND r.module = :module AND r.graph_version = t.v AND r.tenant_id > t.tenant_id
                  ORDER BY r.tenant_id LIMIT 1)
      FROM tenants t
     WHERE t.tenant_id IS NOT NULL
), turns AS MATERIALIZED (
    SELECT d.tenant_id, coalesce(tt.served_at, '-infinity') AS served_at
      FROM (SELECT DISTINCT tenant_id FROM tenants WHERE tenant_id IS NOT NULL) AS d
      LEFT JOIN agent.tenant_turns tt ON tt.module = :module AND tt.tenant_id = d.tenant_id
     ORDER BY 2, 1
     LIMIT :tenants
), offered AS MATERIALIZED (
    SELECT t.served_at, o.id, o.place
      FROM turns t
      CROSS JOIN LATERAL (
          SELECT r.id, row_number() OVER (ORDER BY r.rank, r.id) AS place
            FROM versions v
            CROSS JOIN LATERAL (
                SELECT q.id, q.rank
                  FROM agent.runs q
                 WHERE q.status = 'queued' AND q.module = :module AND q.graph_version = v.v
                   AND q.tenant_id = t.tenant_id AND q.available_at <= clock_timestamp()
                   AND NOT EXISTS (SELECT FROM agent.conversations c
                                    WHERE c.id = q.conversation_id AND c.holder_run_id <> q.id)
                   -- Its holder goes on first, also before an older run that came back from a person meanwhile: that
                   -- one can't be claimed while the conversation is held, and each would wait for the other.
                   AND (EXISTS (SELECT FROM agent.conversations c
                                 WHERE c.id = q.conversation_id AND c.holder_run_id = q.id)
                        OR NOT EXISTS (SELECT FROM agent.runs e
                                        WHERE e.conversation_id = q.conversation_id AND e.status = 'queued' AND e.id < q.id))
                 ORDER BY q.rank
                 LIMIT :looked
            ) AS r
      ) AS o
), picked AS MATERIALIZED (
    -- A tenant's first runs come before anyone's second ones; those served longest ago first.
    -- More than are wanted: another worker's claim in flight holds the first ones, and who found all of his held would
    -- come away with nothing from a full queue.
    SELECT id FROM offered ORDER BY place, served_at LIMIT :looked
), held AS MATERIALIZED (
    -- After a lock only the locked row is fresh: the chain head is taken from here. By id: the status is asked for in a
    -- form that no partial index answers, or a backlog would be read whole where the statistics are old.
    SELECT r.id, r.tenant_id, r.conversation_id, r.event_seq, r.event_head, r.attempt, r.next_counts, r.graph_version
      FROM agent.runs r
     WHERE r.id = ANY (ARRAY(SELECT id FROM picked))
       AND coalesce(r.status, '') = 'queued'
       AND r.available_at <= clock_timestamp()
       -- Nothing for who was at work before a restore: it may hold runs of a history that is gone.
       AND NOT EXISTS (SELECT FROM agent.workers w
                        WHERE w.slot = split_part(:owner, ':', 1) AND starts_with(w.boot_id, 'epoch-'))
     ORDER BY array_position(ARRAY(SELECT id FROM picked), r.id)
     LIMIT :limit
       FOR NO KEY UPDATE OF r SKIP LOCKED
), taken AS MATERIALIZED (
    UPDATE agent.conversations c
       SET holder_run_id = held.id
      FROM held
     WHERE c.id = held.conversation_id
       AND (c.holder_run_id IS NULL OR c.holder_run_id = held.id)
    RETURNING c.holder_run_id AS run_id, c.next_seq
), events AS MATERIALIZED (
    SELECT held.id AS run_id, held.tenant_id, held.event_seq + 1 AS seq, held.event_head AS prev_hash,
           gen_random_uuid() AS event_id, uuid_send(gen_random_uuid()) AS salt, clock_timestamp() AS at,
           held.attempt + CASE WHEN held.next_counts THEN 1 ELSE 0 END AS attempt,
           held.graph_version = '' AND CAST(:bound AS bytea) IS NOT NULL AS binds, taken.next_seq - 1 AS said
      FROM held
      JOIN taken ON taken.run_id = held.id
), hashed AS MATERIALIZED (
    SELECT e.*, p.payload, sha256(e.salt || p.payload) AS payload_hash,
           agent.event_hash(e.run_id, e.seq, e.event_id, 'run.claimed', 1, :actor, e.at, NULL, NULL,
                            sha256(e.salt || p.payload), e.prev_hash) AS hash
      FROM events e
      -- RFC 8785 by hand: one integer member, one plain string member, keys in order.
      CROSS JOIN LATERAL (SELECT convert_to('{"attempt":' || e.attempt || ',"owner":' || to_json(CAST(:owner AS text)) || '}', 'UTF8')) AS p (payload)
), binding AS MATERIALIZED (
    SELECT h.run_id, h.tenant_id, h.seq + 1 AS seq, h.hash AS prev_hash, h.at, gen_random_uuid() AS event_id,
           uuid_send(gen_random_uuid()) AS salt
      FROM hashed h
     WHERE h.binds
), bound AS MATERIALIZED (
    SELECT b.*, sha256(b.salt || CAST(:bound AS bytea)) AS payload_hash,
           agent.event_hash(b.run_id, b.seq, b.event_id, 'run.bound', 1, '', b.at, NULL, NULL,
                            sha256(b.salt || CAST(:bound AS bytea)), b.prev_hash) AS hash
      FROM binding b
), appended AS (
    INSERT INTO agent.run_events (run_id, seq, id, tenant_id, type, schema_version, actor, at, payload_hash, prev_hash, hash)
    SELECT run_id, seq, event_id, tenant_id, 'run.claimed', 1, :actor, at, payload_hash, prev_hash, hash FROM hashed
    UNION ALL
    SELECT run_id, seq, event_id, tenant_id, 'run.bound', 1, '', at, payload_hash, prev_hash, hash FROM bound
), paid AS (
    INSERT INTO agent.run_event_payloads (run_id, seq, tenant_id, salt, payload)
    SELECT run_id, seq, tenant_id, salt, payload FROM hashed
    UNION ALL
    SELECT run_id, seq, tenant_id, salt, CAST(:bound AS bytea) FROM bound
), told AS (
    INSERT INTO agent.feed (tenant_id, user_id, conversation_id, kind, data)
    SELECT r.tenant_id, r.user_id, r.conversation_id, 'run.status', jsonb_build_object('run_id', r.id, 'status', 'running')
      FROM agent.runs r JOIN hashed h ON h.run_id = r.id
), served AS (
    INSERT INTO agent.tenant_turns (module, tenant_id, served_at)
    SELECT :module, tenant_id, max(at) FROM hashed GROUP BY tenant_id ORDER BY tenant_id
    ON CONFLICT (module, tenant_id) DO UPDATE SET served_at = excluded.served_at
)
UPDATE agent.runs AS r
   SET status = 'running',
       revision = r.revision + 1,
       lease_owner = :owner,
       lease_expires_at = h.at + CAST(:lease AS interval),
       claim_nonce = CAST(:nonce AS uuid),
       attempt = h.attempt,
       attempt_progress = CASE WHEN r.next_counts THEN r.progress ELSE r.attempt_progress END,
       next_counts = false,
       started_at = coalesce(r.started_at, h.at),
       graph_version = CASE WHEN h.binds THEN :graph ELSE r.graph_version END,
       manifest_fp = CASE WHEN h.binds THEN :manifest ELSE r.manifest_fp END,
       catalog_fp = CASE WHEN h.binds THEN nullif(:catalog, '') ELSE r.catalog_fp END,
       event_seq = coalesce(b.seq, h.seq),
       event_head = coalesce(b.hash, h.hash)
  FROM hashed h
  LEFT JOIN bound b ON b.run_id = h.run_id
 WHERE r.id = h.run_id
RETURNING r.id, r.tenant_id, r.user_id, r.roles, r.module, r.mode, r.status, r.waiting_on, r.stop, r.pause_asked,
          r.revision, r.attempt, r.max_attempts, r.progress, r.attempt_progress, r.wakes, r.lease_owner,
          r.lease_expires_at, r.available_at, nullif(r.deadline_at, 'infinity') AS deadline_at, r.deadline_left,
          r.conversation_id, r.graph_version, r.event_seq, r.locale, r.zone, r.rerouted, r.input, r.currency,
          r.metadata, r.budget, r.manifest_fp, r.catalog_fp, r.root_run_id, r.traceparent, r.created_at,
          h.said, h.at AS now;

-- claimed_by_nonce --
-- Why: what a claim took when its answer was lost.
-- Locks: none.  Clock: database.
-- Result: as claim_runs, for the runs still held under this nonce.
SELECT r.id, r.tenant_id, r.user_id, r.roles, r.module, r.mode, r.status, r.waiting_on, r.stop, r.pause_asked,
       r.revision, r.attempt, r.max_attempts, r.progress, r.attempt_progress, r.wakes, r.lease_owner,
       r.lease_expires_at, r.available_at, nullif(r.deadline_at, 'infinity') AS deadline_at, r.deadline_left,
       r.conversation_id, r.graph_version, r.event_seq, r.locale, r.zone, r.rerouted, r.input, r.currency,
       r.metadata, r.budget, r.manifest_fp, r.catalog_fp, r.root_run_id, r.traceparent, r.created_at,
       (SELECT c.next_seq - 1 FROM agent.conversations c WHERE c.id = r.conversation_id) AS said, clock_timestamp() AS now
  FROM agent.runs r
 WHERE r.status IN ('running', 'cancelling')
   AND r.lease_owner = :owner
   AND r.claim_nonce = CAST(:nonce AS uuid);

-- renew_leases --
-- Why: the heartbeat: one statement over the pairs the worker names. It asks for owner and revision, not expiry:
--      a lease past but not taken is renewed. A cancelling run's lease is renewed too, for its drain.
-- Locks: named runs in id order, FOR NO KEY UPDATE SKIP LOCKED (skipped is tried at the next beat).  Clock: database.
-- Result: a row per run: answer held | pause | stop | taken | skipped | unclaimed, and its revision.
WITH named AS MATERIALIZED (
    SELECT * FROM unnest(CAST(:run_ids AS uuid[]), CAST(:revisions AS bigint[])) AS n (id, revision)
), held AS MATERIALIZED (
    SELECT r.id, r.status, r.revision, r.lease_owner, r.pause_asked, n.revision AS named_revision
      FROM agent.runs r
      JOIN named n ON n.id = r.id
     ORDER BY r.id
       FOR NO KEY UPDATE OF r SKIP LOCKED
), mine AS MATERIALIZED (
    SELECT * FROM held
     WHERE lease_owner = :owner
       AND (status = 'running' AND revision = named_revision OR status = 'cancelling')
), renewed AS (
    UPDATE agent.runs r
       SET lease_expires_at = clock_timestamp() + CAST(:lease AS interval)
      FROM mine
     WHERE r.id = mine.id
    RETURNING r.id
)
SELECT m.id AS run_id, m.revision,
       CASE WHEN m.status = 'cancelling' THEN 'stop' WHEN m.pause_asked THEN 'pause' ELSE 'held' END AS answer
  FROM mine m
UNION ALL
SELECT h.id, h.revision, 'taken' FROM held h WHERE NOT EXISTS (SELECT FROM mine m WHERE m.id = h.id)
UNION ALL
SELECT n.id, n.revision, CASE WHEN r.id IS NULL THEN 'taken' ELSE 'skipped' END
  FROM named n
  LEFT JOIN agent.runs r ON r.id = n.id
 WHERE NOT EXISTS (SELECT FROM held h WHERE h.id = n.id)
UNION ALL
SELECT r.id, r.revision, 'unclaimed'
  FROM agent.runs r
 WHERE r.status IN ('running', 'cancelling')
   AND r.lease_owner = :owner
   AND NOT EXISTS (SELECT FROM named n WHERE n.id = r.id);

-- register_worker --
-- Why: what a worker serves and until when it is alive; a new boot of a slot ends the leases of the old one,
--      which is dead since a slot can't live twice. The sweep then frees those runs, also within the grace after an
--      outage or a start: no claim_nonce says that they were given up, not that somebody went silent.
-- Locks: the slot's row, then the old boot's runs in id order.  Clock: database.
-- Result: how many leases of an older boot were ended.
WITH slot AS (
    INSERT INTO agent.workers (slot, boot_id, modules, versions, started_at, alive_until)
    VALUES (:slot, :boot_id, :modules, :versions, clock_timestamp(), clock_timestamp() + CAST(:alive_for AS interval))
    ON CONFLICT (slot) DO UPDATE
       SET started_at = CASE WHEN workers.boot_id = excluded.boot_id THEN workers.started_at ELSE excluded.started_at END,
           boot_id = excluded.boot_id,
           modules = excluded.modules,
           versions = excluded.versions,
           alive_until = excluded.alive_until
    RETURNING slot
), old AS MATERIALIZED (
    SELECT r.id
      FROM agent.runs r
     WHERE r.status IN ('running', 'cancelling')
       AND starts_with(r.lease_owner, :slot || ':')
       AND r.lease_owner <> :slot || ':' || :boot_id
     ORDER BY r.id
       FOR NO KEY UPDATE SKIP LOCKED
), ended AS (
    UPDATE agent.runs r SET lease_expires_at = clock_timestamp(), claim_nonce = NULL FROM old WHERE r.id = old.id RETURNING r.id
)
SELECT count(*) AS ended FROM ended CROSS JOIN slot;

-- free_slot --
-- Why: a process that just started gives up what older boots of its slot held, before it is ready to register.
-- Locks: the slot's runs in id order, FOR NO KEY UPDATE SKIP LOCKED.  Clock: database.
-- Result: none.
WITH old AS MATERIALIZED (
    SELECT r.id
      FROM agent.runs r
     WHERE r.status IN ('running', 'cancelling')
       AND starts_with(r.lease_owner, :slot || ':')
     ORDER BY r.id
       FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE agent.runs r
   SET lease_expires_at = clock_timestamp(),
       claim_nonce = NULL
  FROM old
 WHERE r.id = old.id;

-- renew_worker --
-- Why: a worker says again that it is alive. One whose slot a later boot has taken doesn't take it back: two that
--      share a slot's name would end each other's leases for ever.
-- Locks: the slot's row.  Clock: database.
-- Result: the slot, or no row when it belongs to another boot by now.
INSERT INTO agent.workers (slot, boot_id, modules, versions, started_at, alive_until)
VALUES (:slot, :boot_id, :modules, :versions, clock_timestamp(), clock_timestamp() + CAST(:alive_for AS interval))
    ON CONFLICT (slot) DO UPDATE
   SET modules = excluded.modules,
       versions = excluded.versions,
       alive_until = excluded.alive_until
 WHERE workers.boot_id = excluded.boot_id
RETURNING slot;

-- unregister_worker --
-- Why: a worker that stopped serves nothing any more.
-- Locks: the slot's row.  Clock: none.
-- Result: none.
DELETE FROM agent.workers WHERE slot = :slot AND boot_id = :boot_id;
