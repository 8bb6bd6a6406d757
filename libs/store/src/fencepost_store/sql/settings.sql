-- read_settings --
-- Why: the tenant's settings and the person's over them.
-- Locks: none.  Clock: none.
-- Result: up to two rows; user_id '' is the tenant's.
SELECT user_id, body FROM agent.settings WHERE tenant_id = agent.tenant() AND user_id IN ('', :user_id);

-- claim_for_run --
-- Why: a request's first question in one statement: what a new run is made by, the settings over each other and the
-- budgets that hold its user, and (and_claim: claim_key as a relation) what its key means.
-- Locks: claim_key's.  Clock: database.
-- Result: one row, with claim_key's columns; counters of a window that is over are left out.
SELECT (SELECT jsonb_object_agg(s.user_id, s.body)
          FROM agent.settings s
         WHERE s.tenant_id = agent.tenant() AND s.user_id IN ('', :user_id)) AS settings,
       (SELECT jsonb_agg(jsonb_build_object(
                   'user_id', b.user_id, 'per', b.per, 'limits', b.limits, 'reserved', CAST('{}' AS jsonb),
                   'starts_at', CASE WHEN b.per <> 'total' THEN b.begins END,
                   'ends_at', CASE WHEN b.per <> 'total' THEN
                       (b.begins AT TIME ZONE 'UTC' + CAST('1 ' || b.per AS interval)) AT TIME ZONE 'UTC' END,
                   'used', CASE WHEN b.window_start = b.begins THEN jsonb_build_object(
                                'model_calls', b.model_calls, 'input_tokens', b.input_tokens,
                                'output_tokens', b.output_tokens, 'cost', CAST(b.cost AS text), 'actions', b.actions) ELSE '{}' END))
          FROM (SELECT s.*, agent.budget_window(s.per, clock_timestamp()) AS begins
                  FROM agent.shared_budgets s
                 WHERE s.tenant_id = agent.tenant() AND s.user_id IN ('', :user_id)) AS b) AS budgets,
       clock_timestamp() AS now{and_claim};

-- lock_settings --
-- Why: two patches at once must both be kept.
-- Locks: the settings' row, made when absent.  Clock: database.
-- Result: the body as it is under the lock.
INSERT INTO agent.settings AS s (tenant_id, user_id, body)
VALUES (agent.tenant(), :user_id, '{}')
ON CONFLICT (tenant_id, user_id) DO UPDATE SET updated_at = clock_timestamp()
RETURNING s.body;

-- write_settings --
-- Why: the merged body.
-- Locks: the settings' row, held.  Clock: database.
-- Result: none.
UPDATE agent.settings
   SET body = CAST(:body AS jsonb),
       updated_at = clock_timestamp()
 WHERE tenant_id = agent.tenant()
   AND user_id = :user_id;

-- see_principal --
-- Why: the rights of today, which a recovering run is checked against. Somebody seen within the minute with these
--      roles is left alone: all requests of one account would wait for each other's commit at its row.
-- Locks: the principal's row, unless it is left alone.  Clock: database.
-- Result: none.
INSERT INTO agent.principals AS p (tenant_id, user_id, roles)
SELECT agent.tenant(), :user_id, CAST(:roles AS text[])
 WHERE NOT EXISTS (SELECT FROM agent.principals AS s
                    WHERE s.tenant_id = agent.tenant() AND s.user_id = :user_id AND s.roles = CAST(:roles AS text[])
                      AND s.seen_at > clock_timestamp() - interval '1 minute')
ON CONFLICT (tenant_id, user_id) DO UPDATE SET roles = excluded.roles, seen_at = clock_timestamp();
