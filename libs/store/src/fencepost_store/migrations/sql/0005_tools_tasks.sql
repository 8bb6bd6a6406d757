-- Pins of tools that others declare, and asynchronous tasks (design 02 §5). `pre`: the last release runs on under it.

-- What an OpenAPI document or an MCP server says of a tool, by the hash of it. The gateway writes down what it sees;
-- only an operator, by way of the api, accepts. Nobody else's text gets into a catalog without that.
CREATE TABLE agent.tool_pins (
    module       text NOT NULL,
    tool         text NOT NULL,
    fingerprint  text NOT NULL,
    source       text NOT NULL,
    declaration  text NOT NULL,
    status       text NOT NULL DEFAULT 'seen',
    seen_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    decided_at   timestamptz,
    decided_by   text,
    PRIMARY KEY (module, tool, fingerprint),
    CONSTRAINT tool_pins_status_check CHECK (status IN ('seen', 'accepted', 'replaced', 'revoked')),
    CONSTRAINT tool_pins_decided_by_somebody_check CHECK ((status = 'seen') = (decided_by IS NULL)
                                                          AND (decided_at IS NULL) = (decided_by IS NULL))
);
CREATE UNIQUE INDEX tool_pins_one_accepted ON agent.tool_pins (module, tool) WHERE status = 'accepted';
CREATE FUNCTION agent.check_pin_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR (to_jsonb(NEW) - '{status,last_seen_at,decided_at,decided_by}'::text[])
                           IS DISTINCT FROM (to_jsonb(OLD) - '{status,last_seen_at,decided_at,decided_by}'::text[]) THEN
        RAISE EXCEPTION '% of % is refused: what was seen never changes', TG_OP, TG_TABLE_NAME
            USING ERRCODE = 'FP002', CONSTRAINT = 'tool_pins_immutable';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER tool_pins_immutable BEFORE UPDATE OR DELETE ON agent.tool_pins
    FOR EACH ROW EXECUTE FUNCTION agent.check_pin_change();

-- A task that an asynchronous tool started. Its row is written with the attempt, before anything is sent, so that a
-- terminal event can come before the answer that names the task. The effect says what became of it.
CREATE TABLE agent.tasks (
    id              uuid PRIMARY KEY,
    effect_key      text NOT NULL REFERENCES agent.effects (effect_key),
    run_id          uuid NOT NULL REFERENCES agent.runs (id),
    tenant_id       uuid NOT NULL,
    tool            text NOT NULL,
    external_id     text,
    state           text NOT NULL DEFAULT 'starting',
    progress        jsonb,
    poll_at         timestamptz NOT NULL,
    polls           integer NOT NULL DEFAULT 0,
    expires_at      timestamptz NOT NULL,
    cancel_asked_at timestamptz,
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at        timestamptz,
    told_at         timestamptz,
    CONSTRAINT tasks_state_check CHECK (state IN ('starting', 'running', 'completed', 'failed', 'cancelled', 'unknown')),
    CONSTRAINT tasks_ended_iff_over_check CHECK ((ended_at IS NULL) = (state IN ('starting', 'running'))),
    CONSTRAINT tasks_one_per_effect UNIQUE (effect_key)
) WITH (fillfactor = 70);
CREATE INDEX tasks_poll_idx ON agent.tasks (poll_at) WHERE state IN ('starting', 'running');
CREATE INDEX tasks_untold_idx ON agent.tasks (ended_at) WHERE ended_at IS NOT NULL AND told_at IS NULL;
CREATE INDEX tasks_by_run_idx ON agent.tasks (run_id);

-- Over is for ever; a task that has a name keeps it.
CREATE FUNCTION agent.check_task_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.ended_at IS NOT NULL AND NEW.state <> OLD.state AND OLD.state <> 'unknown'
       OR NEW.state = 'starting' AND OLD.state <> 'starting'
       OR OLD.external_id IS NOT NULL AND NEW.external_id IS DISTINCT FROM OLD.external_id THEN
        RAISE EXCEPTION 'task %: % may not become %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'FP001', CONSTRAINT = 'tasks_transition_in_table';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER tasks_transition BEFORE UPDATE ON agent.tasks FOR EACH ROW EXECUTE FUNCTION agent.check_task_change();

REVOKE EXECUTE ON FUNCTION agent.check_pin_change(), agent.check_task_change() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION agent.check_pin_change() TO fencepost_gateway;
GRANT EXECUTE ON FUNCTION agent.check_task_change() TO fencepost_gateway, fencepost_reconciler;

GRANT SELECT ON agent.tool_pins TO fencepost_api, fencepost_gateway, fencepost_reconciler;
GRANT INSERT (module, tool, fingerprint, source, declaration), UPDATE (last_seen_at) ON agent.tool_pins TO fencepost_gateway;

GRANT SELECT ON agent.tasks TO fencepost_api, fencepost_worker, fencepost_gateway, fencepost_reconciler;
GRANT INSERT, UPDATE (external_id, state, progress, poll_at, cancel_asked_at, ended_at) ON agent.tasks TO fencepost_gateway;
GRANT UPDATE (poll_at, polls, told_at) ON agent.tasks TO fencepost_reconciler;

ALTER TABLE agent.tasks ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent.tasks FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON agent.tasks TO fencepost_api, fencepost_gateway
    USING (tenant_id = agent.tenant()) WITH CHECK (tenant_id = agent.tenant());
CREATE POLICY across_tenants ON agent.tasks TO fencepost_worker, fencepost_reconciler USING (true) WITH CHECK (true);
CREATE POLICY owner_all ON agent.tasks TO CURRENT_USER USING (true) WITH CHECK (true);

-- Whose task an event speaks of, before a tenant can be named.
CREATE FUNCTION agent.tenant_of_task(wanted uuid) RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, agent
AS $$ SELECT tenant_id FROM agent.tasks WHERE id = wanted $$;
REVOKE EXECUTE ON FUNCTION agent.tenant_of_task(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION agent.tenant_of_task(uuid) TO fencepost_gateway;

-- An operator's word on what was seen: accepted takes the place of what was accepted before; revoked takes it away.
-- False: there is no such declaration. Each decision is audited.
CREATE FUNCTION agent.decide_pin(of_module text, of_tool text, of_fingerprint text, wanted text, who text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, agent AS $$
DECLARE was text;
BEGIN
    IF wanted NOT IN ('accepted', 'revoked') OR coalesce(who, '') = '' THEN
        RAISE EXCEPTION 'a pin is accepted or revoked, by somebody' USING ERRCODE = '22023';
    END IF;
    PERFORM FROM agent.tool_pins p WHERE p.module = of_module AND p.tool = of_tool ORDER BY p.fingerprint FOR NO KEY UPDATE;
    SELECT p.status INTO was FROM agent.tool_pins p
     WHERE p.module = of_module AND p.tool = of_tool AND p.fingerprint = of_fingerprint;
    IF was IS NULL THEN RETURN false; END IF;
    IF was = wanted THEN RETURN true; END IF;
    IF wanted = 'accepted' THEN
        UPDATE agent.tool_pins p SET status = 'replaced', decided_at = clock_timestamp(), decided_by = who
         WHERE p.module = of_module AND p.tool = of_tool AND p.status = 'accepted';
    END IF;
    UPDATE agent.tool_pins p SET status = wanted, decided_at = clock_timestamp(), decided_by = who
     WHERE p.module = of_module AND p.tool = of_tool AND p.fingerprint = of_fingerprint;
    INSERT INTO agent.audit (actor, what, detail)
    VALUES (who, 'tool_pin.' || wanted, jsonb_build_object('module', of_module, 'tool', of_tool, 'fingerprint', of_fingerprint));
    RETURN true;
END $$;
REVOKE EXECUTE ON FUNCTION agent.decide_pin(text, text, text, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION agent.decide_pin(text, text, text, text, text) TO fencepost_api;
