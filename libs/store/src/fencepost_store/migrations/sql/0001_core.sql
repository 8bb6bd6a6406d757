-- The core of schema `agent`: runs, their log, interrupts, actions, effects, conversations, outbox.
-- Statuses are text with a named CHECK; state machines are tables, enforced by triggers, by role too.
CREATE SCHEMA agent;
CREATE SCHEMA langgraph;
CREATE SCHEMA app;

CREATE FUNCTION agent.tenant() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT nullif(current_setting('fencepost.tenant', true), '')::uuid $$;

-- Length-delimited bytes; NULL is told apart from empty.
CREATE FUNCTION agent.sized(value bytea) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN value IS NULL THEN int4send(-1) ELSE int4send(octet_length(value)) || value END $$;

-- The event hash; golden vectors bind it to fencepost_domain.chain.event_hash.
CREATE FUNCTION agent.event_hash(run_id uuid, seq bigint, id uuid, type text, schema_version int, actor text,
                                 at timestamptz, causation_id uuid, correlation_id uuid,
                                 payload_hash bytea, prev_hash bytea)
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
SELECT sha256(
    agent.sized('fencepost.event.v1'::bytea) || agent.sized(uuid_send(run_id)) || int8send(seq)
    || agent.sized(uuid_send(id)) || agent.sized(convert_to(type, 'UTF8')) || int4send(schema_version)
    || agent.sized(convert_to(actor, 'UTF8'))
    || int8send((extract(epoch FROM at) * 1000000)::bigint)
    || agent.sized(uuid_send(causation_id)) || agent.sized(uuid_send(correlation_id))
    || agent.sized(payload_hash) || agent.sized(prev_hash))
$$;

CREATE TABLE agent.conversations (
    id            uuid PRIMARY KEY,
    tenant_id     uuid NOT NULL,
    user_id       text NOT NULL,
    title         text NOT NULL DEFAULT '',
    purpose       text NOT NULL DEFAULT 'chat',
    holder_run_id uuid,
    next_seq      bigint NOT NULL DEFAULT 1,
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT conversations_purpose_check CHECK (purpose IN ('chat', 'reminders'))
) WITH (fillfactor = 80);
CREATE INDEX conversations_by_user_idx ON agent.conversations (tenant_id, user_id, id DESC);
-- Where reminders that no conversation made are told: one a user.
CREATE UNIQUE INDEX conversations_one_for_reminders ON agent.conversations (tenant_id, user_id) WHERE purpose = 'reminders';

CREATE TABLE agent.runs (
    id               uuid PRIMARY KEY,
    tenant_id        uuid NOT NULL,
    user_id          text NOT NULL,
    roles            text[] NOT NULL,
    module           text NOT NULL,
    mode             text NOT NULL DEFAULT 'live',
    status           text NOT NULL DEFAULT 'queued',
    waiting_on       text,
    stop             text,
    pause_asked      boolean NOT NULL DEFAULT false,
    rerouted         boolean NOT NULL DEFAULT false,
    revision         bigint NOT NULL DEFAULT 0,
    attempt          integer NOT NULL DEFAULT 0,
    max_attempts     integer NOT NULL DEFAULT 5,
    next_counts      boolean NOT NULL DEFAULT true,
    progress         bigint NOT NULL DEFAULT 0,
    attempt_progress bigint NOT NULL DEFAULT 0,
    wakes            bigint NOT NULL DEFAULT 0,
    lease_owner      text,
    lease_expires_at timestamptz,
    claim_nonce      uuid,
    available_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    rank             timestamptz NOT NULL DEFAULT clock_timestamp(),
    priority         integer NOT NULL DEFAULT 0,
    deadline_at      timestamptz NOT NULL DEFAULT 'infinity',
    deadline_left    interval,
    paused_until     timestamptz,
    drain_until      timestamptz,
    graph_version    text NOT NULL DEFAULT '',
    manifest_fp      text,
    catalog_fp       text,
    conversation_id  uuid NOT NULL REFERENCES agent.conversations (id),
    root_run_id      uuid NOT NULL,
    parent_run_id    uuid,
    event_seq        bigint NOT NULL DEFAULT 0,
    event_head       bytea NOT NULL DEFAULT '\x0000000000000000000000000000000000000000000000000000000000000000',
    input            jsonb NOT NULL,
    locale           text NOT NULL,
    zone             text,
    currency         text NOT NULL,
    metadata         jsonb NOT NULL DEFAULT '{}',
    budget           jsonb NOT NULL DEFAULT '{}',
    route            text NOT NULL,
    idempotency_key  text NOT NULL,
    request_hash     text NOT NULL,
    traceparent      text,
    created_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at       timestamptz,
    finished_at      timestamptz,
    CONSTRAINT runs_mode_check CHECK (mode IN ('live', 'simulation')),
    CONSTRAINT runs_status_check CHECK (status IN ('queued', 'running', 'waiting', 'paused', 'cancelling',
        'succeeded', 'partially_succeeded', 'failed', 'cancelled', 'blocked', 'expired')),
    CONSTRAINT runs_waiting_on_check CHECK (waiting_on IN ('approval', 'input', 'tool', 'reconcile', 'version', 'child')),
    CONSTRAINT runs_stop_check CHECK (stop IN ('cancel', 'deadline')),
    CONSTRAINT runs_leased_iff_running_check CHECK (
        CASE status WHEN 'running' THEN lease_owner IS NOT NULL AND lease_expires_at IS NOT NULL
                    WHEN 'cancelling' THEN (lease_owner IS NULL) = (lease_expires_at IS NULL)
                    ELSE lease_owner IS NULL AND lease_expires_at IS NULL END),
    CONSTRAINT runs_waiting_on_iff_waiting_check CHECK (status <> 'waiting' OR waiting_on IS NOT NULL),
    CONSTRAINT runs_cancelling_names_stop_check CHECK (status <> 'cancelling' OR (stop IS NOT NULL AND drain_until IS NOT NULL)),
    CONSTRAINT runs_paused_has_end_check CHECK (status <> 'paused' OR paused_until IS NOT NULL),
    CONSTRAINT runs_finished_iff_terminal_check CHECK ((finished_at IS NOT NULL) = (status IN
        ('succeeded', 'partially_succeeded', 'failed', 'cancelled', 'blocked', 'expired'))),
    CONSTRAINT runs_one_per_idempotency_key UNIQUE (tenant_id, user_id, route, idempotency_key)
) WITH (fillfactor = 70);
-- No index mentions a lease, a chain head, progress or wakes: renewals and appends stay HOT.
CREATE INDEX runs_claim_idx ON agent.runs (module, graph_version, tenant_id, rank, available_at) WHERE status = 'queued';
CREATE INDEX runs_leased_idx ON agent.runs (id) WHERE status IN ('running', 'cancelling');
CREATE INDEX runs_deadline_idx ON agent.runs (deadline_at)
    WHERE status IN ('queued', 'running', 'waiting', 'paused') AND deadline_at < 'infinity';
CREATE INDEX runs_paused_idx ON agent.runs (paused_until) WHERE status = 'paused';
CREATE INDEX runs_waiting_idx ON agent.runs (waiting_on, id) WHERE status = 'waiting';
CREATE INDEX runs_queue_of_conversation_idx ON agent.runs (conversation_id, id) WHERE status = 'queued';
CREATE INDEX runs_by_user_idx ON agent.runs (tenant_id, user_id, id DESC);
CREATE INDEX runs_by_conversation_idx ON agent.runs (conversation_id, id DESC);
CREATE INDEX runs_by_parent_idx ON agent.runs (parent_run_id) WHERE parent_run_id IS NOT NULL;

CREATE TABLE agent.run_transitions (
    event       text NOT NULL,
    from_status text NOT NULL,
    to_status   text NOT NULL,
    role        text NOT NULL,
    PRIMARY KEY (event, from_status, to_status, role)
);

CREATE FUNCTION agent.check_run_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status = OLD.status THEN
        IF NEW.revision <> OLD.revision THEN
            RAISE EXCEPTION 'run %: revision moves only with the status', OLD.id
                USING ERRCODE = 'FP001', CONSTRAINT = 'runs_revision_moves_with_status';
        END IF;
        RETURN NEW;
    END IF;
    IF NEW.revision <> OLD.revision + 1 THEN
        RAISE EXCEPTION 'run %: each change of status raises the revision by one', OLD.id
            USING ERRCODE = 'FP001', CONSTRAINT = 'runs_revision_moves_with_status';
    END IF;
    -- A role that is no service's (the owner, an operator's repair) is held to the pairs alone.
    IF NOT EXISTS (SELECT FROM agent.run_transitions t
                    WHERE t.from_status = OLD.status AND t.to_status = NEW.status
                      AND (current_user = 'fencepost_' || t.role
                           OR current_user NOT IN ('fencepost_api', 'fencepost_worker', 'fencepost_gateway', 'fencepost_reconciler'))) THEN
        RAISE EXCEPTION 'run %: % may not go from % to %', OLD.id, current_user, OLD.status, NEW.status
            USING ERRCODE = 'FP001', CONSTRAINT = 'runs_transition_in_table';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER runs_transition BEFORE UPDATE OF status, revision ON agent.runs
    FOR EACH ROW EXECUTE FUNCTION agent.check_run_transition();

CREATE TABLE agent.run_events (
    run_id         uuid NOT NULL,
    seq            bigint NOT NULL,
    id             uuid NOT NULL,
    tenant_id      uuid NOT NULL,
    type           text NOT NULL,
    schema_version integer NOT NULL,
    actor          text NOT NULL,
    at             timestamptz NOT NULL,
    causation_id   uuid,
    correlation_id uuid,
    payload_hash   bytea NOT NULL,
    prev_hash      bytea NOT NULL,
    hash           bytea NOT NULL,
    CONSTRAINT run_events_pkey PRIMARY KEY (run_id, seq),
    CONSTRAINT run_events_id_once UNIQUE (run_id, id),
    CONSTRAINT run_events_parent_once UNIQUE (run_id, prev_hash)
) PARTITION BY RANGE (run_id);
CREATE TABLE agent.run_event_payloads (
    run_id    uuid NOT NULL,
    seq       bigint NOT NULL,
    tenant_id uuid NOT NULL,
    salt      bytea NOT NULL,
    payload   bytea NOT NULL,
    CONSTRAINT run_event_payloads_pkey PRIMARY KEY (run_id, seq)
) PARTITION BY RANGE (run_id);
CREATE TABLE agent.run_events_default PARTITION OF agent.run_events DEFAULT;
CREATE TABLE agent.run_event_payloads_default PARTITION OF agent.run_event_payloads DEFAULT;

-- The lowest UUIDv7 of an instant: month bounds of the partitions.
CREATE FUNCTION agent.uuid7_floor(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '0000' || '0000000000000000')::uuid $$;

CREATE TABLE agent.chain_anchors (
    run_id    uuid NOT NULL,
    seq       bigint NOT NULL,
    tenant_id uuid NOT NULL,
    hash      bytea NOT NULL,
    signed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    key_id    text NOT NULL,
    signature bytea NOT NULL,
    PRIMARY KEY (run_id, seq)
);

CREATE FUNCTION agent.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % is refused: this history is append-only', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'FP002', CONSTRAINT = TG_TABLE_NAME || '_append_only';
END $$;
CREATE TRIGGER run_events_append_only BEFORE UPDATE OR DELETE ON agent.run_events
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_change();
CREATE TRIGGER run_events_no_truncate BEFORE TRUNCATE ON agent.run_events
    FOR EACH STATEMENT EXECUTE FUNCTION agent.refuse_change();
CREATE TRIGGER run_event_payloads_append_only BEFORE UPDATE OR DELETE ON agent.run_event_payloads
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_change();
CREATE TRIGGER run_event_payloads_no_truncate BEFORE TRUNCATE ON agent.run_event_payloads
    FOR EACH STATEMENT EXECUTE FUNCTION agent.refuse_change();

CREATE TABLE agent.finalizations (
    run_id              uuid PRIMARY KEY REFERENCES agent.runs (id),
    tenant_id           uuid NOT NULL,
    status              text NOT NULL,
    reason              text NOT NULL,
    code                text,
    node                text,
    explanation         text NOT NULL,
    decided_by          text NOT NULL,
    at                  timestamptz NOT NULL DEFAULT clock_timestamp(),
    evidence            jsonb NOT NULL DEFAULT '{}',
    left_undone         jsonb NOT NULL DEFAULT '[]',
    unconfirmed_effects jsonb NOT NULL DEFAULT '[]',
    usage               jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT finalizations_status_check CHECK (status IN
        ('succeeded', 'partially_succeeded', 'failed', 'cancelled', 'blocked', 'expired')),
    CONSTRAINT finalizations_reason_check CHECK (reason IN ('acceptance_met', 'user_cancelled', 'approval_rejected',
        'approval_expired', 'policy_denied', 'deadline_exceeded', 'budget_exhausted', 'required_task_failed',
        'conflict_unresolved', 'no_progress', 'quality_failed', 'version_revoked', 'attempts_exhausted',
        'model_failed', 'handed_over'))
);
CREATE TRIGGER finalizations_append_only BEFORE UPDATE OR DELETE ON agent.finalizations
    FOR EACH ROW EXECUTE FUNCTION agent.refuse_change();

-- A run that commits as terminal has its finalization in the same transaction (I06).
CREATE FUNCTION agent.check_finalized() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM agent.finalizations f WHERE f.run_id = NEW.id AND f.status = NEW.status) THEN
        RAISE EXCEPTION 'run % ended as % without a finalization', NEW.id, NEW.status
            USING ERRCODE = 'FP001', CONSTRAINT = 'runs_terminal_has_finalization';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER runs_terminal_has_finalization AFTER UPDATE ON agent.runs
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.finished_at IS NOT NULL AND OLD.finished_at IS NULL)
    EXECUTE FUNCTION agent.check_finalized();

CREATE TABLE agent.interrupts (
    id              uuid PRIMARY KEY,
    run_id          uuid NOT NULL REFERENCES agent.runs (id),
    tenant_id       uuid NOT NULL,
    user_id         text NOT NULL,
    kind            text NOT NULL,
    index           integer NOT NULL,
    n               integer NOT NULL,
    indexes         integer[] NOT NULL DEFAULT '{}',
    status          text NOT NULL DEFAULT 'open',
    question        text NOT NULL,
    candidates      jsonb NOT NULL DEFAULT '[]',
    input_schema    jsonb,
    preview         jsonb,
    change          jsonb,
    risk            text,
    opened_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at      timestamptz NOT NULL,
    resolution      jsonb,
    resolution_hash text,
    resolution_key  text,
    resolved_by     text,
    resolved_at     timestamptz,
    CONSTRAINT interrupts_kind_check CHECK (kind IN ('approval', 'input', 'reconcile', 'version')),
    CONSTRAINT interrupts_status_check CHECK (status IN ('open', 'resolved', 'expired', 'withdrawn')),
    CONSTRAINT interrupts_risk_check CHECK (risk IN ('low', 'medium', 'high')),
    CONSTRAINT interrupts_resolved_has_answer_check CHECK ((status = 'resolved') = (resolution IS NOT NULL)),
    CONSTRAINT interrupts_asked_once UNIQUE (run_id, kind, index, n)
);
CREATE UNIQUE INDEX interrupts_one_open_per_run ON agent.interrupts (run_id) WHERE status = 'open';
CREATE INDEX interrupts_expiry_idx ON agent.interrupts (expires_at) WHERE status = 'open';
CREATE INDEX interrupts_open_idx ON agent.interrupts (tenant_id, user_id, id DESC);

CREATE TABLE agent.actions (
    run_id           uuid NOT NULL REFERENCES agent.runs (id),
    index            integer NOT NULL,
    n                integer NOT NULL,
    tenant_id        uuid NOT NULL,
    tool             text NOT NULL,
    tool_version     text NOT NULL,
    catalog_fp       text NOT NULL,
    arguments        text NOT NULL,
    arguments_hash   text NOT NULL,
    author           text NOT NULL,
    risk             text NOT NULL,
    effect_class     text NOT NULL,
    approval         boolean NOT NULL,
    status           text NOT NULL DEFAULT 'prepared',
    preview          jsonb NOT NULL,
    change           jsonb NOT NULL,
    precondition     jsonb NOT NULL,
    token_id         uuid NOT NULL,
    token_key_id     text NOT NULL,
    token_mac        bytea NOT NULL,
    token_expires_at timestamptz NOT NULL,
    token_spent_at   timestamptz,
    interrupt_id     uuid REFERENCES agent.interrupts (id),
    decision         text,
    decided_by       text,
    decided_at       timestamptz,
    note             text,
    prepared_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run_id, index, n),
    CONSTRAINT actions_risk_check CHECK (risk IN ('low', 'medium', 'high')),
    CONSTRAINT actions_effect_class_check CHECK (effect_class IN ('none', 'local', 'external_idempotent',
        'external_queryable', 'external_opaque', 'async')),
    CONSTRAINT actions_status_check CHECK (status IN
        ('prepared', 'withdrawn', 'approved', 'rejected', 'expired', 'committed', 'failed')),
    CONSTRAINT actions_decision_check CHECK (decision IN ('approve', 'reject')),
    CONSTRAINT actions_token_once UNIQUE (token_id)
);
CREATE UNIQUE INDEX actions_one_current_per_index ON agent.actions (run_id, index) WHERE status <> 'withdrawn';

CREATE TABLE agent.effects (
    effect_key   text PRIMARY KEY,
    run_id       uuid NOT NULL REFERENCES agent.runs (id),
    root_run_id  uuid NOT NULL,
    tenant_id    uuid NOT NULL,
    index        integer NOT NULL,
    n            integer NOT NULL,
    tool         text NOT NULL,
    class        text NOT NULL,
    state        text NOT NULL,
    arguments_hash text NOT NULL,
    request      bytea NOT NULL,
    result       jsonb,
    result_invalid boolean NOT NULL DEFAULT false,
    error        jsonb,
    attempts     integer NOT NULL DEFAULT 0,
    settle_after timestamptz,
    next_look_at timestamptz,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT effects_class_check CHECK (class IN ('none', 'local', 'external_idempotent', 'external_queryable',
        'external_opaque', 'async')),
    CONSTRAINT effects_state_check CHECK (state IN ('prepared', 'started', 'accepted', 'completed', 'failed', 'unknown',
        'absent', 'needs_human', 'abandoned', 'withdrawn', 'compensating', 'compensated')),
    CONSTRAINT effects_one_per_action UNIQUE (run_id, index)
);
CREATE INDEX effects_unsettled_idx ON agent.effects (next_look_at)
    WHERE state IN ('started', 'accepted', 'unknown', 'absent', 'needs_human');
CREATE INDEX effects_by_lineage_idx ON agent.effects (root_run_id, tool, arguments_hash);

CREATE TABLE agent.effect_attempts (
    effect_key      text NOT NULL REFERENCES agent.effects (effect_key),
    attempt         integer NOT NULL,
    run_id          uuid NOT NULL,
    tenant_id       uuid NOT NULL,
    executor_boot   text NOT NULL,
    state           text NOT NULL,
    request         bytea NOT NULL,
    outcome         jsonb,
    observations    jsonb NOT NULL DEFAULT '[]',
    started_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempt_ends_at timestamptz NOT NULL,
    settled_at      timestamptz,
    settled_by      text,
    PRIMARY KEY (effect_key, attempt),
    CONSTRAINT effect_attempts_state_check CHECK (state IN ('started', 'completed', 'failed', 'unknown', 'absent'))
);
CREATE UNIQUE INDEX effect_attempts_one_open_per_key ON agent.effect_attempts (effect_key) WHERE state = 'started';
CREATE INDEX effect_attempts_ending_idx ON agent.effect_attempts (attempt_ends_at) WHERE state = 'started';
CREATE INDEX effect_attempts_by_run_idx ON agent.effect_attempts (run_id);

CREATE TABLE agent.model_calls (
    id           uuid PRIMARY KEY,
    run_id       uuid NOT NULL REFERENCES agent.runs (id),
    tenant_id    uuid NOT NULL,
    call_key     text NOT NULL,
    attempt      integer NOT NULL,
    role         text NOT NULL,
    provider     text NOT NULL,
    model        text NOT NULL,
    state        text NOT NULL DEFAULT 'started',
    request_hash text NOT NULL,
    answer       jsonb,
    error        jsonb,
    input_tokens  bigint NOT NULL DEFAULT 0,
    output_tokens bigint NOT NULL DEFAULT 0,
    cost          numeric NOT NULL DEFAULT 0,
    late         boolean NOT NULL DEFAULT false,
    started_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    ends_at      timestamptz NOT NULL,
    settled_at   timestamptz,
    CONSTRAINT model_calls_state_check CHECK (state IN ('started', 'settled', 'failed', 'unknown')),
    CONSTRAINT model_calls_attempt_once UNIQUE (run_id, call_key, attempt)
);
CREATE INDEX model_calls_open_idx ON agent.model_calls (ends_at) WHERE state = 'started';
CREATE UNIQUE INDEX model_calls_one_answer_per_key ON agent.model_calls (run_id, call_key)
    WHERE state = 'settled' AND NOT late;

CREATE TABLE agent.budgets (
    root_run_id   uuid PRIMARY KEY REFERENCES agent.runs (id),
    tenant_id     uuid NOT NULL,
    limits        jsonb NOT NULL,
    model_calls   bigint NOT NULL DEFAULT 0,
    input_tokens  bigint NOT NULL DEFAULT 0,
    output_tokens bigint NOT NULL DEFAULT 0,
    actions       bigint NOT NULL DEFAULT 0,
    cost          numeric NOT NULL DEFAULT 0,
    reserved      jsonb NOT NULL DEFAULT '{}'
) WITH (fillfactor = 80);

CREATE TABLE agent.messages (
    id              uuid PRIMARY KEY,
    conversation_id uuid NOT NULL REFERENCES agent.conversations (id),
    seq             bigint NOT NULL,
    tenant_id       uuid NOT NULL,
    user_id         text NOT NULL,
    run_id          uuid,
    author          text NOT NULL,
    text            text NOT NULL,
    artifacts       jsonb NOT NULL DEFAULT '[]',
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT messages_author_check CHECK (author IN ('user', 'assistant', 'reminder')),
    CONSTRAINT messages_seq_once UNIQUE (conversation_id, seq)
);
CREATE UNIQUE INDEX messages_one_final_per_run ON agent.messages (run_id) WHERE author = 'assistant';
CREATE INDEX messages_by_run_idx ON agent.messages (run_id) WHERE run_id IS NOT NULL;

-- A line for a caller's streams. xid: readers stop before transactions still open (case EV-1).
CREATE TABLE agent.feed (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xid             xid8 NOT NULL DEFAULT pg_current_xact_id(),
    tenant_id       uuid NOT NULL,
    user_id         text NOT NULL,
    conversation_id uuid,
    kind            text NOT NULL,
    data            jsonb NOT NULL,
    at              timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX feed_by_user_idx ON agent.feed (tenant_id, user_id, xid, id);
CREATE INDEX feed_by_age_idx ON agent.feed (at);

CREATE TABLE agent.outbox (
    id           uuid PRIMARY KEY,
    tenant_id    uuid NOT NULL,
    run_id       uuid NOT NULL,
    module       text NOT NULL,
    event_type   text NOT NULL,
    traceparent  text,
    publish_at   timestamptz NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    relay_owner  text,
    relay_until  timestamptz,
    attempts     integer NOT NULL DEFAULT 0,
    published_at timestamptz,
    parked_at    timestamptz,
    park_reason  text,
    CONSTRAINT outbox_parked_is_not_published_check CHECK (parked_at IS NULL OR published_at IS NULL)
) WITH (fillfactor = 70);
CREATE INDEX outbox_due_idx ON agent.outbox (publish_at, id) WHERE published_at IS NULL AND parked_at IS NULL;
CREATE INDEX outbox_parked_idx ON agent.outbox (parked_at) WHERE parked_at IS NOT NULL;
CREATE INDEX outbox_published_idx ON agent.outbox (published_at) WHERE published_at IS NOT NULL;
CREATE INDEX outbox_by_run_idx ON agent.outbox (run_id);

CREATE TABLE agent.inbox (
    consumer    text NOT NULL,
    event_id    uuid NOT NULL,
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (consumer, event_id)
);
CREATE INDEX inbox_by_age_idx ON agent.inbox (received_at);

CREATE TABLE agent.poison_records (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    topic   text NOT NULL,
    part    integer NOT NULL,
    pos     bigint NOT NULL,
    reason  text NOT NULL,
    bytes   bytea NOT NULL,
    kept_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT poison_records_once UNIQUE (topic, part, pos)
);

-- Immutable versions, kept by fingerprint; revoking is the one thing that may happen to them.
CREATE TABLE agent.catalogs (
    fingerprint  text PRIMARY KEY,
    module       text NOT NULL,
    version      text NOT NULL,
    body         text NOT NULL,
    published_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    revoked_at   timestamptz
);
CREATE INDEX catalogs_by_module_idx ON agent.catalogs (module, published_at DESC);
CREATE TABLE agent.manifests (
    fingerprint  text PRIMARY KEY,
    body         text NOT NULL,
    published_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    revoked_at   timestamptz
);
CREATE TABLE agent.definitions (
    fingerprint  text PRIMARY KEY,
    module       text NOT NULL,
    version      text NOT NULL,
    body         text NOT NULL,
    published_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    revoked_at   timestamptz
);
CREATE FUNCTION agent.only_revoke() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR (to_jsonb(NEW) - 'revoked_at') IS DISTINCT FROM (to_jsonb(OLD) - 'revoked_at') THEN
        RAISE EXCEPTION '% of % is refused: published versions are immutable', TG_OP, TG_TABLE_NAME
            USING ERRCODE = 'FP002', CONSTRAINT = TG_TABLE_NAME || '_immutable';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER catalogs_immutable BEFORE UPDATE OR DELETE ON agent.catalogs FOR EACH ROW EXECUTE FUNCTION agent.only_revoke();
CREATE TRIGGER manifests_immutable BEFORE UPDATE OR DELETE ON agent.manifests FOR EACH ROW EXECUTE FUNCTION agent.only_revoke();
CREATE TRIGGER definitions_immutable BEFORE UPDATE OR DELETE ON agent.definitions FOR EACH ROW EXECUTE FUNCTION agent.only_revoke();

CREATE TABLE agent.workers (
    slot        text PRIMARY KEY,
    boot_id     text NOT NULL,
    modules     text[] NOT NULL,
    versions    text[] NOT NULL,
    started_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    alive_until timestamptz NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE agent.tenant_turns (
    module    text NOT NULL,
    tenant_id uuid NOT NULL,
    served_at timestamptz NOT NULL,
    PRIMARY KEY (module, tenant_id)
) WITH (fillfactor = 70);

CREATE TABLE agent.settings (
    tenant_id  uuid NOT NULL,
    user_id    text NOT NULL DEFAULT '',
    body       jsonb NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, user_id)
);

CREATE TABLE agent.principals (
    tenant_id  uuid NOT NULL,
    user_id    text NOT NULL,
    roles      text[] NOT NULL,
    seen_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, user_id)
);

CREATE TABLE agent.artifacts (
    id           uuid PRIMARY KEY,
    tenant_id    uuid NOT NULL,
    user_id      text NOT NULL,
    run_id       uuid,
    name         text NOT NULL,
    media_type   text NOT NULL,
    size_bytes   bigint NOT NULL,
    sha256       bytea NOT NULL,
    status       text NOT NULL DEFAULT 'draft',
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT artifacts_status_check CHECK (status IN ('draft', 'verified', 'rejected', 'partial'))
);

CREATE TABLE agent.state_events (
    conversation_id uuid NOT NULL REFERENCES agent.conversations (id),
    seq             bigint NOT NULL,
    tenant_id       uuid NOT NULL,
    key             text NOT NULL,
    old_value       jsonb,
    new_value       jsonb,
    operation       text NOT NULL,
    source          text NOT NULL,
    event_id        uuid NOT NULL,
    run_id          uuid,
    trace_id        text,
    at              timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (conversation_id, seq)
);
CREATE TABLE agent.state_snapshots (
    conversation_id uuid NOT NULL REFERENCES agent.conversations (id),
    seq             bigint NOT NULL,
    tenant_id       uuid NOT NULL,
    body            jsonb NOT NULL,
    at              timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (conversation_id, seq)
);

CREATE TABLE agent.firings (
    reminder_id uuid NOT NULL,
    occurrence  timestamptz NOT NULL,
    tenant_id   uuid NOT NULL,
    user_id     text NOT NULL,
    status      text NOT NULL,
    late        boolean NOT NULL DEFAULT false,
    message_id  uuid,
    fired_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (reminder_id, occurrence),
    CONSTRAINT firings_status_check CHECK (status IN ('fired', 'skipped'))
);

CREATE TABLE agent.audit (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor  text NOT NULL,
    what   text NOT NULL,
    detail jsonb NOT NULL DEFAULT '{}'
);

-- LangGraph's state, fenced by the run: thread_id == run_id, always (I03).
CREATE TABLE langgraph.checkpoints (
    run_id        uuid NOT NULL REFERENCES agent.runs (id),
    thread_id     uuid NOT NULL,
    checkpoint_ns text NOT NULL DEFAULT '',
    checkpoint_id text NOT NULL,
    parent_id     text,
    tenant_id     uuid NOT NULL,
    revision      bigint NOT NULL,
    serde         text NOT NULL,
    body          bytea NOT NULL,
    metadata      jsonb NOT NULL DEFAULT '{}',
    at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT checkpoints_pkey PRIMARY KEY (run_id, checkpoint_ns, checkpoint_id),
    CONSTRAINT checkpoints_thread_is_run_check CHECK (thread_id = run_id)
);
CREATE TABLE langgraph.writes (
    run_id        uuid NOT NULL REFERENCES agent.runs (id),
    thread_id     uuid NOT NULL,
    checkpoint_ns text NOT NULL DEFAULT '',
    checkpoint_id text NOT NULL,
    task_id       text NOT NULL,
    idx           integer NOT NULL,
    tenant_id     uuid NOT NULL,
    revision      bigint NOT NULL,
    channel       text NOT NULL,
    task_path     text NOT NULL DEFAULT '',
    serde         text NOT NULL,
    body          bytea NOT NULL,
    CONSTRAINT writes_pkey PRIMARY KEY (run_id, checkpoint_ns, checkpoint_id, task_id, idx),
    CONSTRAINT writes_thread_is_run_check CHECK (thread_id = run_id)
);
