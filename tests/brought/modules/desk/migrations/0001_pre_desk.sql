CREATE TABLE app.desk_texts (
    id                uuid PRIMARY KEY,
    tenant_id         uuid NOT NULL,
    run_id            uuid NOT NULL,
    kind              text NOT NULL,
    title             text NOT NULL,
    origin_effect_key text NOT NULL,
    created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT desk_texts_made_once UNIQUE (tenant_id, origin_effect_key)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON app.desk_texts TO fencepost_gateway;
GRANT SELECT ON app.desk_texts TO fencepost_api, fencepost_reconciler;

ALTER TABLE app.desk_texts ENABLE ROW LEVEL SECURITY;
ALTER TABLE app.desk_texts FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON app.desk_texts TO fencepost_api, fencepost_gateway
    USING (tenant_id = agent.tenant()) WITH CHECK (tenant_id = agent.tenant());
CREATE POLICY across_tenants ON app.desk_texts FOR SELECT TO fencepost_reconciler USING (true);
CREATE POLICY owner_all ON app.desk_texts TO CURRENT_USER USING (true) WITH CHECK (true);
