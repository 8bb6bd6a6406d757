-- newest_compaction --
-- Why: what stands for the older part of a conversation, as far as this run may know of it: committed by it or by a run
--      whose words were said before its own. Whether it still fits is told by compaction_sources.
-- Locks: none.  Clock: none.
-- Result: the newest one with its candidate's payload (NULL when erased), or no row.
SELECT c.id, c.from_seq, c.upto_seq, c.source_hash, c.summary_hash, p.payload
  FROM agent.compactions c
  JOIN agent.run_events k ON k.run_id = c.run_id AND k.seq = c.committed_seq AND k.type = 'compaction.committed'
  JOIN agent.run_events d ON d.run_id = c.run_id AND d.seq = c.candidate_seq AND d.type = 'compaction.candidate'
  LEFT JOIN agent.run_event_payloads p ON p.run_id = c.run_id AND p.seq = c.candidate_seq
 WHERE c.conversation_id = :conversation_id
   AND c.tenant_id = :tenant_id
   AND c.before_seq <= coalesce((SELECT min(seq) FROM agent.messages WHERE run_id = :run_id), 9223372036854775807)
 ORDER BY c.before_seq DESC, c.upto_seq DESC, c.committed_seq DESC
 LIMIT 1;

-- compaction_sources --
-- Why: what a compaction is made of, as one hash: the turns' words, their calls and what became of each. Asked when one
--      is made, and again whenever it is read.
-- Locks: none.  Clock: none.
-- Result: hash, and the numbers of the messages.
SELECT encode(sha256(convert_to(coalesce(string_agg(s.line, E'\n' ORDER BY s.seq, s.place), ''), 'UTF8')), 'hex') AS hash,
       coalesce(array_agg(s.seq ORDER BY s.seq) FILTER (WHERE s.place = -1), '{}') AS seqs
  FROM (SELECT m.seq, -1 AS place, jsonb_build_array(m.seq, m.author, m.run_id, m.text)::text AS line
          FROM agent.messages m
         WHERE m.conversation_id = :conversation_id AND m.seq BETWEEN :from_seq AND :upto_seq
           AND m.author IN ('user', 'assistant')
        UNION ALL
        SELECT m.seq, a.index, jsonb_build_array(a.index, a.tool, a.arguments, a.status, e.state, e.result, e.error)::text
          FROM agent.messages m
          JOIN agent.actions a ON a.run_id = m.run_id AND a.status <> 'withdrawn'
          LEFT JOIN agent.effects e ON e.run_id = a.run_id AND e.index = a.index
         WHERE m.conversation_id = :conversation_id AND m.seq BETWEEN :from_seq AND :upto_seq
           AND m.author = 'user') AS s;

-- left_undone --
-- Why: what earlier runs themselves said they left undone: tasks that a summary has to keep.
-- Locks: none.  Clock: none.
-- Result: a row per run that left something.
SELECT f.run_id, f.left_undone FROM agent.finalizations f
 WHERE f.run_id = ANY (CAST(:run_ids AS uuid[])) AND f.left_undone <> '[]'
 ORDER BY f.run_id;

-- insert_compaction --
-- Why: from here on the summary is found by this run and those behind it; in the transaction of compaction.committed.
--      Its events are looked up in the run's own log, so there is no row without both.
-- Locks: none besides the run's row, held by record.  Clock: database.
-- Result: the row's id, or no row when the fence is lost or an event is missing.
INSERT INTO agent.compactions (id, tenant_id, conversation_id, run_id, before_seq, from_seq, upto_seq, candidate_seq,
                               committed_seq, source_hash, summary_hash)
SELECT CAST(:id AS uuid), r.tenant_id, r.conversation_id, r.id,
       (SELECT min(m.seq) FROM agent.messages m WHERE m.run_id = r.id),
       :from_seq, :upto_seq, d.seq, k.seq, :source_hash, :summary_hash
  FROM agent.runs r
  JOIN agent.run_events d ON d.run_id = r.id AND d.id = :candidate_event AND d.type = 'compaction.candidate'
  JOIN agent.run_events k ON k.run_id = r.id AND k.id = :committed_event AND k.type = 'compaction.committed'
 WHERE r.id = :run_id
   AND r.status = 'running'
   AND r.revision = :revision
   AND r.lease_owner = :owner
   AND r.lease_expires_at > clock_timestamp()
RETURNING id;
