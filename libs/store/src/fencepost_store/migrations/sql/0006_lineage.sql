-- A run made from another one: `retry` and `fork` share its lineage (root_run_id, budget), `simulation` has its own.
-- `reference_at` is the instant its words mean ("tomorrow"); NULL: its creation.
ALTER TABLE agent.runs
    ADD COLUMN origin_run_id uuid,
    ADD COLUMN origin_kind   text,
    ADD COLUMN origin_seq    bigint,
    ADD COLUMN substitutes   jsonb,
    ADD COLUMN reference_at  timestamptz,
    ADD COLUMN simulation_id uuid;
ALTER TABLE agent.runs
    ADD CONSTRAINT runs_origin_kind_check CHECK (origin_kind IN ('retry', 'fork', 'simulation')),
    ADD CONSTRAINT runs_origin_names_run_check CHECK ((origin_kind IS NULL) = (origin_run_id IS NULL)),
    ADD CONSTRAINT runs_simulation_has_origin_check
        CHECK (mode <> 'simulation' OR origin_kind = 'simulation') NOT VALID;
CREATE INDEX runs_by_root_idx ON agent.runs (root_run_id) WHERE origin_run_id IS NOT NULL;
CREATE INDEX runs_by_simulation_idx ON agent.runs (simulation_id, id) WHERE simulation_id IS NOT NULL;

-- Many real runs of a module, simulated under the same substitutes: "what would v2 have done?"
CREATE TABLE agent.simulations (
    id              uuid PRIMARY KEY,
    tenant_id       uuid NOT NULL,
    user_id         text NOT NULL,
    module          text NOT NULL,
    substitutes     jsonb NOT NULL,
    runs            integer NOT NULL,
    idempotency_key text NOT NULL,
    request_hash    text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT simulations_one_per_idempotency_key UNIQUE (tenant_id, user_id, idempotency_key)
);
ALTER TABLE agent.simulations ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent.simulations FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON agent.simulations TO fencepost_api, fencepost_gateway
    USING (tenant_id = agent.tenant()) WITH CHECK (tenant_id = agent.tenant());
CREATE POLICY across_tenants ON agent.simulations TO fencepost_worker, fencepost_reconciler USING (true) WITH CHECK (true);
CREATE POLICY owner_all ON agent.simulations TO CURRENT_USER USING (true) WITH CHECK (true);
GRANT SELECT, INSERT ON agent.simulations TO fencepost_api;
GRANT SELECT ON agent.simulations TO fencepost_reconciler;

-- A simulation works in a conversation of its own, which nobody is shown and no live run waits for.
ALTER TABLE agent.conversations DROP CONSTRAINT conversations_purpose_check;
ALTER TABLE agent.conversations ADD CONSTRAINT conversations_purpose_check
    CHECK (purpose IN ('chat', 'reminders', 'simulation'));

-- A simulation changes nothing in the world: whoever asks, and whatever code asks for it.
CREATE FUNCTION agent.refuse_simulation() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, agent AS $$
BEGIN
    IF (SELECT r.mode FROM agent.runs r WHERE r.id = NEW.run_id) = 'simulation' THEN
        RAISE EXCEPTION 'run %: a simulation writes no %', NEW.run_id, TG_TABLE_NAME
            USING ERRCODE = 'FP003', CONSTRAINT = 'simulation_touches_nothing';
    END IF;
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION agent.refuse_simulation() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION agent.refuse_simulation()
    TO fencepost_api, fencepost_worker, fencepost_gateway, fencepost_reconciler;
CREATE TRIGGER interrupts_refuse_simulation BEFORE INSERT ON agent.interrupts
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_simulation();
CREATE TRIGGER actions_refuse_simulation BEFORE INSERT ON agent.actions
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_simulation();
CREATE TRIGGER effects_refuse_simulation BEFORE INSERT ON agent.effects
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_simulation();
CREATE TRIGGER effect_attempts_refuse_simulation BEFORE INSERT ON agent.effect_attempts
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_simulation();
CREATE TRIGGER messages_refuse_simulation BEFORE INSERT ON agent.messages
    FOR EACH ROW WHEN (NEW.run_id IS NOT NULL) EXECUTE FUNCTION agent.refuse_simulation();

-- Business rows name the effect that wrote them, and that names its run.
CREATE FUNCTION agent.refuse_simulated_row() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, agent AS $$
DECLARE key text := to_jsonb(NEW) ->> TG_ARGV[0];
BEGIN
    IF key ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:'
       AND (SELECT r.mode FROM agent.runs r WHERE r.id = CAST(split_part(key, ':', 1) AS uuid)) = 'simulation' THEN
        RAISE EXCEPTION '%: a simulation writes no %', key, TG_TABLE_NAME
            USING ERRCODE = 'FP003', CONSTRAINT = 'simulation_touches_nothing';
    END IF;
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION agent.refuse_simulated_row() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION agent.refuse_simulated_row() TO fencepost_gateway, fencepost_reconciler;

-- Called after each migration of a module: no table of `app` is without its guard.
CREATE FUNCTION agent.guard_app_tables() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    t record;
    made integer := 0;
BEGIN
    FOR t IN SELECT c.relname, a.attname
               FROM pg_class c
               JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'app'
               JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped
                                  AND a.attname IN ('origin_effect_key', 'changed_by_effect')
              WHERE c.relkind IN ('r', 'p')
                AND NOT c.relispartition
                AND NOT EXISTS (SELECT FROM pg_trigger g
                                 WHERE g.tgrelid = c.oid AND g.tgname = 'refuse_simulated_' || a.attname) LOOP
        EXECUTE format('CREATE TRIGGER %I BEFORE INSERT OR UPDATE ON app.%I FOR EACH ROW '
                       'EXECUTE FUNCTION agent.refuse_simulated_row(%L)',
                       'refuse_simulated_' || t.attname, t.relname, t.attname);
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;
REVOKE EXECUTE ON FUNCTION agent.guard_app_tables() FROM PUBLIC;
SELECT agent.guard_app_tables();

-- Erasure: what a run's events, checkpoints, answers and messages say is removed, that they were there is kept.
-- Only the owner may call it, and only inside it may a payload be deleted; the caller appends `erased`.
CREATE FUNCTION agent.refuse_change_unless_erasing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nullif(current_setting('fencepost.erasing', true), '') = OLD.run_id::text
       AND ((TG_OP = 'UPDATE') = (TG_TABLE_NAME = 'finalizations')) THEN
        IF TG_OP = 'DELETE' THEN
            RETURN OLD;
        END IF;
        IF (to_jsonb(NEW) - ARRAY['explanation', 'evidence', 'left_undone'])
           = (to_jsonb(OLD) - ARRAY['explanation', 'evidence', 'left_undone']) THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION '% of % is refused: this history is append-only', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'FP002', CONSTRAINT = TG_TABLE_NAME || '_append_only';
END $$;
REVOKE EXECUTE ON FUNCTION agent.refuse_change_unless_erasing() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION agent.refuse_change_unless_erasing()
    TO fencepost_api, fencepost_worker, fencepost_gateway, fencepost_reconciler;
DROP TRIGGER run_event_payloads_append_only ON agent.run_event_payloads;
CREATE TRIGGER run_event_payloads_append_only BEFORE UPDATE OR DELETE ON agent.run_event_payloads
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_change_unless_erasing();
DROP TRIGGER finalizations_append_only ON agent.finalizations;
CREATE TRIGGER finalizations_append_only BEFORE UPDATE OR DELETE ON agent.finalizations
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_change_unless_erasing();

CREATE FUNCTION agent.erase_run(wanted uuid, by_whom text, why text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, agent AS $$
DECLARE
    erased bigint;
    said text;
BEGIN
    PERFORM FROM agent.runs r WHERE r.id = wanted AND r.finished_at IS NOT NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'run % is not there, or has not ended', wanted
            USING ERRCODE = 'FP001', CONSTRAINT = 'erase_only_finished_runs';
    END IF;
    PERFORM set_config('fencepost.erasing', wanted::text, true);
    DELETE FROM agent.run_event_payloads WHERE run_id = wanted;
    GET DIAGNOSTICS erased = ROW_COUNT;
    UPDATE agent.finalizations SET explanation = '', evidence = '{}', left_undone = '[]' WHERE run_id = wanted;
    PERFORM set_config('fencepost.erasing', '', true);
    DELETE FROM langgraph.writes WHERE run_id = wanted;
    DELETE FROM langgraph.checkpoints WHERE run_id = wanted;
    UPDATE agent.model_calls SET answer = NULL, error = NULL WHERE run_id = wanted;
    UPDATE agent.interrupts
       SET question = '', candidates = '[]', preview = NULL, change = NULL, input_schema = NULL,
           resolution = CASE WHEN resolution IS NULL THEN NULL ELSE CAST('{}' AS jsonb) END
     WHERE run_id = wanted;
    UPDATE agent.actions SET arguments = '{}', preview = '{}', change = '{}', precondition = '{}', note = NULL WHERE run_id = wanted;
    UPDATE agent.effects SET request = '', result = NULL, error = NULL WHERE run_id = wanted;
    UPDATE agent.effect_attempts SET request = '', outcome = NULL, observations = '[]' WHERE run_id = wanted;
    SELECT m.text INTO said FROM agent.messages m WHERE m.run_id = wanted AND m.author = 'user' ORDER BY m.seq LIMIT 1;
    UPDATE agent.conversations c SET title = ''
      FROM agent.runs r
     WHERE r.id = wanted AND c.id = r.conversation_id AND c.title = left(said, 80);
    UPDATE agent.messages SET text = '', artifacts = '[]' WHERE run_id = wanted;
    UPDATE agent.runs SET input = '{"text": ""}', metadata = '{}' WHERE id = wanted;
    INSERT INTO agent.audit (actor, what, detail)
    VALUES (by_whom, 'run.erased', jsonb_build_object('run_id', wanted, 'payloads', erased, 'reason', why));
    RETURN erased;
END $$;
REVOKE EXECUTE ON FUNCTION agent.erase_run(uuid, text, text) FROM PUBLIC;
