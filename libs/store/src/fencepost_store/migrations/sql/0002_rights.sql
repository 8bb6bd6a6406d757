-- Rights: each service has a Postgres role; grants are by column; row-level security is forced.
-- Roles are of the cluster, so they may exist already; their passwords are set by `fencepost migrate`.
DO $$
DECLARE r text;
BEGIN
    FOREACH r IN ARRAY ARRAY['fencepost_api', 'fencepost_worker', 'fencepost_gateway', 'fencepost_reconciler'] LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) THEN
                EXECUTE format('CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS', r);
            END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;  -- another database migrated just now
        END;
    END LOOP;
END $$;

REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA agent TO fencepost_api, fencepost_worker, fencepost_gateway, fencepost_reconciler;
GRANT USAGE ON SCHEMA langgraph TO fencepost_worker, fencepost_reconciler;
GRANT USAGE ON SCHEMA app TO fencepost_api, fencepost_gateway, fencepost_reconciler;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA agent FROM PUBLIC;
GRANT EXECUTE ON FUNCTION agent.tenant(), agent.sized(bytea),
    agent.event_hash(uuid, bigint, uuid, text, int, text, timestamptz, uuid, uuid, bytea, bytea),
    agent.check_run_transition(), agent.check_finalized(), agent.refuse_change(), agent.only_revoke()
    TO fencepost_api, fencepost_worker, fencepost_gateway, fencepost_reconciler;

-- The log is insert-only for every service.
GRANT SELECT, INSERT ON agent.run_events, agent.run_event_payloads
    TO fencepost_api, fencepost_worker, fencepost_gateway, fencepost_reconciler;
GRANT SELECT ON agent.run_transitions TO fencepost_api, fencepost_worker, fencepost_gateway, fencepost_reconciler;
GRANT INSERT ON agent.outbox, agent.feed TO fencepost_api, fencepost_worker, fencepost_gateway, fencepost_reconciler;
GRANT SELECT, INSERT ON agent.inbox TO fencepost_api, fencepost_worker, fencepost_gateway, fencepost_reconciler;
GRANT SELECT ON agent.catalogs, agent.manifests, agent.definitions, agent.workers
    TO fencepost_api, fencepost_worker, fencepost_gateway, fencepost_reconciler;

-- api
GRANT SELECT ON agent.runs, agent.conversations, agent.messages, agent.interrupts, agent.actions, agent.effects,
    agent.effect_attempts, agent.finalizations, agent.model_calls, agent.budgets, agent.settings, agent.principals,
    agent.artifacts, agent.state_events, agent.state_snapshots, agent.feed, agent.firings, agent.chain_anchors
    TO fencepost_api;
GRANT INSERT ON agent.runs, agent.conversations, agent.messages, agent.finalizations, agent.budgets, agent.settings,
    agent.principals, agent.artifacts TO fencepost_api;
GRANT UPDATE (status, waiting_on, stop, pause_asked, revision, next_counts, wakes, available_at, rank, deadline_at,
    deadline_left, paused_until, drain_until, event_seq, event_head, finished_at) ON agent.runs TO fencepost_api;
GRANT UPDATE (title, holder_run_id, next_seq, updated_at) ON agent.conversations TO fencepost_api;
GRANT UPDATE (status, resolution, resolution_hash, resolution_key, resolved_by, resolved_at) ON agent.interrupts TO fencepost_api;
GRANT UPDATE (status, decision, decided_by, decided_at, note) ON agent.actions TO fencepost_api;
GRANT UPDATE (body, updated_at) ON agent.settings TO fencepost_api;
GRANT UPDATE (roles, seen_at) ON agent.principals TO fencepost_api;

-- worker
GRANT SELECT ON agent.runs, agent.conversations, agent.messages, agent.interrupts, agent.actions, agent.effects,
    agent.effect_attempts, agent.finalizations, agent.model_calls, agent.budgets, agent.settings, agent.principals,
    agent.artifacts, agent.state_events, agent.state_snapshots, agent.outbox TO fencepost_worker;
GRANT INSERT ON agent.finalizations, agent.messages, agent.model_calls, agent.budgets,
    agent.manifests, agent.definitions, agent.workers, agent.tenant_turns, agent.poison_records TO fencepost_worker;
-- A worker asks; it can't answer itself, nor say when it asked: the gateway relies on both.
GRANT INSERT (id, run_id, tenant_id, user_id, kind, index, n, indexes, question, candidates, input_schema, preview,
    change, risk, expires_at) ON agent.interrupts TO fencepost_worker;
GRANT UPDATE (module, status, waiting_on, pause_asked, rerouted, revision, attempt, next_counts, progress,
    attempt_progress, lease_owner, lease_expires_at, claim_nonce, available_at, deadline_at, deadline_left, paused_until,
    graph_version, manifest_fp, catalog_fp, event_seq, event_head, started_at, finished_at) ON agent.runs TO fencepost_worker;
GRANT UPDATE (holder_run_id, next_seq, updated_at) ON agent.conversations TO fencepost_worker;
GRANT UPDATE (status) ON agent.interrupts TO fencepost_worker;
GRANT UPDATE (interrupt_id, status) ON agent.actions TO fencepost_worker;
GRANT UPDATE (state, answer, error, input_tokens, output_tokens, cost, late, settled_at) ON agent.model_calls TO fencepost_worker;
GRANT UPDATE (model_calls, input_tokens, output_tokens, cost, reserved) ON agent.budgets TO fencepost_worker;
GRANT SELECT, UPDATE (boot_id, modules, versions, started_at, alive_until), DELETE ON agent.workers TO fencepost_worker;
GRANT SELECT, UPDATE (served_at) ON agent.tenant_turns TO fencepost_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON langgraph.checkpoints, langgraph.writes TO fencepost_worker;

-- tool-gateway: of runs only the chain head and `wakes`, enough to lock the row
GRANT SELECT ON agent.runs, agent.interrupts, agent.actions, agent.effects, agent.effect_attempts, agent.settings,
    agent.principals, agent.budgets, agent.artifacts, agent.state_events, agent.state_snapshots TO fencepost_gateway;
GRANT INSERT ON agent.actions, agent.effects, agent.effect_attempts, agent.catalogs, agent.state_events TO fencepost_gateway;
GRANT UPDATE (event_seq, event_head, wakes) ON agent.runs TO fencepost_gateway;
GRANT UPDATE (status, token_spent_at) ON agent.actions TO fencepost_gateway;
GRANT UPDATE (status) ON agent.interrupts TO fencepost_gateway;
GRANT UPDATE (state, n, arguments_hash, request, result, result_invalid, error, attempts, settle_after, next_look_at, updated_at)
    ON agent.effects TO fencepost_gateway;
GRANT UPDATE (state, outcome, observations, settled_at, settled_by) ON agent.effect_attempts TO fencepost_gateway;
GRANT UPDATE (actions, reserved) ON agent.budgets TO fencepost_gateway;

-- reconciler
GRANT SELECT ON ALL TABLES IN SCHEMA agent TO fencepost_reconciler;
GRANT SELECT ON langgraph.checkpoints, langgraph.writes TO fencepost_reconciler;
GRANT INSERT ON agent.finalizations, agent.messages, agent.firings, agent.chain_anchors, agent.poison_records,
    agent.conversations TO fencepost_reconciler;
GRANT UPDATE (status, waiting_on, stop, pause_asked, revision, next_counts, wakes, lease_owner, lease_expires_at,
    claim_nonce, available_at, deadline_at, deadline_left, paused_until, drain_until, event_seq, event_head, finished_at)
    ON agent.runs TO fencepost_reconciler;
GRANT UPDATE (holder_run_id, next_seq, updated_at) ON agent.conversations TO fencepost_reconciler;
GRANT UPDATE (status) ON agent.interrupts TO fencepost_reconciler;
GRANT UPDATE (status) ON agent.actions TO fencepost_reconciler;
GRANT UPDATE (state, next_look_at, updated_at) ON agent.effects TO fencepost_reconciler;
GRANT UPDATE (state, outcome, observations, settled_at, settled_by) ON agent.effect_attempts TO fencepost_reconciler;
GRANT UPDATE (state, settled_at) ON agent.model_calls TO fencepost_reconciler;
GRANT UPDATE (relay_owner, relay_until, attempts, published_at, parked_at, park_reason), DELETE ON agent.outbox TO fencepost_reconciler;
GRANT DELETE ON agent.inbox, agent.feed TO fencepost_reconciler;

-- Row-level security: api and gateway see one tenant a transaction; worker and reconciler work across tenants
-- by the statements of sweeps.sql. A table owner that is no superuser is held too, hence its own policy.
DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['agent.runs', 'agent.run_events', 'agent.run_event_payloads', 'agent.chain_anchors',
        'agent.finalizations', 'agent.interrupts', 'agent.actions', 'agent.effects', 'agent.effect_attempts',
        'agent.model_calls', 'agent.budgets', 'agent.conversations', 'agent.messages', 'agent.feed', 'agent.outbox',
        'agent.settings', 'agent.principals', 'agent.artifacts', 'agent.state_events', 'agent.state_snapshots',
        'agent.firings', 'langgraph.checkpoints', 'langgraph.writes'] LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY tenant_only ON %s TO fencepost_api, fencepost_gateway
                        USING (tenant_id = agent.tenant()) WITH CHECK (tenant_id = agent.tenant())', t);
        EXECUTE format('CREATE POLICY across_tenants ON %s TO fencepost_worker, fencepost_reconciler
                        USING (true) WITH CHECK (true)', t);
        EXECUTE format('CREATE POLICY owner_all ON %s TO CURRENT_USER USING (true) WITH CHECK (true)', t);
    END LOOP;
END $$;

-- The one thing the gateway must know before it can name a tenant: whose run the fence speaks of.
CREATE FUNCTION agent.tenant_of_run(wanted uuid) RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, agent
AS $$ SELECT tenant_id FROM agent.runs WHERE id = wanted $$;
REVOKE EXECUTE ON FUNCTION agent.tenant_of_run(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION agent.tenant_of_run(uuid) TO fencepost_gateway, fencepost_api;

-- What streams poll for all tenants at once: numbers only, and only for who names run and tenant, or tenant and user.
CREATE FUNCTION agent.run_heads(ids uuid[], tenants uuid[])
RETURNS TABLE (run_id uuid, event_seq bigint, done boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, agent
AS $$
SELECT r.id, r.event_seq, r.finished_at IS NOT NULL
  FROM unnest(ids, tenants) AS w (id, tenant_id)
  JOIN agent.runs r ON r.id = w.id AND r.tenant_id = w.tenant_id
$$;
CREATE FUNCTION agent.feed_heads(tenants uuid[], users text[])
RETURNS TABLE (tenant_id uuid, user_id text, xid xid8, id bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, agent
AS $$
SELECT w.tenant_id, w.user_id, f.xid, f.id
  FROM unnest(tenants, users) AS w (tenant_id, user_id)
 CROSS JOIN LATERAL (SELECT n.xid, n.id
                       FROM agent.feed n
                      WHERE n.tenant_id = w.tenant_id AND n.user_id = w.user_id
                        AND n.xid < pg_snapshot_xmin(pg_current_snapshot())
                      ORDER BY n.xid DESC, n.id DESC
                      LIMIT 1) AS f
$$;
REVOKE EXECUTE ON FUNCTION agent.run_heads(uuid[], uuid[]), agent.feed_heads(uuid[], text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION agent.run_heads(uuid[], uuid[]), agent.feed_heads(uuid[], text[]) TO fencepost_api;

-- Month partitions of the log, made ahead; the DEFAULT partition should stay empty.
CREATE FUNCTION agent.ensure_partitions(ahead int) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, agent AS $$
DECLARE
    month timestamptz := date_trunc('month', clock_timestamp(), 'UTC');
    name text;
    made integer := 0;
    t text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('fencepost.partitions'));
    FOR i IN 0..ahead LOOP
        FOREACH t IN ARRAY ARRAY['run_events', 'run_event_payloads'] LOOP
            name := t || '_' || to_char(month AT TIME ZONE 'UTC', 'YYYYMM');
            IF to_regclass('agent.' || name) IS NULL THEN
                EXECUTE format('CREATE TABLE agent.%I PARTITION OF agent.%I FOR VALUES FROM (%L) TO (%L)', name, t,
                               agent.uuid7_floor(month), agent.uuid7_floor(month + interval '1 month'));
                made := made + 1;
            END IF;
        END LOOP;
        month := month + interval '1 month';
    END LOOP;
    RETURN made;
END $$;
REVOKE EXECUTE ON FUNCTION agent.ensure_partitions(int), agent.uuid7_floor(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION agent.ensure_partitions(int) TO fencepost_reconciler;
SELECT agent.ensure_partitions(2);

-- A frozen process must not block its own take-over: each under half a lease.
DO $$
DECLARE r text;
BEGIN
    FOREACH r IN ARRAY ARRAY['fencepost_api', 'fencepost_worker', 'fencepost_gateway', 'fencepost_reconciler'] LOOP
        BEGIN
            EXECUTE format('ALTER ROLE %I SET lock_timeout = ''2s''', r);
            EXECUTE format('ALTER ROLE %I SET statement_timeout = ''2400ms''', r);
            EXECUTE format('ALTER ROLE %I SET idle_in_transaction_session_timeout = ''2400ms''', r);
        EXCEPTION WHEN OTHERS THEN
            IF SQLERRM NOT LIKE '%concurrently updated%' THEN RAISE; END IF;  -- another database sets the same now
        END;
    END LOOP;
END $$;
