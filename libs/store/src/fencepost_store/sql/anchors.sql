-- heads_to_anchor --
-- Why: chain heads that changed since they were anchored; live runs once a minute, finished ones at once.
-- Locks: none; a head and its seq are one row's.  Clock: database.
-- Result: the heads among the next :batch runs, and the last id looked at (also when there is no head to anchor).
WITH looked AS MATERIALIZED (
    SELECT r.id, r.tenant_id, r.event_seq, r.event_head, r.finished_at
      FROM agent.runs r
     WHERE r.id > :after
     ORDER BY r.id
     LIMIT :batch
)
SELECT walk.upto, walk.runs, head.id AS run_id, head.tenant_id, head.event_seq AS seq, head.event_head AS hash
  FROM (SELECT CAST(max(CAST(id AS text)) AS uuid) AS upto, count(*) AS runs FROM looked) AS walk
  LEFT JOIN (SELECT l.*
               FROM looked l
              WHERE NOT EXISTS (SELECT FROM agent.chain_anchors a WHERE a.run_id = l.id AND a.seq = l.event_seq)
                AND (l.finished_at IS NOT NULL
                     OR NOT EXISTS (SELECT FROM agent.chain_anchors a
                                     WHERE a.run_id = l.id AND a.signed_at > clock_timestamp() - interval '1 minute'))
            ) AS head ON true;

-- insert_anchors --
-- Why: a head is anchored once; two reconcilers that sign the same one write the same.
-- Locks: the keys' index entries.  Clock: database.
-- Result: how many are new, by the row count.
INSERT INTO agent.chain_anchors (run_id, seq, tenant_id, hash, key_id, signature)
SELECT a.run_id, a.seq, a.tenant_id, a.hash, :key_id, a.signature
  FROM unnest(CAST(:run_ids AS uuid[]), CAST(:seqs AS bigint[]), CAST(:tenant_ids AS uuid[]), CAST(:hashes AS bytea[]),
              CAST(:signatures AS bytea[])) AS a (run_id, seq, tenant_id, hash, signature)
ON CONFLICT (run_id, seq) DO NOTHING;

-- signed_anchors --
-- Why: `verify` checks signatures when it is given the keys.
-- Locks: none.  Clock: none.
-- Result: every signed anchor.
SELECT run_id, seq, hash, key_id, signature FROM agent.chain_anchors WHERE key_id <> '' ORDER BY run_id, seq;
