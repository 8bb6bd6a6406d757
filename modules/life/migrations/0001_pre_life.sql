-- Business facts of module life, in schema `app`. The gateway writes them, the api reads them, and the reconciler
-- changes a reminder only by firing it. Each row names the effect that made it, once.

CREATE TABLE app.reminders (
    id                uuid PRIMARY KEY,
    tenant_id         uuid NOT NULL,
    user_id           text NOT NULL,
    conversation_id   uuid,
    title             text NOT NULL,
    note              text NOT NULL DEFAULT '',
    locale            text NOT NULL,
    zone              text NOT NULL,
    dtstart           timestamptz NOT NULL,  -- the first occurrence
    rrule             text,                  -- RFC 5545 without DTSTART; NULL for a single one
    exdates           timestamptz[] NOT NULL DEFAULT '{}',  -- occurrences of the rule that are left out
    next_at           timestamptz,           -- the next occurrence; NULL when nothing comes
    status            text NOT NULL DEFAULT 'active',
    version           bigint NOT NULL DEFAULT 1,
    origin_effect_key text NOT NULL,
    changed_by_effect text,
    created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT reminders_status_check CHECK (status IN ('active', 'done', 'cancelled')),
    CONSTRAINT reminders_active_is_due_check CHECK (status <> 'active' OR next_at IS NOT NULL),
    CONSTRAINT reminders_title_check CHECK (length(title) BETWEEN 1 AND 500),
    CONSTRAINT reminders_made_once UNIQUE (tenant_id, origin_effect_key)
) WITH (fillfactor = 80);
CREATE INDEX reminders_due_idx ON app.reminders (next_at, id) WHERE status = 'active';
CREATE INDEX reminders_by_user_idx ON app.reminders (tenant_id, user_id, status, next_at);

CREATE TABLE app.ledger_entries (
    id                uuid PRIMARY KEY,
    tenant_id         uuid NOT NULL,
    user_id           text NOT NULL,
    kind              text NOT NULL,
    amount            numeric(20, 6) NOT NULL,  -- exact; never a float, never summed across currencies
    currency          text NOT NULL,
    category          text NOT NULL,
    description       text NOT NULL DEFAULT '',
    occurred_on       date NOT NULL,
    origin_effect_key text NOT NULL,
    created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT ledger_entries_kind_check CHECK (kind IN ('expense', 'income', 'refund')),
    CONSTRAINT ledger_entries_amount_check CHECK (amount > 0),
    CONSTRAINT ledger_entries_currency_check CHECK (currency ~ '^[A-Z]{3}$'),
    CONSTRAINT ledger_entries_made_once UNIQUE (tenant_id, origin_effect_key)
);
CREATE INDEX ledger_entries_by_user_idx ON app.ledger_entries (tenant_id, user_id, occurred_on DESC, id DESC);

GRANT SELECT, INSERT, UPDATE, DELETE ON app.reminders, app.ledger_entries TO fencepost_gateway;
GRANT SELECT ON app.reminders, app.ledger_entries TO fencepost_api, fencepost_reconciler;

DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['app.reminders', 'app.ledger_entries'] LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY tenant_only ON %s TO fencepost_api, fencepost_gateway
                        USING (tenant_id = agent.tenant()) WITH CHECK (tenant_id = agent.tenant())', t);
        EXECUTE format('CREATE POLICY across_tenants ON %s FOR SELECT TO fencepost_reconciler USING (true)', t);
        EXECUTE format('CREATE POLICY owner_all ON %s TO CURRENT_USER USING (true) WITH CHECK (true)', t);
    END LOOP;
END $$;

-- The one change the reconciler makes: a reminder that is active, due, at this version and this occurrence moves on
-- to `following`, or is done. Skips a reminder that another reconciler or the gateway holds. Time is the database's,
-- read above the lock. The version rises, so that a plan made on what was read before is refused.
CREATE FUNCTION app.fire_reminder(wanted uuid, at_version bigint, occurrence timestamptz, following timestamptz)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, app, agent
AS $$
DECLARE held app.reminders%ROWTYPE;
BEGIN
    SELECT * INTO held FROM app.reminders r WHERE r.id = wanted FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND OR held.status <> 'active' OR held.version <> at_version OR held.next_at IS DISTINCT FROM occurrence
       OR held.next_at > clock_timestamp() THEN
        RETURN false;
    END IF;
    IF following IS NOT NULL AND (held.rrule IS NULL OR following <= held.next_at) THEN
        RAISE EXCEPTION 'reminder %: % does not follow %', wanted, following, held.next_at USING ERRCODE = 'FP003';
    END IF;
    UPDATE app.reminders r
       SET next_at = following,
           status = CASE WHEN following IS NULL THEN 'done' ELSE 'active' END,
           version = r.version + 1,
           updated_at = clock_timestamp()
     WHERE r.id = wanted;
    INSERT INTO agent.audit (actor, what, detail)
    VALUES (session_user, 'reminder.fired', jsonb_build_object('reminder_id', wanted, 'tenant_id', held.tenant_id,
            'occurrence', occurrence, 'following', following, 'version', at_version));
    RETURN true;
END $$;
REVOKE EXECUTE ON FUNCTION app.fire_reminder(uuid, bigint, timestamptz, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION app.fire_reminder(uuid, bigint, timestamptz, timestamptz) TO fencepost_reconciler;
