-- open_model_call_in_all --
-- Why: as open_model_call, where a tenant or a user has a budget, or a limit is reached: the worst case is reserved in
--      every scope that has a limit, in all of them or in none (I23), and what stands in the way is named.
-- Locks: the run's row, FOR NO KEY UPDATE, then shared budgets (the tenant's, then the user's), then the root run's
--        budget row.  Clock: database, read above the locks.
-- Result: one row: whether the start fence holds, the stored answer, or the number of the opened attempt; neither
--      of the two when a limit is reached, which `reached` names (NULL: there is no budget row).
WITH held AS MATERIALIZED (
    SELECT id, tenant_id, user_id, root_run_id, status, revision, lease_owner, lease_expires_at, deadline_at
      FROM agent.runs
     WHERE id = :run_id
       FOR NO KEY UPDATE
), passed AS MATERIALIZED (
    SELECT held.*, clock_timestamp() AS at
      FROM held
     WHERE status = 'running'
       AND revision = :revision
       AND lease_owner = :owner
       AND lease_expires_at > clock_timestamp()
       AND deadline_at > clock_timestamp()
), answered AS MATERIALIZED (
    SELECT c.answer
      FROM agent.model_calls c
      JOIN passed p ON p.id = c.run_id
     WHERE c.call_key = :call_key
       AND c.state = 'settled'
       AND NOT c.late
), shared AS MATERIALIZED (
    SELECT s.*, agent.budget_window(s.per, p.at) AS begins
      FROM agent.shared_budgets s
      JOIN passed p ON s.tenant_id = p.tenant_id AND s.user_id IN ('', p.user_id)
     WHERE NOT EXISTS (SELECT FROM answered)
     ORDER BY s.user_id, s.per
       FOR NO KEY UPDATE OF s
), lineage AS MATERIALIZED (
    SELECT b.*
      FROM agent.budgets b
      JOIN passed p ON b.root_run_id = p.root_run_id
     WHERE NOT EXISTS (SELECT FROM answered)
       AND (SELECT count(*) FROM shared) >= 0
       FOR NO KEY UPDATE OF b
), measured (rank, scope, kind, after, most) AS MATERIALIZED (
    SELECT 3, '', v.kind, v.after, v.most
      FROM lineage l
     CROSS JOIN LATERAL (VALUES
           ('model_calls', l.model_calls + 1, coalesce(CAST(l.limits ->> 'model_calls' AS numeric), :total_calls)),
           ('input_tokens', l.input_tokens + l.reserved_input + :in_tokens, CAST(l.limits ->> 'input_tokens' AS numeric)),
           ('output_tokens', l.output_tokens + l.reserved_output + :out_tokens, CAST(l.limits ->> 'output_tokens' AS numeric)),
           ('cost', l.cost + l.reserved_cost + CAST(:cost AS numeric), CAST(l.limits ->> 'cost' AS numeric)),
           ('role_calls', coalesce(CAST(l.role_calls ->> :role AS numeric), 0) + 1, :calls)) AS v (kind, after, most)
    UNION ALL
    SELECT CASE s.user_id WHEN '' THEN 1 ELSE 2 END, CASE s.user_id WHEN '' THEN 'tenant_' ELSE 'user_' END,
           v.kind, v.after, CAST(s.limits ->> v.kind AS numeric)
      FROM shared s
     CROSS JOIN LATERAL (SELECT CASE WHEN s.window_start = s.begins THEN 1 ELSE 0 END AS counts) AS w
     CROSS JOIN LATERAL (VALUES
           ('model_calls', w.counts * s.model_calls + CAST(1 AS numeric)),
           ('input_tokens', w.counts * s.input_tokens + s.reserved_input + :in_tokens),
           ('output_tokens', w.counts * s.output_tokens + s.reserved_output + :out_tokens),
           ('cost', w.counts * s.cost + s.reserved_cost + CAST(:cost AS numeric))) AS v (kind, after)
), short AS MATERIALIZED (
    SELECT rank, scope || kind AS reached FROM measured WHERE after > most
), reserved AS (
    UPDATE agent.budgets b
       SET model_calls     = b.model_calls + 1,
           reserved_input  = b.reserved_input + :in_tokens,
           reserved_output = b.reserved_output + :out_tokens,
           reserved_cost   = b.reserved_cost + CAST(:cost AS numeric),
           role_calls      = b.role_calls || jsonb_build_object(CAST(:role AS text), coalesce(CAST(b.role_calls ->> :role AS bigint), 0) + 1)
      FROM lineage l
     WHERE b.root_run_id = l.root_run_id
       AND NOT EXISTS (SELECT FROM short)
    RETURNING b.tenant_id
), reserved_shared AS (
    UPDATE agent.shared_budgets s
       SET window_start    = h.begins,
           model_calls     = 1 + CASE WHEN s.window_start = h.begins THEN s.model_calls ELSE 0 END,
           input_tokens    = CASE WHEN s.window_start = h.begins THEN s.input_tokens ELSE 0 END,
           output_tokens   = CASE WHEN s.window_start = h.begins THEN s.output_tokens ELSE 0 END,
           cost            = CASE WHEN s.window_start = h.begins THEN s.cost ELSE 0 END,
           actions         = CASE WHEN s.window_start = h.begins THEN s.actions ELSE 0 END,
           reserved_input  = s.reserved_input + :in_tokens,
           reserved_output = s.reserved_output + :out_tokens,
           reserved_cost   = s.reserved_cost + CAST(:cost AS numeric)
      FROM shared h
     WHERE (s.tenant_id, s.user_id, s.per) = (h.tenant_id, h.user_id, h.per)
       AND NOT EXISTS (SELECT FROM short)
), opened AS (
    INSERT INTO agent.model_calls (id, run_id, tenant_id, call_key, attempt, role, provider, model, request_hash, ends_at,
                                   reserved_input, reserved_output, reserved_cost, reserved_in, currency, prices)
    SELECT :id, :run_id, reserved.tenant_id, :call_key,
           1 + (SELECT count(*) FROM agent.model_calls c WHERE c.run_id = :run_id AND c.call_key = :call_key),
           :role, :provider, :model, :request_hash, clock_timestamp() + CAST(:within AS interval),
           :in_tokens, :out_tokens, CAST(:cost AS numeric),
           (SELECT array_agg(CASE user_id WHEN '' THEN 't:' ELSE 'u:' END || per) FROM shared), :currency, :prices
      FROM reserved
    RETURNING attempt
)
SELECT EXISTS (SELECT FROM passed) AS holds,
       (SELECT answer FROM answered) AS answer,
       (SELECT attempt FROM opened) AS attempt,
       (SELECT reached FROM short ORDER BY rank, reached LIMIT 1) AS reached;

-- settle_model_call_in_all --
-- Why: as settle_model_call, where it was reserved in shared budgets too, or its time was over: what was reserved is
--      given back and what was used is charged in the same scopes; where the sweep had charged the reservation in
--      full, only the difference.
-- Locks: the attempt's row, shared budgets (the tenant's, then the user's), the budget's row.  Clock: database.
-- Result: whether it is late, or no row when it was settled before.
WITH attempt AS MATERIALIZED (
    SELECT c.*
      FROM agent.model_calls c
     WHERE c.id = :id
       AND c.state IN ('started', 'unknown')
       FOR NO KEY UPDATE
), whose AS MATERIALIZED (
    SELECT a.run_id, a.tenant_id, a.reserved_in, r.user_id, r.root_run_id, clock_timestamp() AS at,
           CASE a.state WHEN 'started' THEN 1 ELSE 0 END AS open, a.reserved_input, a.reserved_output, a.reserved_cost,
           :input_tokens - a.input_tokens AS more_input, :output_tokens - a.output_tokens AS more_output,
           CAST(:cost AS numeric) - a.cost AS more_cost
      FROM attempt a
      JOIN agent.runs r ON r.id = a.run_id
), shared AS MATERIALIZED (
    SELECT s.tenant_id, s.user_id, s.per, agent.budget_window(s.per, w.at) AS begins
      FROM whose w
      JOIN agent.shared_budgets s
        ON s.tenant_id = w.tenant_id
       AND s.user_id IN ('', w.user_id)
       AND CASE s.user_id WHEN '' THEN 't:' ELSE 'u:' END || s.per = ANY (w.reserved_in)
     ORDER BY s.user_id, s.per
       FOR NO KEY UPDATE OF s
), settled AS (
    UPDATE agent.model_calls c
       SET state = :state,
           answer = CAST(:answer AS jsonb),
           error = CAST(:error AS jsonb),
           input_tokens = :input_tokens,
           output_tokens = :output_tokens,
           cost = CAST(:cost AS numeric),
           late = :late OR EXISTS (SELECT FROM agent.model_calls o
                                    WHERE o.run_id = c.run_id AND o.call_key = c.call_key AND o.state = 'settled' AND NOT o.late),
           settled_at = clock_timestamp()
      FROM attempt a
     WHERE c.id = a.id
    RETURNING c.late
), charged_shared AS (
    UPDATE agent.shared_budgets s
       SET window_start    = h.begins,
           model_calls     = CASE WHEN s.window_start = h.begins THEN s.model_calls ELSE 0 END,
           actions         = CASE WHEN s.window_start = h.begins THEN s.actions ELSE 0 END,
           input_tokens    = greatest(0, CASE WHEN s.window_start = h.begins THEN s.input_tokens ELSE 0 END + w.more_input),
           output_tokens   = greatest(0, CASE WHEN s.window_start = h.begins THEN s.output_tokens ELSE 0 END + w.more_output),
           cost            = greatest(0, CASE WHEN s.window_start = h.begins THEN s.cost ELSE 0 END + w.more_cost),
           reserved_input  = greatest(0, s.reserved_input - w.open * w.reserved_input),
           reserved_output = greatest(0, s.reserved_output - w.open * w.reserved_output),
           reserved_cost   = greatest(0, s.reserved_cost - w.open * w.reserved_cost)
      FROM shared h CROSS JOIN whose w
     WHERE (s.tenant_id, s.user_id, s.per) = (h.tenant_id, h.user_id, h.per)
), charged AS (
    UPDATE agent.budgets b
       SET input_tokens    = b.input_tokens + w.more_input,
           output_tokens   = b.output_tokens + w.more_output,
           cost            = b.cost + w.more_cost,
           reserved_input  = b.reserved_input - w.open * w.reserved_input,
           reserved_output = b.reserved_output - w.open * w.reserved_output,
           reserved_cost   = b.reserved_cost - w.open * w.reserved_cost
      FROM whose w
     WHERE b.root_run_id = w.root_run_id
       AND (SELECT count(*) FROM shared) >= 0
)
SELECT late FROM settled;

-- time_out_model_calls --
-- Why: a call past its end without an answer is unknown; a late answer is still kept and billed, never used. Nobody
--      knows what it cost, so what was reserved for it is charged in full (I23), and the reservation has its end.
-- Locks: the calls, SKIP LOCKED, shared budgets in key order, then budgets in key order; no run is written.
-- Clock: database.
-- Result: the calls' ids.
WITH overdue AS MATERIALIZED (
    SELECT id, run_id, tenant_id, reserved_in, reserved_input, reserved_output, reserved_cost
      FROM agent.model_calls
     WHERE state = 'started'
       AND ends_at <= statement_timestamp()
     ORDER BY ends_at
     LIMIT :batch
       FOR NO KEY UPDATE SKIP LOCKED
), owed AS MATERIALIZED (
    SELECT o.*, r.root_run_id, r.user_id FROM overdue o JOIN agent.runs r ON r.id = o.run_id
), owed_shared AS MATERIALIZED (
    SELECT o.tenant_id, CASE WHEN k LIKE 't:%' THEN '' ELSE o.user_id END AS user_id, substr(k, 3) AS per,
           sum(o.reserved_input) AS input, sum(o.reserved_output) AS output, sum(o.reserved_cost) AS cost
      FROM owed o CROSS JOIN LATERAL unnest(o.reserved_in) AS k
     GROUP BY 1, 2, 3
), shared AS MATERIALIZED (
    SELECT s.tenant_id, s.user_id, s.per, agent.budget_window(s.per, statement_timestamp()) AS begins
      FROM agent.shared_budgets s
     WHERE (s.tenant_id, s.user_id, s.per) IN (SELECT tenant_id, user_id, per FROM owed_shared)
     ORDER BY s.tenant_id, s.user_id, s.per
       FOR NO KEY UPDATE
), lineages AS MATERIALIZED (
    SELECT b.root_run_id
      FROM agent.budgets b
     WHERE b.root_run_id IN (SELECT root_run_id FROM owed)
       AND (SELECT count(*) FROM shared) >= 0
     ORDER BY b.root_run_id
       FOR NO KEY UPDATE
), charged_shared AS (
    UPDATE agent.shared_budgets s
       SET window_start    = h.begins,
           model_calls     = CASE WHEN s.window_start = h.begins THEN s.model_calls ELSE 0 END,
           actions         = CASE WHEN s.window_start = h.begins THEN s.actions ELSE 0 END,
           input_tokens    = CASE WHEN s.window_start = h.begins THEN s.input_tokens ELSE 0 END + o.input,
           output_tokens   = CASE WHEN s.window_start = h.begins THEN s.output_tokens ELSE 0 END + o.output,
           cost            = CASE WHEN s.window_start = h.begins THEN s.cost ELSE 0 END + o.cost,
           reserved_input  = greatest(0, s.reserved_input - o.input),
           reserved_output = greatest(0, s.reserved_output - o.output),
           reserved_cost   = greatest(0, s.reserved_cost - o.cost)
      FROM shared h
      JOIN owed_shared o USING (tenant_id, user_id, per)
     WHERE (s.tenant_id, s.user_id, s.per) = (h.tenant_id, h.user_id, h.per)
), charged AS (
    UPDATE agent.budgets b
       SET input_tokens    = b.input_tokens + o.input,
           output_tokens   = b.output_tokens + o.output,
           cost            = b.cost + o.cost,
           reserved_input  = b.reserved_input - o.input,
           reserved_output = b.reserved_output - o.output,
           reserved_cost   = b.reserved_cost - o.cost
      FROM (SELECT root_run_id, sum(reserved_input) AS input, sum(reserved_output) AS output, sum(reserved_cost) AS cost
              FROM owed GROUP BY root_run_id) AS o
      JOIN lineages l USING (root_run_id)
     WHERE b.root_run_id = o.root_run_id
)
UPDATE agent.model_calls c
   SET state = 'unknown',
       input_tokens = o.reserved_input,
       output_tokens = o.reserved_output,
       cost = o.reserved_cost,
       settled_at = clock_timestamp()
  FROM owed o
 WHERE c.id = o.id
RETURNING c.id;
