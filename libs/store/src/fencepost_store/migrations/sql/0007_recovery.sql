-- Recovery, hand-over, repairs (design 02 §6, §7).
-- gate_revision: the revision for which the recovery gate said that the run may go on. NULL: it never had to be asked.
-- continues_run_id: the handed-over run that this one goes on from.
ALTER TABLE agent.runs ADD COLUMN gate_revision bigint, ADD COLUMN continues_run_id uuid;
CREATE INDEX runs_by_continued_idx ON agent.runs (continues_run_id) WHERE continues_run_id IS NOT NULL;

ALTER TABLE agent.runs DROP CONSTRAINT runs_stop_check;
ALTER TABLE agent.runs ADD CONSTRAINT runs_stop_check CHECK (stop IN ('cancel', 'deadline', 'handoff'));

GRANT UPDATE (gate_revision) ON agent.runs TO fencepost_worker;
-- The reconciler asks what becomes of a run that nobody serves; it can't answer.
GRANT INSERT (id, run_id, tenant_id, user_id, kind, index, n, indexes, question, candidates, expires_at)
    ON agent.interrupts TO fencepost_reconciler;

-- The one way by which somebody else than a sweep takes a lease: an operator's repair of exactly this revision. It is
-- raised, so the owner's fence is lost at once (I05); the audit row says who and why. The api appends the event.
CREATE FUNCTION agent.release_lease(wanted uuid, at_revision bigint, who text, why text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, agent AS $$
DECLARE
    was record;
    now_at bigint;
BEGIN
    SELECT status, lease_owner INTO was FROM agent.runs
     WHERE id = wanted AND tenant_id = agent.tenant() AND revision = at_revision AND lease_owner IS NOT NULL
       FOR NO KEY UPDATE;
    IF NOT FOUND OR was.status NOT IN ('running', 'cancelling') OR who = '' OR why = '' THEN
        RETURN NULL;
    END IF;
    UPDATE agent.runs
       SET status = CASE was.status WHEN 'running' THEN 'queued' ELSE was.status END,
           revision = revision + CASE was.status WHEN 'running' THEN 1 ELSE 0 END,
           lease_owner = NULL,
           lease_expires_at = NULL,
           claim_nonce = NULL,
           available_at = clock_timestamp(),
           next_counts = false
     WHERE id = wanted
    RETURNING revision INTO now_at;
    INSERT INTO agent.audit (actor, what, detail)
    VALUES (who, 'release_lease', jsonb_build_object('run_id', wanted, 'revision', at_revision, 'owner', was.lease_owner,
                                                     'reason', why));
    RETURN now_at;
END $$;

-- What an operator of the platform needs before a tenant can be named: whose runs are live. Ids only.
CREATE FUNCTION agent.tenants_with_live_runs() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, agent
AS $$ SELECT DISTINCT tenant_id FROM agent.runs WHERE finished_at IS NULL ORDER BY 1 $$;
-- How many other tenants with due work of a module were served longer ago: a number, for "why isn't mine next?".
CREATE FUNCTION agent.tenants_before(of_module text, of_tenant uuid) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, agent
AS $$
SELECT count(*)
  FROM (SELECT DISTINCT tenant_id FROM agent.runs
         WHERE status = 'queued' AND module = of_module AND tenant_id <> of_tenant
           AND available_at <= clock_timestamp()) AS d
  LEFT JOIN agent.tenant_turns o ON o.module = of_module AND o.tenant_id = d.tenant_id
 WHERE coalesce(o.served_at, '-infinity') < coalesce(
         (SELECT m.served_at FROM agent.tenant_turns m WHERE m.module = of_module AND m.tenant_id = of_tenant), '-infinity')
$$;
REVOKE EXECUTE ON FUNCTION agent.release_lease(uuid, bigint, text, text),
    agent.tenants_with_live_runs(), agent.tenants_before(text, uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION agent.release_lease(uuid, bigint, text, text),
    agent.tenants_with_live_runs(), agent.tenants_before(text, uuid) TO fencepost_api;
