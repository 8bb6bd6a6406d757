-- record_run --
-- Why: the one write door of a run: its fenced change, its chained events and its outbox rows at once.
-- Locks: the run's row, FOR NO KEY UPDATE.  Clock: database, read above the lock.
-- Result: the run's new revision, seq, wakes and status, or no row when fence or guard fails.
-- Completed with the SET list of the columns that the decision changes (names from the allow-list).
WITH RECURSIVE held AS MATERIALIZED (
    SELECT id, tenant_id, status, revision, lease_owner, lease_expires_at, deadline_at, event_seq, event_head
      FROM agent.runs
     WHERE id = :run_id
       FOR NO KEY UPDATE
), passed AS MATERIALIZED (
    SELECT held.*, clock_timestamp() AS at
      FROM held
     WHERE status = :from_status
       AND revision = :from_revision
       AND CASE :fence
             WHEN 'start' THEN status = 'running' AND lease_owner = :owner AND lease_expires_at > clock_timestamp()
                               AND deadline_at > clock_timestamp()
             WHEN 'record' THEN status = 'running' AND lease_owner = :owner AND lease_expires_at > clock_timestamp()
             WHEN 'drain' THEN status = 'cancelling' AND lease_owner = :owner AND lease_expires_at > clock_timestamp()
             WHEN 'none' THEN true
             ELSE false
           END
), given AS MATERIALIZED (
    SELECT g.*, uuid_send(gen_random_uuid()) AS salt
      FROM unnest(CAST(:event_ids AS uuid[]), CAST(:event_types AS text[]), CAST(:event_versions AS int[]),
                  CAST(:event_actors AS text[]), CAST(:event_causes AS uuid[]), CAST(:event_payloads AS bytea[]))
           WITH ORDINALITY AS g (id, type, schema_version, actor, causation_id, payload, place)
), chain AS (
    SELECT p.event_seq AS seq, CAST(0 AS bigint) AS place, p.event_head AS hash,
           CAST(NULL AS uuid) AS id, CAST(NULL AS bytea) AS payload_hash, CAST(NULL AS bytea) AS prev_hash
      FROM passed p
    UNION ALL
    SELECT c.seq + 1, g.place,
           agent.event_hash(p.id, c.seq + 1, g.id, g.type, g.schema_version, g.actor, p.at, g.causation_id,
                            CAST(:correlation_id AS uuid), sha256(g.salt || g.payload), c.hash),
           g.id, sha256(g.salt || g.payload), c.hash
      FROM chain c
      JOIN given g ON g.place = c.place + 1
      CROSS JOIN passed p
), appended AS (
    INSERT INTO agent.run_events (run_id, seq, id, tenant_id, type, schema_version, actor, at, causation_id,
                                  correlation_id, payload_hash, prev_hash, hash)
    SELECT p.id, c.seq, g.id, p.tenant_id, g.type, g.schema_version, g.actor, p.at, g.causation_id,
           CAST(:correlation_id AS uuid), c.payload_hash, c.prev_hash, c.hash
      FROM chain c
      JOIN given g ON g.place = c.place
      CROSS JOIN passed p
), paid AS (
    INSERT INTO agent.run_event_payloads (run_id, seq, tenant_id, salt, payload)
    SELECT p.id, c.seq, p.tenant_id, g.salt, g.payload
      FROM chain c
      JOIN given g ON g.place = c.place
      CROSS JOIN passed p
), hinted AS (
    INSERT INTO agent.outbox (id, tenant_id, run_id, module, event_type, traceparent, publish_at)
    SELECT o.id, p.tenant_id, p.id, o.module, o.event_type, CAST(:traceparent AS text), coalesce(o.publish_at, p.at)
      FROM unnest(CAST(:outbox_ids AS uuid[]), CAST(:outbox_modules AS text[]), CAST(:outbox_types AS text[]),
                  CAST(:outbox_ats AS timestamptz[])) AS o (id, module, event_type, publish_at)
      CROSS JOIN passed p
), head AS (
    SELECT seq, hash FROM chain ORDER BY place DESC LIMIT 1
)
UPDATE agent.runs AS r
   SET event_seq = head.seq,
       event_head = head.hash{sets}
  FROM passed, head
 WHERE r.id = passed.id
RETURNING r.revision, r.event_seq, r.wakes, r.status, passed.at;
