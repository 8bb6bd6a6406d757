-- open_model_call --
-- Why: a resumed node reads the ledger before it asks (I15); else the attempt is in the ledger before it is sent, and
--      its worst case is reserved at the same moment (I23). Nobody else settles for this run since the claim that gave
--      this fence, so an answer seen before the lock is the answer. Where a tenant or a user has a budget of its own
--      nothing is opened here: open_model_call_in_all does it. Few do, and nobody else pays for the question.
-- Locks: the run's row, FOR NO KEY UPDATE, then the root run's budget row.  Clock: database, read above the lock.
-- Result: one row: whether the start fence holds, the stored answer, or the number of the opened attempt; neither
--      of the two when a limit is reached or there are more budgets to ask.
WITH held AS MATERIALIZED (
    SELECT id, tenant_id, user_id, root_run_id, status, revision, lease_owner, lease_expires_at, deadline_at
      FROM agent.runs
     WHERE id = :run_id
       FOR NO KEY UPDATE
), passed AS MATERIALIZED (
    SELECT *
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
), reserved AS (
    UPDATE agent.budgets b
       SET model_calls     = b.model_calls + 1,
           reserved_input  = b.reserved_input + :in_tokens,
           reserved_output = b.reserved_output + :out_tokens,
           reserved_cost   = b.reserved_cost + CAST(:cost AS numeric),
           role_calls      = b.role_calls || jsonb_build_object(CAST(:role AS text), coalesce(CAST(b.role_calls ->> :role AS bigint), 0) + 1)
      FROM passed p
     WHERE b.root_run_id = p.root_run_id
       AND NOT EXISTS (SELECT FROM answered)
       AND NOT EXISTS (SELECT FROM agent.shared_budgets s WHERE s.tenant_id = p.tenant_id AND s.user_id IN ('', p.user_id))
       AND b.model_calls < coalesce(CAST(b.limits ->> 'model_calls' AS bigint), :total_calls)
       AND coalesce(CAST(b.role_calls ->> :role AS bigint), 0) < :calls
       AND coalesce(b.input_tokens + b.reserved_input + :in_tokens <= CAST(b.limits ->> 'input_tokens' AS numeric), true)
       AND coalesce(b.output_tokens + b.reserved_output + :out_tokens <= CAST(b.limits ->> 'output_tokens' AS numeric), true)
       AND coalesce(b.cost + b.reserved_cost + CAST(:cost AS numeric) <= CAST(b.limits ->> 'cost' AS numeric), true)
    RETURNING b.tenant_id
), opened AS (
    INSERT INTO agent.model_calls (id, run_id, tenant_id, call_key, attempt, role, provider, model, request_hash, ends_at,
                                   reserved_input, reserved_output, reserved_cost, currency, prices)
    SELECT :id, :run_id, reserved.tenant_id, :call_key,
           1 + (SELECT count(*) FROM agent.model_calls c WHERE c.run_id = :run_id AND c.call_key = :call_key),
           :role, :provider, :model, :request_hash, clock_timestamp() + CAST(:within AS interval),
           :in_tokens, :out_tokens, CAST(:cost AS numeric), :currency, :prices
      FROM reserved
    RETURNING attempt
)
SELECT EXISTS (SELECT FROM passed) AS holds,
       (SELECT answer FROM answered) AS answer,
       (SELECT attempt FROM opened) AS attempt;

-- settle_model_call --
-- Why: an attempt's outcome, once: by compare-and-set on the attempt, whatever became of the run meanwhile. An answer
--      that comes when its key was answered, or when the run is another's, is kept as late and never used. What was
--      reserved is given back, what was used is charged. One reserved in shared budgets, or whose time was over, is
--      left to settle_model_call_in_all.
-- Locks: the attempt's row, the budget's row.  Clock: database.
-- Result: whether it is late, or no row when nothing was settled here.
WITH settled AS (
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
     WHERE c.id = :id
       AND c.state = 'started'
       AND c.reserved_in IS NULL
    RETURNING c.run_id, c.late, c.reserved_input, c.reserved_output, c.reserved_cost
), charged AS (
    UPDATE agent.budgets b
       SET input_tokens    = b.input_tokens + :input_tokens,
           output_tokens   = b.output_tokens + :output_tokens,
           cost            = b.cost + CAST(:cost AS numeric),
           reserved_input  = b.reserved_input - s.reserved_input,
           reserved_output = b.reserved_output - s.reserved_output,
           reserved_cost   = b.reserved_cost - s.reserved_cost
      FROM settled s
      JOIN agent.runs r ON r.id = s.run_id
     WHERE b.root_run_id = r.root_run_id
)
SELECT late FROM settled;

-- conversation_turns --
-- Why: what was said before this run in its conversation, oldest first.
-- Locks: none.  Clock: none.
-- Result: at most `limit` messages behind number `after`, the newest ones.
SELECT m.seq, m.run_id, m.author, m.text, m.created_at
  FROM (SELECT seq, run_id, author, text, created_at
          FROM agent.messages
         WHERE conversation_id = :conversation_id
           AND seq > :after
           AND author IN ('user', 'assistant')
           AND run_id IS DISTINCT FROM CAST(:run_id AS uuid)
           AND seq < coalesce((SELECT min(seq) FROM agent.messages WHERE run_id = :run_id), 9223372036854775807)
         ORDER BY seq DESC
         LIMIT :limit) AS m
 ORDER BY m.seq;

-- conversation_actions --
-- Why: the calls of earlier runs of a conversation and what became of each, so that every call has its answer.
-- Locks: none.  Clock: none.
-- Result: a row per current action.
SELECT a.run_id, a.index, a.tool, a.arguments, a.status, e.state AS effect_state, e.result, e.error
  FROM agent.actions a
  LEFT JOIN agent.effects e ON e.run_id = a.run_id AND e.index = a.index
 WHERE a.run_id = ANY (CAST(:run_ids AS uuid[]))
   AND a.status <> 'withdrawn'
 ORDER BY a.run_id, a.index;
