-- Each statement returns what breaks its invariant as (subject, detail), none when it holds. They run in one
-- REPEATABLE READ, READ ONLY transaction, so that no change in between looks like a violation.
-- (The statements' Locks are none throughout.)

-- i01_run_has_first_event --
-- Why: I01. A run and its first event exist together; a pruned history leaves its anchor.
-- Locks: none.  Clock: none.
-- Result: runs without it.
SELECT 'run ' || r.id AS subject, coalesce('its first event is ' || e.type, 'it has no first event') AS detail
  FROM agent.runs r
  LEFT JOIN agent.run_events e ON e.run_id = r.id AND e.seq = 1
 WHERE e.type IS DISTINCT FROM 'run.requested'
   AND NOT (e.run_id IS NULL AND EXISTS (SELECT FROM agent.chain_anchors a WHERE a.run_id = r.id AND a.seq = r.event_seq));

-- i01_run_has_hint --
-- Why: I01. A run and its outbox row exist together; published ones are pruned after 24 h.
-- Locks: none.  Clock: database.
-- Result: young runs without it.
SELECT 'run ' || r.id AS subject, 'no outbox row was written with it' AS detail
  FROM agent.runs r
 WHERE r.created_at > clock_timestamp() - interval '23 hours'
   AND NOT EXISTS (SELECT FROM agent.outbox o WHERE o.run_id = r.id AND o.event_type = 'agent.run.requested.v1');

-- i01_nothing_without_its_run --
-- Why: I01. What names a run that isn't there was written outside its transaction, or the run was lost.
-- Locks: none.  Clock: none.
-- Result: the rows' runs.
SELECT DISTINCT o.what || ' of run ' || o.run_id AS subject, 'the run does not exist' AS detail
  FROM (SELECT 'event' AS what, run_id FROM agent.run_events
        UNION ALL SELECT 'payload', run_id FROM agent.run_event_payloads
        UNION ALL SELECT 'outbox row', run_id FROM agent.outbox
        UNION ALL SELECT 'finalization', run_id FROM agent.finalizations
        UNION ALL SELECT 'interrupt', run_id FROM agent.interrupts
        UNION ALL SELECT 'action', run_id FROM agent.actions
        UNION ALL SELECT 'effect', run_id FROM agent.effects
        UNION ALL SELECT 'effect attempt', run_id FROM agent.effect_attempts
        UNION ALL SELECT 'model call', run_id FROM agent.model_calls
        UNION ALL SELECT 'budget', root_run_id FROM agent.budgets
        UNION ALL SELECT 'message', run_id FROM agent.messages WHERE run_id IS NOT NULL
        UNION ALL SELECT 'checkpoint', run_id FROM langgraph.checkpoints
        UNION ALL SELECT 'checkpoint write', run_id FROM langgraph.writes
        UNION ALL SELECT 'conversation holder', holder_run_id FROM agent.conversations WHERE holder_run_id IS NOT NULL) AS o
 WHERE NOT EXISTS (SELECT FROM agent.runs r WHERE r.id = o.run_id);

-- i02_one_run_per_key --
-- Why: I02. One (tenant, user, route, Idempotency-Key) is one run.
-- Locks: none.  Clock: none.
-- Result: keys with more.
SELECT 'key ' || idempotency_key AS subject, count(*) || ' runs of one user and route: ' || string_agg(id::text, ', ') AS detail
  FROM agent.runs
 GROUP BY tenant_id, user_id, route, idempotency_key
HAVING count(*) > 1;

-- i03_thread_is_run --
-- Why: I03. Graph state belongs to exactly the run it is stored under.
-- Locks: none.  Clock: none.
-- Result: checkpoints and writes of another thread.
SELECT 'checkpoint ' || checkpoint_id AS subject, 'thread ' || thread_id || ' is not run ' || run_id AS detail
  FROM langgraph.checkpoints WHERE thread_id <> run_id
UNION ALL
SELECT 'write of checkpoint ' || checkpoint_id, 'thread ' || thread_id || ' is not run ' || run_id
  FROM langgraph.writes WHERE thread_id <> run_id;

-- i04_lease_fits_status --
-- Why: I04. Who is running is leased; who is not, isn't (a cancelling run may be).
-- Locks: none.  Clock: none.
-- Result: runs where the two differ.
SELECT 'run ' || id AS subject,
       status || ' with owner ' || coalesce(lease_owner, 'none') || ', lease ' || coalesce(lease_expires_at::text, 'none') AS detail
  FROM agent.runs
 WHERE NOT CASE status
             WHEN 'running' THEN lease_owner IS NOT NULL AND lease_expires_at IS NOT NULL
             WHEN 'cancelling' THEN (lease_owner IS NULL) = (lease_expires_at IS NULL)
             ELSE lease_owner IS NULL AND lease_expires_at IS NULL
           END;

-- i06_one_finalization_per_end --
-- Why: I06. Each terminal run has exactly one finalization, of its status; no other run has one.
-- Locks: none.  Clock: none.
-- Result: runs where it is missing, another's status, doubled, or too early.
SELECT 'run ' || r.id AS subject,
       CASE WHEN count(f.run_id) > 1 THEN count(f.run_id) || ' finalizations'
            WHEN r.finished_at IS NULL THEN r.status || ' with a finalization ' || min(f.status)
            WHEN count(f.run_id) = 0 THEN r.status || ' without a finalization'
            ELSE r.status || ' with a finalization ' || min(f.status) END AS detail
  FROM agent.runs r
  LEFT JOIN agent.finalizations f ON f.run_id = r.id
 GROUP BY r.id, r.status, r.finished_at
HAVING count(f.run_id) <> CASE WHEN r.finished_at IS NULL THEN 0 ELSE 1 END
    OR min(f.status) <> r.status
    OR (r.finished_at IS NULL) <> (r.status IN ('queued', 'running', 'waiting', 'paused', 'cancelling'));

-- i08_somebody_looks_after_it --
-- Why: I08. Every live run has something that moves it on: a lease, a due time, an expiry, a poller, an end.
-- Locks: none.  Clock: none.
-- Result: runs that would sleep for ever.
SELECT 'run ' || r.id AS subject,
       r.status || coalesce(' on ' || r.waiting_on, '') || ' and nothing will end that' AS detail
  FROM agent.runs r
 WHERE r.finished_at IS NULL
   AND NOT coalesce(CASE r.status
         WHEN 'queued' THEN r.available_at < 'infinity'
         WHEN 'running' THEN r.lease_expires_at < 'infinity'
         WHEN 'paused' THEN r.paused_until < 'infinity'
         WHEN 'cancelling' THEN r.drain_until < 'infinity'
         WHEN 'waiting' THEN CASE r.waiting_on
             WHEN 'tool' THEN r.available_at < 'infinity'
             WHEN 'child' THEN EXISTS (SELECT FROM agent.runs c WHERE c.parent_run_id = r.id)
             ELSE EXISTS (SELECT FROM agent.interrupts i
                           WHERE i.run_id = r.id AND i.status = 'open' AND i.expires_at < 'infinity' AND i.kind = r.waiting_on)
           END
       END, false);

-- i08_due_run_was_told --
-- Why: 02 §3. The transaction that makes work available writes its hint (pruned a day after it was published).
-- Locks: none.  Clock: database.
-- Result: queued runs nobody was told of since they were queued.
SELECT 'run ' || r.id AS subject, 'queued at ' || q.at || ' without an outbox row' AS detail
  FROM agent.runs r
  CROSS JOIN LATERAL (SELECT max(e.at) AS at FROM agent.run_events e
                       WHERE e.run_id = r.id
                         AND e.type IN ('run.requested', 'run.deferred', 'run.parked', 'run.woken', 'run.lease_expired',
                                        'run.rerouted', 'run.resumed', 'run.repaired')) AS q
 WHERE r.status = 'queued'
   AND q.at > clock_timestamp() - interval '23 hours'
   AND NOT EXISTS (SELECT FROM agent.outbox o
                    WHERE o.run_id = r.id
                      AND o.event_type IN ('agent.run.requested.v1', 'agent.run.resumable.v1')
                      AND o.created_at >= q.at - interval '1 second');

-- i16_bound_versions_exist --
-- Why: I16. A run goes on under what it was bound to, so that must be kept.
-- Locks: none.  Clock: none.
-- Result: live runs bound to a catalog or manifest that isn't there.
SELECT 'run ' || r.id AS subject, 'bound to ' || b.kind || ' ' || b.fingerprint || ', which is not stored' AS detail
  FROM agent.runs r
  CROSS JOIN LATERAL (VALUES ('catalog', r.catalog_fp), ('manifest', r.manifest_fp)) AS b (kind, fingerprint)
 WHERE b.fingerprint IS NOT NULL
   AND r.finished_at IS NULL
   AND NOT EXISTS (SELECT FROM agent.catalogs c WHERE b.kind = 'catalog' AND c.fingerprint = b.fingerprint)
   AND NOT EXISTS (SELECT FROM agent.manifests m WHERE b.kind = 'manifest' AND m.fingerprint = b.fingerprint);

-- i17_asked_once --
-- Why: I17. A question asked again is the same question; a run asks one thing at a time.
-- Locks: none.  Clock: none.
-- Result: doubled questions.
SELECT 'run ' || run_id AS subject, count(*) || ' interrupts of ' || kind || ' ' || index || '/' || n AS detail
  FROM agent.interrupts GROUP BY run_id, kind, index, n HAVING count(*) > 1
UNION ALL
SELECT 'run ' || run_id, count(*) || ' open interrupts' FROM agent.interrupts WHERE status = 'open' GROUP BY run_id HAVING count(*) > 1;

-- i17_end_asks_nothing --
-- Why: I06, I17. A finished run asks nobody anything.
-- Locks: none.  Clock: none.
-- Result: open interrupts of finished runs.
SELECT 'interrupt ' || i.id AS subject, 'open, and run ' || r.id || ' ended as ' || r.status AS detail
  FROM agent.interrupts i
  JOIN agent.runs r ON r.id = i.run_id
 WHERE i.status = 'open'
   AND r.finished_at IS NOT NULL;

-- i21_one_final_message --
-- Why: I21. An end, its event and its final message are one transaction.
-- Locks: none.  Clock: none.
-- Result: runs with one and not the other, or several.
SELECT 'run ' || r.id AS subject, r.status || ' with ' || m.messages || ' final messages and ' || e.ends || ' final events' AS detail
  FROM agent.runs r
  CROSS JOIN LATERAL (SELECT count(*) AS messages FROM agent.messages m WHERE m.run_id = r.id AND m.author = 'assistant') AS m
  CROSS JOIN LATERAL (SELECT count(*) AS ends FROM agent.run_events v WHERE v.run_id = r.id AND v.type = 'run.finalized') AS e
 WHERE m.messages <> CASE WHEN r.finished_at IS NULL OR r.mode = 'simulation' THEN 0 ELSE 1 END
    OR (e.ends <> CASE WHEN r.finished_at IS NULL THEN 0 ELSE 1 END
        AND EXISTS (SELECT FROM agent.run_events v WHERE v.run_id = r.id));

-- i27_tenants_agree --
-- Why: I27. What belongs to a run belongs to its tenant.
-- Locks: none.  Clock: none.
-- Result: rows of another tenant than their run.
SELECT DISTINCT o.what || ' of run ' || o.run_id AS subject, 'of tenant ' || o.tenant_id || ', the run is of ' || r.tenant_id AS detail
  FROM (SELECT 'event' AS what, run_id, tenant_id FROM agent.run_events
        UNION ALL SELECT 'payload', run_id, tenant_id FROM agent.run_event_payloads
        UNION ALL SELECT 'outbox row', run_id, tenant_id FROM agent.outbox
        UNION ALL SELECT 'finalization', run_id, tenant_id FROM agent.finalizations
        UNION ALL SELECT 'interrupt', run_id, tenant_id FROM agent.interrupts
        UNION ALL SELECT 'action', run_id, tenant_id FROM agent.actions
        UNION ALL SELECT 'vote', run_id, tenant_id FROM agent.approval_votes
        UNION ALL SELECT 'grant', run_id, tenant_id FROM agent.grants
        UNION ALL SELECT 'grant use', run_id, tenant_id FROM agent.grant_uses
        UNION ALL SELECT 'approval link', run_id, tenant_id FROM agent.approval_links
        UNION ALL SELECT 'effect', run_id, tenant_id FROM agent.effects
        UNION ALL SELECT 'effect attempt', run_id, tenant_id FROM agent.effect_attempts
        UNION ALL SELECT 'model call', run_id, tenant_id FROM agent.model_calls
        UNION ALL SELECT 'message', run_id, tenant_id FROM agent.messages WHERE run_id IS NOT NULL
        UNION ALL SELECT 'checkpoint', run_id, tenant_id FROM langgraph.checkpoints
        UNION ALL SELECT 'checkpoint write', run_id, tenant_id FROM langgraph.writes) AS o
  JOIN agent.runs r ON r.id = o.run_id
 WHERE r.tenant_id <> o.tenant_id
UNION ALL
SELECT 'run ' || r.id, 'of tenant ' || r.tenant_id || ' in conversation ' || c.id || ' of ' || c.tenant_id
  FROM agent.runs r
  JOIN agent.conversations c ON c.id = r.conversation_id
 WHERE c.tenant_id <> r.tenant_id;

-- i31_fired_once --
-- Why: I31. Each due time of a reminder fires once: a firing has its message, a message its firing.
-- Locks: none.  Clock: none.
-- Result: what has no counterpart, or several.
SELECT 'reminder ' || f.reminder_id AS subject, 'fired at ' || f.occurrence || ' without its message' AS detail
  FROM agent.firings f
  LEFT JOIN agent.messages m ON m.id = f.message_id AND m.author = 'reminder'
 WHERE f.status = 'fired' AND m.id IS NULL
UNION ALL
SELECT 'reminder ' || reminder_id, count(*) || ' firings at ' || occurrence
  FROM agent.firings GROUP BY reminder_id, occurrence HAVING count(*) > 1
UNION ALL
SELECT 'message ' || m.id, 'tells a reminder and belongs to ' || count(f.reminder_id) || ' firings'
  FROM agent.messages m
  LEFT JOIN agent.firings f ON f.message_id = m.id AND f.status = 'fired'
 WHERE m.author = 'reminder'
 GROUP BY m.id
HAVING count(f.reminder_id) <> 1;

-- conversation_holder_is_at_work --
-- Why: 02 §9. Who holds a conversation is a live run of it that needs no person; who runs, holds it.
-- Locks: none.  Clock: none.
-- Result: conversations held by another, and running runs that don't hold theirs.
SELECT 'conversation ' || c.id AS subject, 'held by run ' || r.id || ', which is ' || r.status || coalesce(' on ' || r.waiting_on, '') AS detail
  FROM agent.conversations c
  JOIN agent.runs r ON r.id = c.holder_run_id
 WHERE r.conversation_id <> c.id
    OR r.finished_at IS NOT NULL
    OR r.status = 'paused'
    OR (r.status = 'waiting' AND r.waiting_on IN ('approval', 'input', 'reconcile', 'version'))
UNION ALL
SELECT 'run ' || r.id, 'running, and its conversation is held by ' || coalesce(c.holder_run_id::text, 'nobody')
  FROM agent.runs r
  JOIN agent.conversations c ON c.id = r.conversation_id
 WHERE r.status = 'running'
   AND c.holder_run_id IS DISTINCT FROM r.id;

-- conversation_is_in_order --
-- Why: 05. Messages of a conversation are numbered without gaps, and its row knows the next number.
-- Locks: none.  Clock: none.
-- Result: conversations where that fails.
SELECT 'conversation ' || c.id AS subject,
       m.messages || ' messages up to ' || m.last || ', the next number is ' || c.next_seq AS detail
  FROM agent.conversations c
  JOIN (SELECT conversation_id, count(*) AS messages, max(seq) AS last FROM agent.messages GROUP BY conversation_id) AS m
    ON m.conversation_id = c.id
 WHERE m.messages <> m.last
    OR c.next_seq <> m.last + 1;

-- chains --
-- Why: I20, I04, I06. All events of all runs with their payloads, heads and newest anchors, in order.
-- Locks: none.  Clock: none.
-- Result: one row an event, at least one a run.
SELECT r.id AS run_id, r.status, r.revision, r.event_seq AS head_seq, r.event_head, e.seq, e.id, e.type, e.schema_version,
       e.actor, e.at, e.causation_id, e.correlation_id, e.payload_hash, e.prev_hash, e.hash, p.salt, p.payload,
       a.seq AS anchor_seq, a.hash AS anchor_hash
  FROM agent.runs r
  LEFT JOIN agent.run_events e ON e.run_id = r.id
  LEFT JOIN agent.run_event_payloads p ON p.run_id = e.run_id AND p.seq = e.seq
  LEFT JOIN LATERAL (SELECT c.seq, c.hash FROM agent.chain_anchors c WHERE c.run_id = r.id ORDER BY c.seq DESC LIMIT 1) AS a ON true
 WHERE r.id > :after
   AND r.id <= :upto
 ORDER BY r.id, e.seq;

-- next_runs_to_verify --
-- Why: the bounded walk of the reconciler over all chains.
-- Locks: none.  Clock: none.
-- Result: the last of the next :batch run ids and how many they are.
SELECT max(n.id::text)::uuid AS upto, count(*) AS runs
  FROM (SELECT id FROM agent.runs WHERE id > :after ORDER BY id LIMIT :batch) AS n;
