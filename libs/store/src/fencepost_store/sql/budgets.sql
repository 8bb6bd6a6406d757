-- take_action --
-- Why: a tool action is taken from the budgets of the tenant, the user and the lineage, from all or from none. What
--      undoes an effect is never held up by what used their budgets up.
-- Locks: shared budgets (the tenant's, then the user's), the root run's budget; after the action's row.
-- Clock: database, read above the locks.
-- Result: one row: the limit that is reached, or NULL; no row when there is no budget row.
WITH shared AS MATERIALIZED (
    SELECT s.*
      FROM agent.shared_budgets s
     WHERE s.tenant_id = agent.tenant()
       AND s.user_id IN ('', :user_id)
       AND NOT EXISTS (SELECT FROM agent.runs r WHERE r.id = :root_run_id AND r.origin_kind = 'compensation')
     ORDER BY s.user_id, s.per
       FOR NO KEY UPDATE
), lineage AS MATERIALIZED (
    SELECT b.root_run_id, b.actions, b.limits
      FROM agent.budgets b
     WHERE b.root_run_id = :root_run_id
       AND (SELECT count(*) FROM shared) >= 0
       FOR NO KEY UPDATE
), now AS MATERIALIZED (
    SELECT clock_timestamp() AS at FROM lineage
), short AS MATERIALIZED (
    SELECT 3 AS rank, 'actions' AS reached
      FROM lineage l
     WHERE l.actions >= coalesce(CAST(l.limits ->> 'actions' AS bigint), :default_limit)
    UNION ALL
    SELECT CASE s.user_id WHEN '' THEN 1 ELSE 2 END, CASE s.user_id WHEN '' THEN 'tenant' ELSE 'user' END || '_actions'
      FROM shared s CROSS JOIN now
     WHERE CASE s.window_start WHEN agent.budget_window(s.per, now.at) THEN s.actions ELSE 0 END
           >= CAST(s.limits ->> 'actions' AS numeric)
), taken AS (
    UPDATE agent.budgets b
       SET actions = b.actions + 1
      FROM lineage l
     WHERE b.root_run_id = l.root_run_id
       AND NOT EXISTS (SELECT FROM short)
), counted AS (
    UPDATE agent.shared_budgets s
       SET actions       = 1 + CASE WHEN same THEN s.actions ELSE 0 END,
           model_calls   = CASE WHEN same THEN s.model_calls ELSE 0 END,
           input_tokens  = CASE WHEN same THEN s.input_tokens ELSE 0 END,
           output_tokens = CASE WHEN same THEN s.output_tokens ELSE 0 END,
           cost          = CASE WHEN same THEN s.cost ELSE 0 END,
           window_start  = w.begins
      FROM (SELECT h.tenant_id, h.user_id, h.per, agent.budget_window(h.per, now.at) AS begins,
                   h.window_start = agent.budget_window(h.per, now.at) AS same
              FROM shared h CROSS JOIN now) AS w
     WHERE (s.tenant_id, s.user_id, s.per) = (w.tenant_id, w.user_id, w.per)
       AND NOT EXISTS (SELECT FROM short)
)
SELECT (SELECT reached FROM short ORDER BY rank, reached LIMIT 1) AS reached FROM lineage;

-- take_recovery --
-- Why: a lineage repeats external tools a limited number of times, over all its actions.
-- Locks: the root run's budget, after the run's and the action's rows.  Clock: none.
-- Result: the count, or no row when the limit is reached.
UPDATE agent.budgets
   SET recoveries = recoveries + 1
 WHERE root_run_id = (SELECT root_run_id FROM agent.runs WHERE id = :run_id)
   AND recoveries < coalesce(CAST(limits ->> 'recoveries' AS bigint), :default_limit)
RETURNING recoveries;

-- shared_budgets --
-- Why: the budgets of a tenant and one user, or of all its users, as they stand in the window of now.
-- Locks: none.  Clock: database.
-- Result: a row a budget; counters of a window that is over are zero.
SELECT s.user_id, s.per, s.limits, s.set_by, s.set_at, CASE WHEN s.per <> 'total' THEN w.begins END AS starts_at,
       CASE WHEN s.per <> 'total' THEN
            (w.begins AT TIME ZONE 'UTC' + CAST('1 ' || s.per AS interval)) AT TIME ZONE 'UTC' END AS ends_at,
       CASE WHEN s.window_start = w.begins THEN jsonb_build_object(
            'model_calls', s.model_calls, 'input_tokens', s.input_tokens, 'output_tokens', s.output_tokens,
            'cost', CAST(trim_scale(s.cost) AS text), 'actions', s.actions) ELSE '{}' END AS used,
       jsonb_build_object('input_tokens', s.reserved_input, 'output_tokens', s.reserved_output,
                          'cost', CAST(trim_scale(s.reserved_cost) AS text)) AS reserved,
       w.at AS now
  FROM agent.shared_budgets s
  CROSS JOIN LATERAL (SELECT agent.budget_window(s.per, clock_timestamp()) AS begins, clock_timestamp() AS at) AS w
 WHERE s.tenant_id = agent.tenant()
   AND (CAST(:everybody AS boolean) OR s.user_id IN ('', :user_id))
 ORDER BY s.user_id, s.per;

-- set_shared_budget --
-- Why: an admin gives a tenant or a user a limit; what was used in its window stays counted.
-- Locks: the budget's row, made when absent.  Clock: database.
-- Result: none.
INSERT INTO agent.shared_budgets AS s (tenant_id, user_id, per, limits, set_by)
VALUES (agent.tenant(), :user_id, :per, CAST(:limits AS jsonb), :set_by)
ON CONFLICT (tenant_id, user_id, per) DO UPDATE
   SET limits = excluded.limits, set_by = excluded.set_by, set_at = clock_timestamp();

-- remove_shared_budget --
-- Why: no limit any more; calls in flight settle without it.
-- Locks: the budget's row.  Clock: none.
-- Result: one row when there was one.
DELETE FROM agent.shared_budgets
 WHERE tenant_id = agent.tenant()
   AND user_id = :user_id
   AND per = :per
RETURNING 1 AS removed;

-- i23_budget_is_what_was_used --
-- Why: I23. A lineage's budget holds what its calls used and what those in flight reserved, no more and no less.
-- Locks: none.  Clock: none.
-- Result: lineages whose counters say otherwise.
SELECT 'budget ' || b.root_run_id AS subject,
       'counts ' || b.model_calls || ' calls, ' || b.input_tokens || '/' || b.output_tokens || ' tokens, cost ' || b.cost
       || '; its calls say ' || coalesce(u.calls, 0) || ', ' || coalesce(u.input, 0) || '/' || coalesce(u.output, 0)
       || ', ' || coalesce(u.cost, 0) AS detail
  FROM agent.budgets b
  LEFT JOIN (
       SELECT r.root_run_id, count(*) AS calls, sum(c.input_tokens) AS input, sum(c.output_tokens) AS output, sum(c.cost) AS cost,
              coalesce(sum(c.reserved_input) FILTER (WHERE c.state = 'started'), 0) AS open_input,
              coalesce(sum(c.reserved_output) FILTER (WHERE c.state = 'started'), 0) AS open_output,
              coalesce(sum(c.reserved_cost) FILTER (WHERE c.state = 'started'), 0) AS open_cost
         FROM agent.model_calls c
         JOIN agent.runs r ON r.id = c.run_id
        GROUP BY r.root_run_id) AS u USING (root_run_id)
 WHERE (b.model_calls, b.input_tokens, b.output_tokens, b.cost, b.reserved_input, b.reserved_output, b.reserved_cost)
       IS DISTINCT FROM (coalesce(u.calls, 0), coalesce(u.input, 0), coalesce(u.output, 0), coalesce(u.cost, 0),
                         coalesce(u.open_input, 0), coalesce(u.open_output, 0), coalesce(u.open_cost, 0));
