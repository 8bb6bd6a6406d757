-- Effects that leave the house: what a person said of them, what undoes them, how often they were looked up; the
-- state table of the domain, which the database refuses to leave; epochs, of which a restore starts the next.
ALTER TABLE agent.effects
    ADD COLUMN external_id     text,
    ADD COLUMN looks           integer NOT NULL DEFAULT 0,
    ADD COLUMN resolution      jsonb,
    ADD COLUMN resolution_hash text,
    ADD COLUMN resolution_key  text,
    ADD COLUMN resolved_by     text,
    ADD COLUMN resolved_at     timestamptz,
    ADD COLUMN compensates     text REFERENCES agent.effects (effect_key),
    ADD COLUMN compensation_run_id uuid,
    ADD CONSTRAINT effects_resolved_has_evidence_check
        CHECK ((resolution IS NULL) = (resolved_by IS NULL) AND (resolution IS NULL OR resolution ? 'evidence'));
-- Not of what is completed or failed, which is nearly all: a local commit writes no further index entry.
CREATE INDEX effects_by_state_idx ON agent.effects (tenant_id, state, effect_key)
    WHERE state IN ('started', 'accepted', 'unknown', 'absent', 'needs_human', 'compensating');
CREATE INDEX effects_compensating_idx ON agent.effects (compensation_run_id) WHERE state = 'compensating';

CREATE TABLE agent.effect_transitions (
    before_state text NOT NULL,
    after_state  text NOT NULL,
    PRIMARY KEY (before_state, after_state)
);
CREATE FUNCTION agent.check_effect_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state <> OLD.state AND NOT EXISTS (SELECT FROM agent.effect_transitions t
                    WHERE t.before_state = OLD.state AND t.after_state = NEW.state) THEN
        RAISE EXCEPTION 'effect %: % does not become %', OLD.effect_key, OLD.state, NEW.state
            USING ERRCODE = 'FP001', CONSTRAINT = 'effects_transition_in_table';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER effects_transition BEFORE UPDATE OF state ON agent.effects
    FOR EACH ROW EXECUTE FUNCTION agent.check_effect_transition();

CREATE TABLE agent.epochs (
    number     integer PRIMARY KEY,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lost_after timestamptz,
    actor      text NOT NULL,
    reason     text NOT NULL
);
INSERT INTO agent.epochs (number, actor, reason) VALUES (1, 'migrate', 'first');
CREATE TRIGGER epochs_append_only BEFORE UPDATE OR DELETE ON agent.epochs
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_change();

REVOKE EXECUTE ON FUNCTION agent.check_effect_transition() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION agent.check_effect_transition()
    TO fencepost_api, fencepost_worker, fencepost_gateway, fencepost_reconciler;
GRANT SELECT ON agent.effect_transitions, agent.epochs
    TO fencepost_api, fencepost_worker, fencepost_gateway, fencepost_reconciler;
GRANT UPDATE (external_id, looks) ON agent.effects TO fencepost_gateway;

-- What a person says of an effect, by the api, which may change no effect by itself: one rule, one statement each.
-- The caller holds the run's row; the event is its audit.
CREATE FUNCTION agent.resolve_effect(wanted text, verdict text, said jsonb, digest text, key text, actor text, named text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, agent AS $$
DECLARE e agent.effects;
BEGIN
    IF verdict NOT IN ('completed', 'absent', 'abandoned') OR coalesce(said ->> 'evidence', '') = '' THEN
        RAISE EXCEPTION 'a resolution is completed, absent or abandoned, with evidence' USING ERRCODE = '22023';
    END IF;
    UPDATE agent.effects f
       SET state = verdict, resolution = said, resolution_hash = digest, resolution_key = key, resolved_by = actor,
           resolved_at = clock_timestamp(), external_id = coalesce(named, f.external_id), next_look_at = NULL,
           updated_at = clock_timestamp()
     WHERE f.effect_key = wanted AND f.tenant_id = agent.tenant() AND f.state = 'needs_human'
    RETURNING f.* INTO e;
    IF e.effect_key IS NULL THEN
        RETURN false;
    END IF;
    UPDATE agent.effect_attempts a
       SET state = verdict, settled_at = clock_timestamp(), settled_by = 'user:' || actor
     WHERE a.effect_key = wanted AND a.state = 'unknown'
       AND (verdict = 'absent' OR verdict = 'completed' AND a.attempt = e.attempts);
    UPDATE agent.actions c
       SET status = CASE verdict WHEN 'completed' THEN 'committed' WHEN 'abandoned' THEN 'failed' ELSE c.status END
     WHERE c.run_id = e.run_id AND c.index = e.index AND c.n = e.n;
    RETURN true;
END $$;
CREATE FUNCTION agent.start_compensation(wanted text, run uuid)
RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, agent AS $$
    WITH moved AS (
        UPDATE agent.effects f
           SET state = 'compensating', compensation_run_id = run, updated_at = clock_timestamp()
         WHERE f.effect_key = wanted AND f.tenant_id = agent.tenant() AND f.state = 'completed'
        RETURNING f.effect_key
    )
    SELECT EXISTS (SELECT FROM moved)
$$;
REVOKE EXECUTE ON FUNCTION agent.resolve_effect(text, text, jsonb, text, text, text, text),
    agent.start_compensation(text, uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION agent.resolve_effect(text, text, jsonb, text, text, text, text),
    agent.start_compensation(text, uuid) TO fencepost_api;
