-- Conversation state (design 02 §9) and the artifact registry (I29). `pre`: the last release runs on under it.

-- One row a conversation: its present state, under whose lock every change is computed. It is apart from the
-- conversation's own row, so that a change of state and a message of the same conversation don't wait for each other.
CREATE TABLE agent.state_heads (
    conversation_id uuid PRIMARY KEY REFERENCES agent.conversations (id),
    tenant_id       uuid NOT NULL,
    seq             bigint NOT NULL DEFAULT 0,
    at              timestamptz NOT NULL DEFAULT clock_timestamp(),
    body            jsonb NOT NULL DEFAULT '{}',
    snapshot_seq    bigint NOT NULL DEFAULT 0,
    snapshot_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT state_heads_body_check CHECK (jsonb_typeof(body) = 'object')
) WITH (fillfactor = 70);
ALTER TABLE agent.state_events
    ADD CONSTRAINT state_events_once UNIQUE (conversation_id, event_id),
    ADD CONSTRAINT state_events_operation_check CHECK (operation IN ('set', 'delete', 'increment', 'append', 'put'));
-- An instant is found among snapshots, then only the events between two of them are read.
CREATE INDEX state_snapshots_by_time_idx ON agent.state_snapshots (conversation_id, at, seq);
CREATE TRIGGER state_events_append_only BEFORE UPDATE OR DELETE ON agent.state_events
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_change();
CREATE TRIGGER state_events_no_truncate BEFORE TRUNCATE ON agent.state_events
    FOR EACH STATEMENT EXECUTE FUNCTION agent.refuse_change();
CREATE TRIGGER state_snapshots_append_only BEFORE UPDATE OR DELETE ON agent.state_snapshots
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_change();

-- Artifacts: versions of one lineage have one owner; bytes lie in the artifact store under the row's id.
ALTER TABLE agent.artifacts
    ADD COLUMN first_id        uuid,
    ADD COLUMN version         integer NOT NULL DEFAULT 1,
    ADD COLUMN origin          text NOT NULL DEFAULT 'upload',
    ADD COLUMN evidence        jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN lost            text,
    ADD COLUMN lost_at         timestamptz,
    ADD COLUMN checked_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    ADD COLUMN route           text,
    ADD COLUMN idempotency_key text,
    ADD COLUMN request_hash    text,
    ADD CONSTRAINT artifacts_origin_check CHECK (origin IN ('upload', 'tool', 'partial')),
    ADD CONSTRAINT artifacts_lost_check CHECK (lost IN ('missing', 'altered')),
    ADD CONSTRAINT artifacts_lost_has_time_check CHECK ((lost IS NULL) = (lost_at IS NULL)),
    ADD CONSTRAINT artifacts_version_once UNIQUE (first_id, version),
    ADD CONSTRAINT artifacts_one_per_key UNIQUE (tenant_id, user_id, route, idempotency_key);
CREATE INDEX artifacts_by_run_idx ON agent.artifacts (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX artifacts_by_user_idx ON agent.artifacts (tenant_id, user_id, id DESC);
CREATE INDEX artifacts_to_check_idx ON agent.artifacts (checked_at);

CREATE FUNCTION agent.check_artifact_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR (to_jsonb(NEW) - '{status,evidence,lost,lost_at,checked_at}'::text[])
                           IS DISTINCT FROM (to_jsonb(OLD) - '{status,evidence,lost,lost_at,checked_at}'::text[]) THEN
        RAISE EXCEPTION '% of % is refused: what an artifact is never changes', TG_OP, TG_TABLE_NAME
            USING ERRCODE = 'FP002', CONSTRAINT = 'artifacts_immutable';
    END IF;
    IF NEW.status <> OLD.status AND (OLD.status <> 'draft' OR NEW.status NOT IN ('verified', 'rejected')) THEN
        RAISE EXCEPTION 'artifact %: % may not become %', OLD.id, OLD.status, NEW.status
            USING ERRCODE = 'FP001', CONSTRAINT = 'artifacts_transition_in_table';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER artifacts_immutable BEFORE UPDATE OR DELETE ON agent.artifacts
    FOR EACH ROW EXECUTE FUNCTION agent.check_artifact_change();

GRANT EXECUTE ON FUNCTION agent.check_artifact_change()
    TO fencepost_api, fencepost_worker, fencepost_gateway, fencepost_reconciler;
REVOKE EXECUTE ON FUNCTION agent.check_artifact_change() FROM PUBLIC;
GRANT SELECT ON agent.state_heads TO fencepost_api, fencepost_worker, fencepost_gateway, fencepost_reconciler;
GRANT INSERT ON agent.state_heads, agent.state_snapshots TO fencepost_gateway;
GRANT UPDATE (seq, at, body, snapshot_seq, snapshot_at) ON agent.state_heads TO fencepost_gateway;
GRANT UPDATE (status, evidence, lost, lost_at, checked_at) ON agent.artifacts TO fencepost_api, fencepost_reconciler;
GRANT INSERT, UPDATE (status, evidence) ON agent.artifacts TO fencepost_gateway, fencepost_worker;

ALTER TABLE agent.state_heads ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent.state_heads FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON agent.state_heads TO fencepost_api, fencepost_gateway
    USING (tenant_id = agent.tenant()) WITH CHECK (tenant_id = agent.tenant());
CREATE POLICY across_tenants ON agent.state_heads TO fencepost_worker, fencepost_reconciler
    USING (true) WITH CHECK (true);
CREATE POLICY owner_all ON agent.state_heads TO CURRENT_USER USING (true) WITH CHECK (true);
