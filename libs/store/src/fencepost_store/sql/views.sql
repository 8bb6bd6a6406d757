-- view_runs --
-- Why: runs as the API shows them, one or a page, each whole in one statement (no query per run).
-- Locks: none.  Clock: none.
-- Result: newest first; `interrupt`, `actions`, `usage` and the rest as JSON.
WITH picked AS MATERIALIZED (
    SELECT r.*
      FROM agent.runs r
     WHERE (CAST(:run_id AS uuid) IS NULL OR r.id = CAST(:run_id AS uuid))
       AND (CAST(:user_id AS text) IS NULL OR r.user_id = CAST(:user_id AS text))
       AND (CAST(:before AS uuid) IS NULL OR r.id < CAST(:before AS uuid))
       AND (CAST(:statuses AS text[]) IS NULL OR r.status = ANY (CAST(:statuses AS text[])))
       AND (CAST(:module AS text) IS NULL OR r.module = CAST(:module AS text))
       AND (CAST(:conversation_id AS uuid) IS NULL OR r.conversation_id = CAST(:conversation_id AS uuid))
       AND (CAST(:created_after AS timestamptz) IS NULL OR r.created_at > CAST(:created_after AS timestamptz))
       AND (CAST(:metadata AS jsonb) IS NULL OR r.metadata @> CAST(:metadata AS jsonb))
       AND (CAST(:run_id AS uuid) IS NOT NULL OR r.mode = 'live')
     ORDER BY r.id DESC
     LIMIT :limit
)
SELECT r.id, r.tenant_id, r.status, r.waiting_on, r.module, r.mode, r.user_id, r.conversation_id, r.metadata, r.attempt,
       r.pause_asked, r.created_at, r.started_at, r.finished_at, nullif(r.deadline_at, 'infinity') AS deadline_at,
       r.event_seq, r.input, r.locale, r.zone, r.budget, nullif(r.graph_version, '') AS graph, r.manifest_fp, r.catalog_fp,
       r.continues_run_id AS continues, r.root_run_id,
       CASE r.stop WHEN 'handoff' THEN
            (SELECT jsonb_build_object('by', v.actor, 'at', v.at) || convert_from(p.payload, 'UTF8')::jsonb
               FROM agent.run_events v
               JOIN agent.run_event_payloads p ON p.run_id = v.run_id AND p.seq = v.seq
              WHERE v.run_id = r.id AND v.type = 'run.handoff_asked'
              ORDER BY v.seq LIMIT 1) END AS handoff,
       (SELECT jsonb_build_object('message_id', m.id, 'text', m.text, 'artifacts', m.artifacts)
          FROM agent.messages m WHERE m.run_id = r.id AND m.author = 'assistant') AS output,
       (SELECT to_jsonb(i) || jsonb_build_object('votes', (SELECT jsonb_agg(jsonb_build_object('by', v.voter, 'decision', v.decision, 'at', v.voted_at,
                                            'by_link', v.link_id IS NOT NULL) ORDER BY v.voted_at)
          FROM agent.approval_votes v WHERE v.interrupt_id = i.id))
          FROM agent.interrupts i WHERE i.run_id = r.id AND i.status = 'open') AS interrupt,
       (SELECT jsonb_agg(jsonb_build_object(
                   'index', a.index, 'n', a.n, 'tool', a.tool, 'risk', a.risk, 'status', a.status,
                   'arguments', a.arguments, 'effect_class', a.effect_class, 'effect', e.state,
                   'effect_key', e.effect_key, 'result', e.result, 'decision', a.decision, 'decided_by', a.decided_by,
                   'grant_id', a.grant_id)
                ORDER BY a.index)
          FROM agent.actions a
          LEFT JOIN agent.effects e ON e.run_id = a.run_id AND e.index = a.index
         WHERE a.run_id = r.id AND a.status <> 'withdrawn') AS actions,
       (SELECT jsonb_agg(jsonb_build_object('id', f.id, 'name', f.name, 'media_type', f.media_type,
                                            'size_bytes', f.size_bytes, 'status', f.status, 'version', f.version,
                                            'sha256', encode(f.sha256, 'hex'), 'integrity', CASE WHEN f.erased_at IS NOT NULL THEN 'erased' ELSE coalesce(f.lost, 'ok') END,
                                            'role', CASE WHEN f.run_id = r.id THEN 'output' ELSE 'input' END)
                         ORDER BY f.id)
          FROM agent.artifacts f
         WHERE f.id IN (SELECT o.id FROM agent.artifacts o WHERE o.run_id = r.id
                         UNION ALL
                        SELECT CAST(x AS uuid)
                          FROM jsonb_array_elements_text(CASE WHEN jsonb_typeof(r.input -> 'attachments') = 'array'
                                                              THEN r.input -> 'attachments' ELSE '[]' END) AS x)
           AND f.user_id = r.user_id) AS artifacts,
       (SELECT jsonb_build_object('model_calls', count(*), 'input_tokens', coalesce(sum(c.input_tokens), 0),
                                  'output_tokens', coalesce(sum(c.output_tokens), 0),
                                  'cost', CAST(trim_scale(coalesce(sum(c.cost), 0)) AS text), 'currency', max(c.currency))
          FROM agent.model_calls c WHERE c.run_id = r.id) AS usage,
       CASE WHEN r.finished_at IS NOT NULL AND r.status <> 'succeeded' THEN  -- of the last call, where it was cut off
            (SELECT jsonb_build_object('text', c.error ->> 'partial', 'at', c.settled_at)
               FROM (SELECT * FROM agent.model_calls m WHERE m.run_id = r.id ORDER BY m.started_at DESC, m.id DESC LIMIT 1) AS c
              WHERE c.state = 'failed' AND c.role IN ('module', 'responder') AND c.error ->> 'partial' <> '') END AS partial,
       (SELECT jsonb_agg(jsonb_build_object('seq', v.seq, 'at', v.at) || convert_from(p.payload, 'UTF8')::jsonb
                         ORDER BY v.seq)
          FROM agent.run_events v
          JOIN agent.run_event_payloads p ON p.run_id = v.run_id AND p.seq = v.seq
         WHERE v.run_id = r.id AND v.type = 'recovery.checked') AS recovery_checks,
       (SELECT jsonb_agg(jsonb_build_object('seq', v.seq, 'type', v.type,
                                            'said', convert_from(p.payload, 'UTF8')::jsonb)
                         ORDER BY v.seq)
          FROM agent.run_events v
          JOIN agent.run_event_payloads p ON p.run_id = v.run_id AND p.seq = v.seq
         WHERE v.run_id = r.id
           AND v.type IN ('contract.compiled', 'plan.created', 'plan.advanced', 'gate.judged')) AS work,
       CASE WHEN r.origin_run_id IS NOT NULL
            THEN jsonb_build_object('kind', r.origin_kind, 'run_id', r.origin_run_id, 'at_seq', r.origin_seq) END AS origin,
       -- As evidence.frozen.fork_points folds it: where no attempt is open.
       (SELECT jsonb_agg(v.seq ORDER BY v.seq)
          FROM (SELECT e.seq, e.type, p.payload,
                       sum(CASE e.type WHEN 'action.started' THEN 1 WHEN 'action.committed' THEN -1
                                       WHEN 'action.failed' THEN -1 ELSE 0 END) OVER (ORDER BY e.seq) AS open
                  FROM agent.run_events e
                  JOIN agent.run_event_payloads p ON p.run_id = e.run_id AND p.seq = e.seq
                 WHERE e.run_id = r.id
                   AND e.type IN ('run.bound', 'model.called', 'interrupt.resolved', 'fact.inherited',
                                  'action.started', 'action.committed', 'action.failed')) AS v
         WHERE v.open <= 0
           AND CASE v.type WHEN 'model.called' THEN convert_from(v.payload, 'UTF8')::jsonb @> '{"state": "settled", "late": false}'
                           WHEN 'interrupt.resolved' THEN convert_from(v.payload, 'UTF8')::jsonb @> '{"kind": "input"}'
                           ELSE v.type IN ('run.bound', 'action.committed', 'fact.inherited') END) AS fork_points,
       (SELECT to_jsonb(f) FROM agent.finalizations f WHERE f.run_id = r.id) AS finalization
  FROM picked r
 ORDER BY r.id DESC;

-- claim_key --
-- Why: one step tells what an idempotency key means now: the run it made, that another request under it is in work,
-- or that it is ours until the transaction ends (case ID-1). Before the first one commits its row is invisible;
-- these locks are not.
-- Locks: two transaction-scoped advisory locks, tried, never waited for; none when the key made a run.  Clock: none.
-- Result: id and request hash of the run; else whether the same request, and any under the key, is not in work.
WITH made AS MATERIALIZED (
    SELECT r.id, r.request_hash
      FROM agent.runs r
     WHERE r.tenant_id = agent.tenant()
       AND r.user_id = :user_id
       AND r.route = :route
       AND r.idempotency_key = :key
), scoped AS MATERIALIZED (
    SELECT concat_ws(chr(10), agent.tenant(), CAST(:user_id AS text), CAST(:route AS text), CAST(:key AS text)) AS name
)
SELECT made.id, made.request_hash,
       CASE WHEN made.id IS NULL
            THEN pg_try_advisory_xact_lock(hashtextextended(scoped.name || chr(10) || CAST(:request_hash AS text), 1))
       END AS same_free,
       CASE WHEN made.id IS NULL THEN pg_try_advisory_xact_lock(hashtextextended(scoped.name, 2)) END AS key_free
  FROM scoped
  LEFT JOIN made ON true;

-- hold_conversation --
-- Why: "is it busy?" and the new run's insert must not have another request between them.
-- Locks: the conversation's row, FOR NO KEY UPDATE.  Clock: none.
-- Result: the id, or no row when it is new or another's.
SELECT id FROM agent.conversations WHERE id = :id AND user_id = :user_id FOR NO KEY UPDATE;

-- runs_at_work --
-- Why: which runs hold or will hold a conversation, to be cancelled for a new one; not the new one's own twin.
-- Locks: none.  Clock: none.
-- Result: ids, oldest first.
SELECT id
  FROM agent.runs
 WHERE conversation_id = :conversation_id
   AND user_id = :user_id
   AND NOT (route = :route AND idempotency_key = :key)
   AND (status IN ('queued', 'running') OR (status = 'waiting' AND waiting_on IN ('tool', 'child')))
 ORDER BY id;

-- earlier_attachments --
-- Why: "make it shorter" is said of the files that came earlier in the conversation. Few are looked through: what
-- lies further back isn't meant.
-- Locks: none.  Clock: none.
-- Result: the latest of the conversation's last 20 runs that came with files, and those files' ids; or no row.
SELECT r.id, r.attachments
  FROM (SELECT id, input -> 'attachments' AS attachments
          FROM agent.runs
         WHERE conversation_id = :conversation_id AND user_id = :user_id
         ORDER BY id DESC
         LIMIT 20) AS r
 WHERE jsonb_typeof(r.attachments) = 'array' AND r.attachments <> '[]'
 ORDER BY r.id DESC
 LIMIT 1;

-- run_access --
-- Why: whose run is it, and is it done? What authorisation and streams need, without the rest.
-- Locks: none.  Clock: none.
-- Result: one row, or none (also for another tenant's).
SELECT id, user_id, status, waiting_on, event_seq, finished_at IS NOT NULL AS done,
       (SELECT v.seq FROM agent.run_events v
         WHERE v.run_id = r.id AND v.type = 'run.finalized' ORDER BY v.seq DESC LIMIT 1) AS terminal_seq
  FROM agent.runs r
 WHERE id = :run_id;

-- view_events --
-- Why: a run's log in order, a page by itself: a slow reader holds no transaction open. Payloads are bounded as events
-- are: else each page would begin with the run's first.
-- Locks: none.  Clock: none.
-- Result: envelopes with payload and salt; these two NULL when erased.
SELECT e.seq, e.id, e.type, e.schema_version, e.actor, e.at, e.causation_id, e.correlation_id, e.payload_hash,
       e.prev_hash, e.hash, p.salt, p.payload
  FROM agent.run_events e
  LEFT JOIN agent.run_event_payloads p
    ON p.run_id = :run_id AND p.seq = e.seq
   AND p.seq > :after AND p.seq <= :upto
 WHERE e.run_id = :run_id
   AND e.seq > :after
   AND e.seq <= :upto
 ORDER BY e.seq
 LIMIT :limit;

-- stream_events --
-- Why: what several runs appended since each was last read, in one statement.
-- Locks: none.  Clock: none.
-- Result: envelopes with payload, by run and seq; no more than the limit a run.
SELECT w.run_id, e.seq, e.type, e.at, e.actor, p.payload
  FROM unnest(CAST(:run_ids AS uuid[]), CAST(:afters AS bigint[])) AS w (run_id, after)
 CROSS JOIN LATERAL (SELECT v.* FROM agent.run_events v
                      WHERE v.run_id = w.run_id AND v.seq > w.after ORDER BY v.seq LIMIT :limit) AS e
  LEFT JOIN agent.run_event_payloads p ON p.run_id = e.run_id AND p.seq = e.seq
 ORDER BY w.run_id, e.seq;

-- stream_messages --
-- Why: the whole texts that `message.completed` events name by id.
-- Locks: none.  Clock: none.
-- Result: one row a message.
SELECT id, run_id, conversation_id, seq, author, text, artifacts FROM agent.messages WHERE id = ANY (CAST(:ids AS uuid[]));

-- stream_finalizations --
-- Why: how the runs of `run.finished` events ended.
-- Locks: none.  Clock: none.
-- Result: one row a run.
SELECT * FROM agent.finalizations WHERE run_id = ANY (CAST(:run_ids AS uuid[]));

-- stream_interrupts --
-- Why: what `interrupt.opened` and `interrupt.closed` events speak of.
-- Locks: none.  Clock: none.
-- Result: one row an interrupt.
SELECT * FROM agent.interrupts WHERE id = ANY (CAST(:ids AS uuid[]));

-- run_heads --
-- Why: which of the watched runs moved? One statement a poll for every stream of the process.
-- Locks: none.  Clock: none.
-- Result: numbers only, for pairs of run and tenant that belong together.
SELECT run_id, event_seq, done FROM agent.run_heads(CAST(:run_ids AS uuid[]), CAST(:tenant_ids AS uuid[]));

-- feed_heads --
-- Why: which of the watched feeds moved? Stops before transactions still open (case EV-1).
-- Locks: none.  Clock: none.
-- Result: the newest readable position of each pair of tenant and user that has one.
SELECT tenant_id, user_id, CAST(xid AS text) AS xid, id
  FROM agent.feed_heads(CAST(:tenant_ids AS uuid[]), CAST(:user_ids AS text[]));

-- view_feed --
-- Why: a caller's feed after a position, in an order that never gains an earlier line.
-- Locks: none.  Clock: database, for the age of a position.
-- Result: lines by (xid, id), none of transactions still open.
SELECT CAST(f.xid AS text) AS xid, f.id, f.conversation_id, f.kind, f.data, f.at
  FROM agent.feed f
 WHERE f.tenant_id = agent.tenant()
   AND f.user_id = :user_id
   AND (f.xid, f.id) > (CAST(CAST(:xid AS text) AS xid8), CAST(:id AS bigint))
   AND f.xid < pg_snapshot_xmin(pg_current_snapshot())
 ORDER BY f.xid, f.id
 LIMIT :limit;

-- feed_start --
-- Why: where a feed begins for who brings no position: now.
-- Locks: none.  Clock: database.
-- Result: one row: a position before everything not yet readable.
SELECT CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS xid, clock_timestamp() AS now;

-- view_conversations --
-- Why: a person's conversations.
-- Locks: none.  Clock: none.
-- Result: newest first.
SELECT id, user_id, title, holder_run_id, created_at, updated_at
  FROM agent.conversations
 WHERE (CAST(:id AS uuid) IS NULL OR id = CAST(:id AS uuid))
   AND (CAST(:user_id AS text) IS NULL OR user_id = CAST(:user_id AS text))
   AND (CAST(:before AS uuid) IS NULL OR id < CAST(:before AS uuid))
 ORDER BY id DESC
 LIMIT :limit;

-- view_messages --
-- Why: a conversation's messages in order.
-- Locks: none.  Clock: none.
-- Result: by seq.
SELECT id, conversation_id, seq, run_id, author, text, artifacts, created_at
  FROM agent.messages
 WHERE conversation_id = :conversation_id
   AND seq > :after
 ORDER BY seq
 LIMIT :limit;

-- view_modules --
-- Why: modules by their catalog in force, and whether a worker serves them now.
-- Locks: none.  Clock: database.
-- Result: by name.
SELECT DISTINCT ON (c.module) c.module, c.version, c.fingerprint, c.body,
       EXISTS (SELECT FROM agent.workers w
                WHERE c.module = ANY (w.modules) AND w.alive_until > clock_timestamp()) AS served
  FROM agent.catalogs c
 WHERE c.revoked_at IS NULL
   AND (CAST(:module AS text) IS NULL OR c.module = CAST(:module AS text))
 ORDER BY c.module, c.in_force_at DESC, c.fingerprint;

-- known_modules --
-- Why: a run for a module nobody ever published or served would wait for ever.
-- Locks: none.  Clock: none.
-- Result: names.
SELECT module FROM agent.catalogs WHERE revoked_at IS NULL
UNION
SELECT unnest(modules) FROM agent.workers;

-- run_effects --
-- Why: what a stopped run did, left open or never began, for its finalization.
-- Locks: none (the run's row is held).  Clock: none.
-- Result: current actions with the state of their effect, in order.
SELECT a.index, a.tool, a.status, e.effect_key, e.state
  FROM agent.actions a
  LEFT JOIN agent.effects e ON e.run_id = a.run_id AND e.index = a.index
 WHERE a.run_id = :run_id
   AND a.status <> 'withdrawn'
 ORDER BY a.index;
