-- Each statement returns what breaks its invariant as (subject, detail), none when it holds; as integrity.sql.

-- i11_state_log_is_whole --
-- Why: I11. No change of a conversation's state is lost: numbers without a gap, each old value the one before.
-- Locks: none.  Clock: none.
-- Result: conversations and changes that break it.
SELECT 'state of conversation ' || h.conversation_id AS subject,
       'its head is at change ' || h.seq || ', its log has ' || count(e.seq) || ' up to ' || coalesce(max(e.seq), 0) AS detail
  FROM agent.state_heads h
  LEFT JOIN agent.state_events e ON e.conversation_id = h.conversation_id
 GROUP BY h.conversation_id, h.seq
HAVING h.seq <> count(e.seq) OR h.seq <> coalesce(max(e.seq), 0)
UNION ALL
SELECT 'state of conversation ' || t.conversation_id, 'change ' || t.seq || ' of ' || t.key || ' does not follow the one before it'
  FROM (SELECT conversation_id, seq, key, old_value, old_erased_by, at,
               lag(new_value) OVER (PARTITION BY conversation_id, key ORDER BY seq) AS previous,
               lag(new_erased_by) OVER (PARTITION BY conversation_id, key ORDER BY seq) AS previous_erased_by,
               lag(at) OVER (PARTITION BY conversation_id ORDER BY seq) AS earlier
          FROM agent.state_events) AS t
 WHERE t.old_value IS DISTINCT FROM t.previous
    OR (t.old_erased_by IS NULL) <> (t.previous_erased_by IS NULL)
    OR t.at < t.earlier;

-- i20_erased_is_no_loss --
-- Why: I20. A value or a file that is gone was erased by somebody's order, which the log of the run it was for tells.
-- Locks: none.  Clock: none.
-- Result: changes without a value that nobody erased, erasures that no log tells, erased files that nobody removes.
SELECT 'state of conversation ' || e.conversation_id AS subject,
       'change ' || e.seq || ' of ' || e.key || ' has no value, and nobody erased it' AS detail
  FROM agent.state_events e
 WHERE e.operation <> 'delete' AND e.new_value IS NULL AND e.new_erased_by IS NULL
UNION ALL
SELECT 'state of conversation ' || e.conversation_id,
       'change ' || e.seq || ' of ' || e.key || ' was erased for run ' || coalesce(e.new_erased_by, e.old_erased_by)
       || ', whose log doesn''t say so'
  FROM agent.state_events e
 WHERE (e.new_erased_by IS NOT NULL OR e.old_erased_by IS NOT NULL)
   AND NOT EXISTS (SELECT FROM agent.run_events v
                    WHERE v.run_id = coalesce(e.new_erased_by, e.old_erased_by) AND v.type = 'erased')
   AND EXISTS (SELECT FROM agent.run_events v WHERE v.run_id = coalesce(e.new_erased_by, e.old_erased_by))
UNION ALL
SELECT 'artifact ' || f.id, 'it was erased, and nothing says that its bytes are to be removed'
  FROM agent.artifacts f
 WHERE f.erased_at IS NOT NULL
   AND NOT EXISTS (SELECT FROM agent.artifact_removals m WHERE m.artifact_id = f.id);

-- i11_state_is_its_fold --
-- Why: what prompts and conditions read is what the log says.
-- Locks: none.  Clock: none.
-- Result: heads and snapshots that differ from the fold of the changes up to them.
SELECT 'state of conversation ' || k.conversation_id AS subject, k.what || ' at change ' || k.seq || ' is not the fold of the log' AS detail
  FROM (SELECT 'its head' AS what, conversation_id, seq, body FROM agent.state_heads
        UNION ALL SELECT 'its snapshot', conversation_id, seq, body FROM agent.state_snapshots) AS k
 WHERE k.body IS DISTINCT FROM
       (SELECT coalesce(jsonb_object_agg(l.key, l.new_value) FILTER (WHERE l.new_value IS NOT NULL), '{}')
          FROM (SELECT DISTINCT ON (e.key) e.key, e.new_value
                  FROM agent.state_events e
                 WHERE e.conversation_id = k.conversation_id AND e.seq <= k.seq
                 ORDER BY e.key, e.seq DESC) AS l);

-- i11_state_change_has_its_event --
-- Why: I11. A call's change of state is told by an event of its run, in the same transaction.
-- Locks: none.  Clock: none.
-- Result: runs whose calls changed a state without one.
SELECT DISTINCT 'run ' || s.run_id AS subject, 'its calls changed a state and no event tells it' AS detail
  FROM agent.state_events s
 WHERE s.run_id IS NOT NULL
   AND s.source LIKE 'tool:%'
   AND NOT EXISTS (SELECT FROM agent.run_events e WHERE e.run_id = s.run_id AND e.type = 'state.changed')
   AND NOT EXISTS (SELECT FROM agent.chain_anchors a JOIN agent.runs r ON r.id = a.run_id
                    WHERE a.run_id = s.run_id AND a.seq = r.event_seq);

-- i29_versions_have_one_owner --
-- Why: I29. An artifact's versions are one owner's, numbered without a gap from the first.
-- Locks: none.  Clock: none.
-- Result: lineages that break it.
SELECT 'artifact ' || first_id AS subject,
       count(*) || ' versions up to ' || max(version) || ' of ' || count(DISTINCT (tenant_id, user_id)) || ' owners' AS detail
  FROM agent.artifacts
 WHERE first_id IS NOT NULL
 GROUP BY first_id
HAVING count(*) <> max(version) OR min(version) <> 1 OR count(DISTINCT (tenant_id, user_id)) <> 1;

-- i30_committed_is_what_was_checked --
-- Why: I30. A summary that runs may read was a candidate without a fault in its run's own log, committed behind it, for
--      messages of its conversation; and what the log says was committed is found by those runs.
-- Locks: none.  Clock: none.
-- Result: compactions that break it, and committed ones that nobody finds. A pruned log leaves its anchor.
SELECT 'compaction ' || c.id AS subject,
       CASE WHEN d.type IS DISTINCT FROM 'compaction.candidate' OR k.type IS DISTINCT FROM 'compaction.committed'
            THEN 'run ' || c.run_id || ' has no candidate and commit at ' || c.candidate_seq || ' and ' || c.committed_seq
            WHEN NOT s.whole THEN 'it stands for messages that are not its conversation''s'
            ELSE 'what was committed is not the candidate that was checked' END AS detail
  FROM agent.compactions c
  LEFT JOIN agent.run_events d ON d.run_id = c.run_id AND d.seq = c.candidate_seq
  LEFT JOIN agent.run_events k ON k.run_id = c.run_id AND k.seq = c.committed_seq
  LEFT JOIN LATERAL (SELECT convert_from(p.payload, 'UTF8')::jsonb AS said
                       FROM agent.run_event_payloads p WHERE p.run_id = c.run_id AND p.seq = c.candidate_seq) AS w ON true
  LEFT JOIN LATERAL (SELECT convert_from(p.payload, 'UTF8')::jsonb AS said
                       FROM agent.run_event_payloads p WHERE p.run_id = c.run_id AND p.seq = c.committed_seq) AS m ON true
 CROSS JOIN LATERAL (SELECT count(*) = 2 - (c.from_seq = c.upto_seq)::int AS whole
                       FROM agent.messages g
                       JOIN agent.runs r ON r.id = c.run_id AND r.conversation_id = g.conversation_id AND r.tenant_id = g.tenant_id
                      WHERE g.conversation_id = c.conversation_id AND g.tenant_id = c.tenant_id
                        AND g.seq IN (c.from_seq, c.upto_seq)) AS s
 WHERE (d.type IS DISTINCT FROM 'compaction.candidate' OR k.type IS DISTINCT FROM 'compaction.committed' OR NOT s.whole
        OR w.said IS NOT NULL
           AND (w.said -> 'faults' <> '[]'
                OR (w.said ->> 'compaction_id', w.said ->> 'source_hash', w.said ->> 'summary_hash')
                   IS DISTINCT FROM (c.id::text, c.source_hash, c.summary_hash)
                OR m.said IS NOT NULL
                   AND (m.said ->> 'compaction_id', m.said ->> 'source_hash', m.said ->> 'summary_hash')
                       IS DISTINCT FROM (c.id::text, c.source_hash, c.summary_hash)))
   AND NOT EXISTS (SELECT FROM agent.chain_anchors a JOIN agent.runs r ON r.id = a.run_id
                    WHERE a.run_id = c.run_id AND a.seq = r.event_seq AND d.seq IS NULL)
UNION ALL
SELECT 'run ' || e.run_id, 'event ' || e.seq || ' says a summary was committed, and nobody finds it'
  FROM agent.run_events e
 WHERE e.type = 'compaction.committed'
   AND NOT EXISTS (SELECT FROM agent.compactions c WHERE c.run_id = e.run_id AND c.committed_seq = e.seq);
