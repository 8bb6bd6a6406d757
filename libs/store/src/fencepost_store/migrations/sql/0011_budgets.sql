-- Budgets in money and tokens: what a call reserves stands in its row, so that whoever ends it knows what to give
-- back. A tenant's and a user's limits are rows that exist only where one was set: nobody else pays for them.
ALTER TABLE agent.model_calls
    ADD COLUMN reserved_input  bigint NOT NULL DEFAULT 0,
    ADD COLUMN reserved_output bigint NOT NULL DEFAULT 0,
    ADD COLUMN reserved_cost   numeric NOT NULL DEFAULT 0,
    ADD COLUMN reserved_in     text[],
    ADD COLUMN currency        text,
    ADD COLUMN prices          text;
COMMENT ON COLUMN agent.model_calls.reserved_in IS 'the shared budgets it was reserved in: t:day, u:month, ...';

ALTER TABLE agent.budgets
    ADD COLUMN reserved_input  bigint NOT NULL DEFAULT 0,
    ADD COLUMN reserved_output bigint NOT NULL DEFAULT 0,
    ADD COLUMN reserved_cost   numeric NOT NULL DEFAULT 0,
    ADD COLUMN recoveries      bigint NOT NULL DEFAULT 0,
    ADD COLUMN role_calls      jsonb NOT NULL DEFAULT '{}';

-- user_id '' is the whole tenant's. Counters are those of the window that began at window_start; reservations are of
-- calls in flight, whatever window they began in.
CREATE TABLE agent.shared_budgets (
    tenant_id       uuid NOT NULL,
    user_id         text NOT NULL DEFAULT '',
    per             text NOT NULL,
    limits          jsonb NOT NULL,
    window_start    timestamptz NOT NULL DEFAULT 'epoch',
    model_calls     bigint NOT NULL DEFAULT 0,
    input_tokens    bigint NOT NULL DEFAULT 0,
    output_tokens   bigint NOT NULL DEFAULT 0,
    cost            numeric NOT NULL DEFAULT 0,
    actions         bigint NOT NULL DEFAULT 0,
    reserved_input  bigint NOT NULL DEFAULT 0,
    reserved_output bigint NOT NULL DEFAULT 0,
    reserved_cost   numeric NOT NULL DEFAULT 0,
    set_by          text NOT NULL,
    set_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, user_id, per),
    CONSTRAINT shared_budgets_per_check CHECK (per IN ('day', 'month', 'total')),
    CONSTRAINT shared_budgets_reserved_check CHECK (reserved_input >= 0 AND reserved_output >= 0 AND reserved_cost >= 0)
) WITH (fillfactor = 70);

-- The window an instant is in, by UTC's days and months.
CREATE FUNCTION agent.budget_window(per text, at timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT CASE per WHEN 'total' THEN CAST('epoch' AS timestamptz) ELSE date_trunc(per, at, 'UTC') END
$$;
REVOKE EXECUTE ON FUNCTION agent.budget_window(text, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION agent.budget_window(text, timestamptz)
    TO fencepost_api, fencepost_worker, fencepost_gateway, fencepost_reconciler;

GRANT SELECT ON agent.shared_budgets TO fencepost_api, fencepost_worker, fencepost_gateway, fencepost_reconciler;
GRANT INSERT, UPDATE (limits, set_by, set_at), DELETE ON agent.shared_budgets TO fencepost_api;
GRANT UPDATE (window_start, model_calls, input_tokens, output_tokens, cost, actions, reserved_input, reserved_output,
    reserved_cost) ON agent.shared_budgets TO fencepost_worker, fencepost_reconciler;
GRANT UPDATE (window_start, model_calls, input_tokens, output_tokens, cost, actions) ON agent.shared_budgets TO fencepost_gateway;
GRANT UPDATE (reserved_input, reserved_output, reserved_cost, role_calls) ON agent.budgets TO fencepost_worker;
GRANT UPDATE (input_tokens, output_tokens, cost, reserved_input, reserved_output, reserved_cost, recoveries)
    ON agent.budgets TO fencepost_reconciler;
GRANT UPDATE (recoveries) ON agent.budgets TO fencepost_gateway;
GRANT UPDATE (input_tokens, output_tokens, cost) ON agent.model_calls TO fencepost_reconciler;

ALTER TABLE agent.shared_budgets ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent.shared_budgets FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON agent.shared_budgets TO fencepost_api, fencepost_gateway
    USING (tenant_id = agent.tenant()) WITH CHECK (tenant_id = agent.tenant());
CREATE POLICY across_tenants ON agent.shared_budgets TO fencepost_worker, fencepost_reconciler
    USING (true) WITH CHECK (true);
CREATE POLICY owner_all ON agent.shared_budgets TO CURRENT_USER USING (true) WITH CHECK (true);
