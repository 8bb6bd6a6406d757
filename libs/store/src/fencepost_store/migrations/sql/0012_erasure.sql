-- Erasure reaches a conversation's state and the files of a run (design 02 §8). `pre`: the last release runs on under it.

-- A value that was removed is told apart from one that is missing: by whose erasure it went.
ALTER TABLE agent.state_events
    ADD COLUMN old_erased_by uuid,
    ADD COLUMN new_erased_by uuid,
    ADD CONSTRAINT state_events_erased_check
        CHECK ((old_erased_by IS NULL OR old_value IS NULL) AND (new_erased_by IS NULL OR new_value IS NULL));
ALTER TABLE agent.state_snapshots ADD COLUMN erased text[] NOT NULL DEFAULT '{}';

-- Only inside an erasure, by the owner, and only towards nothing.
CREATE FUNCTION agent.refuse_state_change_unless_erasing() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before jsonb := to_jsonb(OLD);
    after jsonb;
BEGIN
    IF TG_OP = 'UPDATE' AND nullif(current_setting('fencepost.erasing', true), '') IS NOT NULL THEN
        after := to_jsonb(NEW);
        IF TG_TABLE_NAME = 'state_snapshots' THEN
            IF after - '{body,erased}'::text[] = before - '{body,erased}'::text[]
               AND before -> 'body' @> (after -> 'body') AND (after -> 'erased') @> (before -> 'erased') THEN
                RETURN NEW;
            END IF;
        ELSIF after - '{old_value,new_value,old_erased_by,new_erased_by}'::text[]
              = before - '{old_value,new_value,old_erased_by,new_erased_by}'::text[]
              AND (after -> 'old_value' IN ('null', before -> 'old_value'))
              AND (after -> 'new_value' IN ('null', before -> 'new_value')) THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION '% of % is refused: this history is append-only', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'FP002', CONSTRAINT = TG_TABLE_NAME || '_append_only';
END $$;
REVOKE EXECUTE ON FUNCTION agent.refuse_state_change_unless_erasing() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION agent.refuse_state_change_unless_erasing()
    TO fencepost_api, fencepost_worker, fencepost_gateway, fencepost_reconciler;
DROP TRIGGER state_events_append_only ON agent.state_events;
CREATE TRIGGER state_events_append_only BEFORE UPDATE OR DELETE ON agent.state_events
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_state_change_unless_erasing();
DROP TRIGGER state_snapshots_append_only ON agent.state_snapshots;
CREATE TRIGGER state_snapshots_append_only BEFORE UPDATE OR DELETE ON agent.state_snapshots
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_state_change_unless_erasing();

-- What people wrote beside their votes goes too; that they voted, and how, stays.
CREATE FUNCTION agent.refuse_vote_change_unless_erasing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND nullif(current_setting('fencepost.erasing', true), '') = OLD.run_id::text
       AND (to_jsonb(NEW) - 'resolution') = (to_jsonb(OLD) - 'resolution') AND NEW.resolution = '{}' THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '% of % is refused: this history is append-only', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'FP002', CONSTRAINT = TG_TABLE_NAME || '_append_only';
END $$;
REVOKE EXECUTE ON FUNCTION agent.refuse_vote_change_unless_erasing() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION agent.refuse_vote_change_unless_erasing()
    TO fencepost_api, fencepost_worker, fencepost_gateway, fencepost_reconciler;
DROP TRIGGER approval_votes_append_only ON agent.approval_votes;
CREATE TRIGGER approval_votes_append_only BEFORE UPDATE OR DELETE ON agent.approval_votes
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_vote_change_unless_erasing();

-- Files: the row says that there was one. Its bytes are outside the transaction: they stand in a list until they are
-- gone, so that a crash between the two leaves work to do.
ALTER TABLE agent.artifacts ADD COLUMN erased_at timestamptz;
DROP INDEX agent.artifacts_to_check_idx;
CREATE INDEX artifacts_to_check_idx ON agent.artifacts (checked_at) WHERE erased_at IS NULL;
CREATE TABLE agent.artifact_removals (
    artifact_id uuid PRIMARY KEY REFERENCES agent.artifacts (id),
    tenant_id   uuid NOT NULL,
    run_id      uuid NOT NULL,
    asked_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    removed_at  timestamptz
);
CREATE INDEX artifact_removals_open_idx ON agent.artifact_removals (asked_at) WHERE removed_at IS NULL;
ALTER TABLE agent.artifact_removals ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent.artifact_removals FORCE ROW LEVEL SECURITY;
CREATE POLICY across_tenants ON agent.artifact_removals TO fencepost_reconciler USING (true) WITH CHECK (true);
CREATE POLICY owner_all ON agent.artifact_removals TO CURRENT_USER USING (true) WITH CHECK (true);
GRANT SELECT, UPDATE (removed_at) ON agent.artifact_removals TO fencepost_reconciler;

CREATE OR REPLACE FUNCTION agent.check_artifact_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    free text[] := '{status,evidence,lost,lost_at,checked_at}';
BEGIN
    IF TG_OP = 'UPDATE' AND nullif(current_setting('fencepost.erasing', true), '') IS NOT NULL
       AND NEW.name = '' AND NEW.sha256 = '' AND NEW.erased_at IS NOT NULL THEN
        free := free || '{name,sha256,erased_at}'::text[];
    END IF;
    IF TG_OP = 'DELETE' OR (to_jsonb(NEW) - free) IS DISTINCT FROM (to_jsonb(OLD) - free) THEN
        RAISE EXCEPTION '% of % is refused: what an artifact is never changes', TG_OP, TG_TABLE_NAME
            USING ERRCODE = 'FP002', CONSTRAINT = 'artifacts_immutable';
    END IF;
    IF NEW.status <> OLD.status AND (OLD.status <> 'draft' OR NEW.status NOT IN ('verified', 'rejected')) THEN
        RAISE EXCEPTION 'artifact %: % may not become %', OLD.id, OLD.status, NEW.status
            USING ERRCODE = 'FP001', CONSTRAINT = 'artifacts_transition_in_table';
    END IF;
    RETURN NEW;
END $$;

-- A simulation makes no file, whatever code asks.
CREATE TRIGGER artifacts_refuse_simulation BEFORE INSERT ON agent.artifacts
    FOR EACH ROW WHEN (NEW.run_id IS NOT NULL) EXECUTE FUNCTION agent.refuse_simulation();

-- Of each key: what the run wrote, and what was computed from that until somebody set the key anew. What can't be
-- told apart from what is to go, goes with it. A key whose present value goes is deleted from now on, by a change.
CREATE FUNCTION agent.erase_state(wanted uuid) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, agent AS $$
DECLARE
    c uuid;
    tainted bigint[];
    gone text[];
    erased bigint := 0;
BEGIN
    FOR c IN SELECT DISTINCT s.conversation_id FROM agent.state_events s WHERE s.run_id = wanted ORDER BY 1 LOOP
        PERFORM FROM agent.state_heads h WHERE h.conversation_id = c FOR NO KEY UPDATE;
        WITH parts AS (
            SELECT e.seq, e.key, e.run_id, e.operation, e.new_value,
                   count(*) FILTER (WHERE e.operation IN ('set', 'delete')) OVER (PARTITION BY e.key ORDER BY e.seq) AS part
              FROM agent.state_events e
             WHERE e.conversation_id = c
        ), marked AS (
            SELECT p.seq, p.new_value,
                   bool_or(p.run_id = wanted AND p.operation <> 'delete') OVER (PARTITION BY p.key, p.part ORDER BY p.seq) AS goes
              FROM parts p
        )
        SELECT coalesce(array_agg(m.seq) FILTER (WHERE m.goes AND m.new_value IS NOT NULL), '{}') INTO tainted FROM marked m;
        CONTINUE WHEN cardinality(tainted) = 0;
        erased := erased + cardinality(tainted);
        WITH lasting AS (
            SELECT e.seq, e.key, lead(e.seq) OVER (PARTITION BY e.key ORDER BY e.seq) AS next
              FROM agent.state_events e
             WHERE e.conversation_id = c
        ), held AS (
            SELECT s.seq, array_agg(l.key ORDER BY l.key) AS keys
              FROM agent.state_snapshots s
              JOIN lasting l ON l.seq = ANY (tainted) AND l.seq <= s.seq AND (l.next IS NULL OR l.next > s.seq)
             WHERE s.conversation_id = c
             GROUP BY s.seq
        ), forgotten AS (
            UPDATE agent.state_snapshots s
               SET body = s.body - h.keys, erased = s.erased || h.keys
              FROM held h
             WHERE s.conversation_id = c AND s.seq = h.seq
        ), followers AS (
            UPDATE agent.state_events e
               SET old_value = NULL, old_erased_by = wanted,
                   new_value = CASE WHEN e.seq = ANY (tainted) THEN NULL ELSE e.new_value END,
                   new_erased_by = CASE WHEN e.seq = ANY (tainted) THEN wanted ELSE e.new_erased_by END
              FROM lasting l
             WHERE e.conversation_id = c AND e.seq = l.next AND l.seq = ANY (tainted)
        ), firsts AS (
            UPDATE agent.state_events e
               SET new_value = NULL, new_erased_by = wanted
             WHERE e.conversation_id = c AND e.seq = ANY (tainted)
               AND NOT EXISTS (SELECT FROM lasting l WHERE l.next = e.seq AND l.seq = ANY (tainted))
        )
        SELECT coalesce(array_agg(l.key ORDER BY l.key) FILTER (WHERE l.next IS NULL AND l.seq = ANY (tainted)), '{}')
          INTO gone
          FROM lasting l;
        CONTINUE WHEN cardinality(gone) = 0;
        WITH moved AS (
            UPDATE agent.state_heads h
               SET seq = h.seq + cardinality(gone), body = h.body - gone, at = greatest(h.at, clock_timestamp())
             WHERE h.conversation_id = c
            RETURNING h.seq - cardinality(gone) AS seq, h.tenant_id, h.at
        )
        INSERT INTO agent.state_events (conversation_id, seq, tenant_id, key, operation, source, event_id, at, old_erased_by)
        SELECT c, m.seq + g.place, m.tenant_id, g.key, 'delete', 'erasure', gen_random_uuid(), m.at, wanted
          FROM moved m
          CROSS JOIN unnest(gone) WITH ORDINALITY AS g (key, place);
    END LOOP;
    RETURN erased;
END $$;
REVOKE EXECUTE ON FUNCTION agent.erase_state(uuid) FROM PUBLIC;

-- What the run made, and what it was given unless another run that isn't erased was given it too.
CREATE FUNCTION agent.erase_files(wanted uuid) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, agent AS $$
DECLARE erased bigint;
BEGIN
    WITH going AS MATERIALIZED (
        SELECT f.id
          FROM agent.runs r
          JOIN agent.artifacts f ON f.tenant_id = r.tenant_id AND f.user_id = r.user_id AND f.erased_at IS NULL
         WHERE r.id = wanted
           AND (f.run_id = wanted
             OR r.input -> 'attachments' @> to_jsonb(f.id::text)
                AND f.run_id IS NULL
                AND NOT EXISTS (SELECT
                                  FROM agent.runs o
                                 WHERE o.tenant_id = r.tenant_id AND o.user_id = r.user_id AND o.id <> wanted
                                   AND o.input -> 'attachments' @> to_jsonb(f.id::text)))
    ), listed AS (
        INSERT INTO agent.artifact_removals (artifact_id, tenant_id, run_id)
        SELECT f.id, f.tenant_id, wanted FROM agent.artifacts f JOIN going g ON g.id = f.id
        ON CONFLICT DO NOTHING
    )
    UPDATE agent.artifacts f
       SET name = '', sha256 = '', evidence = '{}', erased_at = clock_timestamp()
      FROM going g
     WHERE f.id = g.id;
    GET DIAGNOSTICS erased = ROW_COUNT;
    RETURN erased;
END $$;
REVOKE EXECUTE ON FUNCTION agent.erase_files(uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION agent.erase_run(wanted uuid, by_whom text, why text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, agent AS $$
DECLARE
    erased bigint;
    values_erased bigint;
    files_erased bigint;
    said text;
BEGIN
    PERFORM FROM agent.runs r WHERE r.id = wanted AND r.finished_at IS NOT NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'run % is not there, or has not ended', wanted
            USING ERRCODE = 'FP001', CONSTRAINT = 'erase_only_finished_runs';
    END IF;
    PERFORM set_config('fencepost.erasing', wanted::text, true);
    DELETE FROM agent.run_event_payloads WHERE run_id = wanted;
    GET DIAGNOSTICS erased = ROW_COUNT;
    UPDATE agent.finalizations SET explanation = '', evidence = '{}', left_undone = '[]' WHERE run_id = wanted;
    UPDATE agent.approval_votes SET resolution = '{}' WHERE run_id = wanted;
    files_erased := agent.erase_files(wanted);
    values_erased := agent.erase_state(wanted);
    PERFORM set_config('fencepost.erasing', '', true);
    DELETE FROM langgraph.writes WHERE run_id = wanted;
    DELETE FROM langgraph.checkpoints WHERE run_id = wanted;
    UPDATE agent.model_calls SET answer = NULL, error = NULL WHERE run_id = wanted;
    UPDATE agent.interrupts
       SET question = '', candidates = '[]', preview = NULL, change = NULL, input_schema = NULL,
           resolution = CASE WHEN resolution IS NULL THEN NULL ELSE CAST('{}' AS jsonb) END
     WHERE run_id = wanted;
    UPDATE agent.actions SET arguments = '{}', preview = '{}', change = '{}', precondition = '{}', note = NULL WHERE run_id = wanted;
    UPDATE agent.effects
       SET request = '', result = NULL, error = NULL,
           resolution = CASE WHEN resolution IS NULL THEN NULL ELSE CAST('{"evidence": ""}' AS jsonb) END
     WHERE run_id = wanted;
    UPDATE agent.effect_attempts SET request = '', outcome = NULL, observations = '[]' WHERE run_id = wanted;
    UPDATE agent.tasks SET progress = NULL WHERE run_id = wanted;
    SELECT m.text INTO said FROM agent.messages m WHERE m.run_id = wanted AND m.author = 'user' ORDER BY m.seq LIMIT 1;
    UPDATE agent.conversations c SET title = ''
      FROM agent.runs r
     WHERE r.id = wanted AND c.id = r.conversation_id AND c.title = left(said, 80);
    UPDATE agent.messages SET text = '', artifacts = '[]' WHERE run_id = wanted;
    UPDATE agent.runs SET input = '{"text": ""}', metadata = '{}' WHERE id = wanted;
    INSERT INTO agent.audit (actor, what, detail)
    VALUES (by_whom, 'run.erased', jsonb_build_object('run_id', wanted, 'payloads', erased, 'values', values_erased,
                                                      'files', files_erased, 'reason', why));
    RETURN erased;
END $$;
