-- Undoing an effect by a run of its own (ADR-0030), and what a restore leaves behind (ADR-0031).
ALTER TABLE agent.runs
    DROP CONSTRAINT runs_origin_kind_check,
    ADD CONSTRAINT runs_origin_kind_check CHECK (origin_kind IN ('retry', 'fork', 'simulation', 'compensation')) NOT VALID,
    ADD COLUMN recovery_epoch integer;
CREATE INDEX effects_compensates_idx ON agent.effects (compensates) WHERE compensates IS NOT NULL;
GRANT UPDATE (error) ON agent.effects TO fencepost_reconciler;

-- As before, and: what was being undone may be `compensated` by hand, but not `absent`, or its run would do it again;
-- the action stays what it was, since only the undoing is judged.
CREATE OR REPLACE FUNCTION agent.resolve_effect(wanted text, verdict text, said jsonb, digest text, key text, actor text, named text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, agent AS $$
DECLARE e agent.effects;
BEGIN
    IF verdict NOT IN ('completed', 'absent', 'abandoned', 'compensated') OR coalesce(said ->> 'evidence', '') = '' THEN
        RAISE EXCEPTION 'a resolution is completed, absent, abandoned or compensated, with evidence' USING ERRCODE = '22023';
    END IF;
    UPDATE agent.effects f
       SET state = verdict, resolution = said, resolution_hash = digest, resolution_key = key, resolved_by = actor,
           resolved_at = clock_timestamp(), external_id = coalesce(named, f.external_id), next_look_at = NULL,
           updated_at = clock_timestamp()
     WHERE f.effect_key = wanted AND f.tenant_id = agent.tenant() AND f.state = 'needs_human'
       AND CASE WHEN f.compensation_run_id IS NULL THEN verdict <> 'compensated' ELSE verdict <> 'absent' END
    RETURNING f.* INTO e;
    IF e.effect_key IS NULL THEN
        RETURN false;
    END IF;
    IF e.compensation_run_id IS NOT NULL THEN
        RETURN true;
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
-- A new order starts from a clean slate: what a person said of the one before is in the log.
CREATE OR REPLACE FUNCTION agent.start_compensation(wanted text, run uuid)
RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, agent AS $$
    WITH moved AS (
        UPDATE agent.effects f
           SET state = 'compensating', compensation_run_id = run, error = NULL, resolution = NULL, resolution_hash = NULL,
               resolution_key = NULL, resolved_by = NULL, resolved_at = NULL, updated_at = clock_timestamp()
         WHERE f.effect_key = wanted AND f.tenant_id = agent.tenant() AND f.state = 'completed'
        RETURNING f.effect_key
    )
    SELECT EXISTS (SELECT FROM moved)
$$;
