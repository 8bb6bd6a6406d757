-- Which of a module's catalogs is in force: the one that a gateway took up last, and not the one written first. A contract that is
-- changed back, or a pin accepted again, is a fingerprint that was published before; until now the change between stayed in force.
ALTER TABLE agent.catalogs ADD COLUMN in_force_at timestamptz;
CREATE OR REPLACE FUNCTION agent.only_revoke() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    may_change CONSTANT text[] := '{revoked_at, in_force_at}';
BEGIN
    IF TG_OP = 'DELETE' OR (to_jsonb(NEW) - may_change) IS DISTINCT FROM (to_jsonb(OLD) - may_change) THEN
        RAISE EXCEPTION '% of % is refused: published versions are immutable', TG_OP, TG_TABLE_NAME
            USING ERRCODE = 'FP002', CONSTRAINT = TG_TABLE_NAME || '_immutable';
    END IF;
    RETURN NEW;
END $$;
UPDATE agent.catalogs SET in_force_at = published_at;
ALTER TABLE agent.catalogs ALTER COLUMN in_force_at SET DEFAULT clock_timestamp(), ALTER COLUMN in_force_at SET NOT NULL;
CREATE INDEX catalogs_in_force_idx ON agent.catalogs (module, in_force_at DESC);
DROP INDEX agent.catalogs_by_module_idx;
GRANT UPDATE (in_force_at) ON agent.catalogs TO fencepost_gateway;
