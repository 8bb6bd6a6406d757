-- Where a conversation's committed compactions are (I30): which messages each stands for, and where in its run's log its words
-- are. No words here: an erased log takes them along, and an altered source no longer fits `source_hash`.
CREATE TABLE agent.compactions (
    id              uuid PRIMARY KEY,
    tenant_id       uuid NOT NULL,
    conversation_id uuid NOT NULL REFERENCES agent.conversations (id),
    run_id          uuid NOT NULL,
    before_seq      bigint NOT NULL,  -- the first message of the run that made it: what a run before that never reads
    from_seq        bigint NOT NULL,
    upto_seq        bigint NOT NULL,
    candidate_seq   bigint NOT NULL,
    committed_seq   bigint NOT NULL,
    source_hash     text NOT NULL,
    summary_hash    text NOT NULL,
    CONSTRAINT compactions_sources_check CHECK (from_seq <= upto_seq AND upto_seq < before_seq),
    CONSTRAINT compactions_events_check CHECK (candidate_seq < committed_seq)
);
CREATE INDEX compactions_newest_idx ON agent.compactions (conversation_id, before_seq DESC, upto_seq DESC);
CREATE TRIGGER compactions_append_only BEFORE UPDATE OR DELETE ON agent.compactions
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_change();
CREATE TRIGGER compactions_no_truncate BEFORE TRUNCATE ON agent.compactions
    FOR EACH STATEMENT EXECUTE FUNCTION agent.refuse_change();
CREATE TRIGGER compactions_refuse_simulation BEFORE INSERT ON agent.compactions
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_simulation();
ALTER TABLE agent.compactions ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent.compactions FORCE ROW LEVEL SECURITY;
CREATE POLICY across_tenants ON agent.compactions TO fencepost_worker, fencepost_reconciler USING (true) WITH CHECK (true);
CREATE POLICY owner_all ON agent.compactions TO CURRENT_USER USING (true) WITH CHECK (true);
GRANT SELECT, INSERT ON agent.compactions TO fencepost_worker;
GRANT SELECT ON agent.compactions TO fencepost_reconciler;
