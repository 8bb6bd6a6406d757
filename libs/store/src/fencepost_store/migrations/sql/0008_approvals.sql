-- Who said what to an approval: a vote a person, kept for good; `decision` is theirs, the interrupt's is what came of all.
CREATE TABLE agent.approval_votes (
    interrupt_id    uuid NOT NULL REFERENCES agent.interrupts (id),
    voter           text NOT NULL,
    run_id          uuid NOT NULL,
    tenant_id       uuid NOT NULL,
    decision        text NOT NULL,
    resolution      jsonb NOT NULL,
    resolution_hash text NOT NULL,
    key             text NOT NULL,
    roles           text[] NOT NULL,
    link_id         uuid,
    voted_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (interrupt_id, voter),
    CONSTRAINT approval_votes_decision_check CHECK (decision IN ('approve', 'reject', 'mixed'))
);
CREATE INDEX approval_votes_by_run_idx ON agent.approval_votes (run_id);
CREATE TRIGGER approval_votes_append_only BEFORE UPDATE OR DELETE ON agent.approval_votes
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_change();
CREATE TRIGGER approval_votes_no_truncate BEFORE TRUNCATE ON agent.approval_votes
    FOR EACH STATEMENT EXECUTE FUNCTION agent.refuse_change();

-- An approval that is remembered: for one person's runs, one tool of one catalog. What it may never be for is refused here.
CREATE TABLE agent.grants (
    id            uuid PRIMARY KEY,
    tenant_id     uuid NOT NULL,
    user_id       text NOT NULL,
    granted_by    text NOT NULL,
    granted_roles text[] NOT NULL,
    interrupt_id  uuid NOT NULL REFERENCES agent.interrupts (id),
    run_id        uuid NOT NULL,
    index         integer NOT NULL,
    module        text NOT NULL,
    tool          text NOT NULL,
    tool_version  text NOT NULL,
    catalog_fp    text NOT NULL,
    risk          text NOT NULL,
    effect_class  text NOT NULL,
    condition     text,
    max_uses      integer,
    uses          integer NOT NULL DEFAULT 0,
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at    timestamptz NOT NULL,
    ended_at      timestamptz,
    ended_by      text,
    ended_reason  text,
    CONSTRAINT grants_risk_check CHECK (risk IN ('low', 'medium')),
    CONSTRAINT grants_effect_class_check CHECK (effect_class IN ('none', 'local', 'external_idempotent',
        'external_queryable', 'async')),
    CONSTRAINT grants_life_check CHECK (expires_at > created_at AND expires_at <= created_at + interval '30 days'),
    CONSTRAINT grants_uses_check CHECK (uses >= 0 AND (max_uses IS NULL OR (max_uses > 0 AND uses <= max_uses))),
    CONSTRAINT grants_ended_check CHECK ((ended_at IS NULL) = (ended_reason IS NULL)),
    CONSTRAINT grants_ended_reason_check CHECK (ended_reason IN ('revoked', 'contract_changed', 'role_changed')),
    CONSTRAINT grants_one_per_decision UNIQUE (interrupt_id, index)
) WITH (fillfactor = 80);
CREATE INDEX grants_live_idx ON agent.grants (tenant_id, user_id, tool) WHERE ended_at IS NULL;

-- The stored approval that a grant made of one preparation: exactly these arguments (I12).
CREATE TABLE agent.grant_uses (
    run_id         uuid NOT NULL,
    index          integer NOT NULL,
    n              integer NOT NULL,
    grant_id       uuid NOT NULL REFERENCES agent.grants (id),
    tenant_id      uuid NOT NULL,
    tool           text NOT NULL,
    catalog_fp     text NOT NULL,
    arguments_hash text NOT NULL,
    granted_by     text NOT NULL,
    used_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run_id, index, n),
    CONSTRAINT grant_uses_of_an_action FOREIGN KEY (run_id, index, n) REFERENCES agent.actions (run_id, index, n)
);
CREATE INDEX grant_uses_by_grant_idx ON agent.grant_uses (grant_id, run_id, index);
CREATE TRIGGER grant_uses_append_only BEFORE UPDATE OR DELETE ON agent.grant_uses
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_change();
CREATE TRIGGER grant_uses_no_truncate BEFORE TRUNCATE ON agent.grant_uses
    FOR EACH STATEMENT EXECUTE FUNCTION agent.refuse_change();
ALTER TABLE agent.actions ADD COLUMN grant_id uuid REFERENCES agent.grants (id);

-- One-time links: the secret is in the link alone. The hash is over the secret and all that the link is bound to.
CREATE TABLE agent.approval_links (
    id           uuid PRIMARY KEY,
    tenant_id    uuid NOT NULL,
    interrupt_id uuid NOT NULL REFERENCES agent.interrupts (id),
    run_id       uuid NOT NULL,
    n            integer NOT NULL,
    approver     text NOT NULL,
    created_by   text NOT NULL,
    token_hash   bytea NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at   timestamptz NOT NULL,
    spent_at     timestamptz,
    replaced_at  timestamptz,
    CONSTRAINT approval_links_token_once UNIQUE (token_hash),
    CONSTRAINT approval_links_end_check CHECK (spent_at IS NULL OR replaced_at IS NULL)
);
CREATE UNIQUE INDEX approval_links_one_live ON agent.approval_links (interrupt_id, approver)
    WHERE spent_at IS NULL AND replaced_at IS NULL;

GRANT SELECT ON agent.approval_votes, agent.grants, agent.grant_uses TO fencepost_api, fencepost_gateway, fencepost_reconciler;
GRANT SELECT ON agent.approval_links TO fencepost_api, fencepost_reconciler;
GRANT INSERT ON agent.approval_votes, agent.grants, agent.approval_links TO fencepost_api;
GRANT UPDATE (ended_at, ended_by, ended_reason) ON agent.grants TO fencepost_api;
GRANT UPDATE (spent_at, replaced_at) ON agent.approval_links TO fencepost_api;
GRANT INSERT ON agent.grant_uses TO fencepost_gateway;
GRANT UPDATE (uses, ended_at, ended_by, ended_reason) ON agent.grants TO fencepost_gateway;

DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['agent.approval_votes', 'agent.grants', 'agent.grant_uses', 'agent.approval_links'] LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY tenant_only ON %s TO fencepost_api, fencepost_gateway
                        USING (tenant_id = agent.tenant()) WITH CHECK (tenant_id = agent.tenant())', t);
        EXECUTE format('CREATE POLICY across_tenants ON %s TO fencepost_worker, fencepost_reconciler
                        USING (true) WITH CHECK (true)', t);
        EXECUTE format('CREATE POLICY owner_all ON %s TO CURRENT_USER USING (true) WITH CHECK (true)', t);
    END LOOP;
END $$;
