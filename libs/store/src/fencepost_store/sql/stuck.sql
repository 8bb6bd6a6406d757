-- stands_of_runs --
-- Why: how each live run of a tenant stands, with all that may keep it from moving, in one statement.
-- Locks: none.  Clock: database.
-- Result: a row a live run, by id; nothing of what was said or asked for in it.
SELECT r.id, r.module, r.status, r.waiting_on, r.stop, r.pause_asked, r.revision, r.attempt, r.max_attempts, r.progress,
       r.user_id, r.available_at, r.lease_owner, r.lease_expires_at, r.paused_until, r.drain_until, r.created_at,
       nullif(r.deadline_at, 'infinity') AS deadline_at, nullif(r.graph_version, '') AS graph, r.conversation_id,
       clock_timestamp() AS now,
       EXISTS (SELECT FROM agent.workers w
                WHERE w.alive_until > clock_timestamp() AND r.module = ANY (w.modules)
                  AND (r.graph_version = '' OR r.graph_version = ANY (w.versions))) AS served,
       EXISTS (SELECT FROM agent.workers w
                WHERE w.alive_until > clock_timestamp() AND r.module = ANY (w.modules)) AS module_served,
       r.lease_owner IS NOT NULL
       AND EXISTS (SELECT FROM agent.workers w
                    WHERE w.slot || ':' || w.boot_id = r.lease_owner AND w.alive_until > clock_timestamp()) AS owner_alive,
       m.at AS moved_at, m.actor AS moved_by,
       CASE m.type WHEN 'run.deferred' THEN convert_from(p.payload, 'UTF8')::jsonb ->> 'reason' END AS moved_why,
       (SELECT c.holder_run_id FROM agent.conversations c
         WHERE c.id = r.conversation_id AND c.holder_run_id <> r.id) AS holder,
       (SELECT e.id FROM agent.runs e
         WHERE r.status = 'queued' AND e.conversation_id = r.conversation_id AND e.status = 'queued' AND e.id < r.id
         ORDER BY e.id LIMIT 1) AS before,
       (SELECT jsonb_build_object('id', i.id, 'kind', i.kind, 'risk', i.risk, 'asked_of', i.user_id,
                                  'expires_at', i.expires_at)
          FROM agent.interrupts i WHERE i.run_id = r.id AND i.status = 'open') AS question,
       (SELECT coalesce(jsonb_agg(jsonb_build_object(
                   'effect_key', f.effect_key, 'tool', f.tool, 'state', f.state, 'ends_at', a.attempt_ends_at,
                   'looked_at', f.next_look_at) ORDER BY f.index), '[]')
          FROM agent.effects f
          LEFT JOIN agent.effect_attempts a ON a.effect_key = f.effect_key AND a.state = 'started'
         WHERE f.run_id = r.id
           AND f.state IN ('started', 'accepted', 'unknown', 'needs_human', 'compensating')) AS effects,
       (SELECT max(c.ends_at) FROM agent.model_calls c WHERE c.run_id = r.id AND c.state = 'started') AS model_call_ends_at,
       (SELECT count(*) FROM agent.runs c WHERE c.parent_run_id = r.id AND c.finished_at IS NULL) AS children,
       CASE WHEN r.status = 'queued' AND r.available_at <= clock_timestamp()
            THEN (SELECT count(*) FROM agent.runs o
                   WHERE o.status = 'queued' AND o.module = r.module AND o.rank < r.rank
                     AND o.available_at <= clock_timestamp()) ELSE 0 END AS ahead,
       CASE WHEN r.status = 'queued' AND r.available_at <= clock_timestamp()
            THEN agent.tenants_before(r.module, r.tenant_id) ELSE 0 END AS tenants_ahead
  FROM agent.runs r
  LEFT JOIN LATERAL (SELECT e.seq, e.at, e.actor, e.type FROM agent.run_events e
                      WHERE e.run_id = r.id AND e.type LIKE 'run.%' AND e.type <> 'run.bound'
                      ORDER BY e.seq DESC LIMIT 1) AS m ON true
  LEFT JOIN agent.run_event_payloads p ON p.run_id = r.id AND p.seq = m.seq AND m.type = 'run.deferred'
 WHERE r.finished_at IS NULL
   AND r.tenant_id = agent.tenant()
   AND (CAST(:run_id AS uuid) IS NULL OR r.id = CAST(:run_id AS uuid))
   AND r.id > :after
 ORDER BY r.id
 LIMIT :limit;

-- tenants_with_live_runs --
-- Why: an operator of the platform looks at all tenants, one at a time, each under its own row-level security.
-- Locks: none.  Clock: none.
-- Result: tenant ids.
SELECT tenant_id FROM agent.tenants_with_live_runs() AS t (tenant_id);

-- release_lease --
-- Why: an operator takes a run from an owner that doesn't move it; the revision fences that owner at once.
-- Locks: none new (the run's row is held).  Clock: database.
-- Result: the revision it has now, or NULL when it isn't held at this revision.
SELECT agent.release_lease(CAST(:run_id AS uuid), CAST(:revision AS bigint), :who, :why) AS revision;

-- expire_interrupt_now --
-- Why: an operator ends a question that nobody will answer, before its time.
-- Locks: the interrupt's row (the run's is held).  Clock: none.
-- Result: its kind, or no row when it isn't open.
UPDATE agent.interrupts SET status = 'expired' WHERE id = :id AND status = 'open' RETURNING kind;

-- continuation_of_run --
-- Why: who goes on from a handed-over run, and is somebody at it already?
-- Locks: none (the handed-over run's row is held).  Clock: none.
-- Result: a run that goes on from it and is live or came to a good end, if there is one.
SELECT id
  FROM agent.runs
 WHERE continues_run_id = :run_id
   AND (finished_at IS NULL OR status IN ('succeeded', 'partially_succeeded'))
 ORDER BY id
 LIMIT 1;
