CREATE TABLE app.travel_bookings (
    id                uuid PRIMARY KEY,
    tenant_id         uuid NOT NULL,
    user_id           text NOT NULL,
    train             text NOT NULL,
    day               date NOT NULL,
    origin_effect_key text NOT NULL,
    CONSTRAINT travel_bookings_made_once UNIQUE (tenant_id, origin_effect_key)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON app.travel_bookings TO fencepost_gateway;
GRANT SELECT ON app.travel_bookings TO fencepost_api, fencepost_reconciler;

ALTER TABLE app.travel_bookings ENABLE ROW LEVEL SECURITY;
ALTER TABLE app.travel_bookings FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON app.travel_bookings TO fencepost_api, fencepost_gateway
    USING (tenant_id = agent.tenant()) WITH CHECK (tenant_id = agent.tenant());
CREATE POLICY across_tenants ON app.travel_bookings FOR SELECT TO fencepost_reconciler USING (true);
CREATE POLICY owner_all ON app.travel_bookings TO CURRENT_USER USING (true) WITH CHECK (true);
