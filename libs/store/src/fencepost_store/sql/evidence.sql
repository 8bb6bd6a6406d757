-- export_head --
-- Why: what a bundle's header says of its run, and how far the bundle goes: what is appended later isn't in it.
-- Locks: none.  Clock: none.
-- Result: one row, with the newest anchor; none for another tenant's.
SELECT r.id, r.tenant_id, r.user_id, r.module, r.mode, r.status, r.root_run_id, r.origin_run_id, r.origin_kind, r.origin_seq,
       r.event_seq, r.event_head, nullif(r.graph_version, '') AS graph, r.manifest_fp, r.catalog_fp, r.created_at, r.finished_at,
       a.seq AS anchor_seq, a.hash AS anchor_hash, a.key_id, a.signature, a.signed_at,
       clock_timestamp() AS exported_at
  FROM agent.runs r
  LEFT JOIN LATERAL (SELECT c.* FROM agent.chain_anchors c WHERE c.run_id = r.id AND c.seq <= r.event_seq
                      ORDER BY c.seq DESC LIMIT 1) AS a ON true
 WHERE r.id = :run_id;

-- export_artifacts --
-- Why: what a run made, by hash; of an erased file only that it was.
-- Locks: none.  Clock: none.
-- Result: a row an artifact.
SELECT id, name, media_type, size_bytes AS size, sha256,
       CASE WHEN erased_at IS NOT NULL THEN 'erased' ELSE status END AS status
  FROM agent.artifacts WHERE run_id = :run_id ORDER BY id;

-- replay_events --
-- Why: what folds read of a run's log, up to a seq: no hashes, and payloads only of the types that the view looks into.
-- Locks: none.  Clock: none.
-- Result: one row a page of events, in order: their columns as arrays, their payloads as one text, a JSON array with null for
-- one that isn't there. (A row an event would cost five times as much, an array of bytea, which goes as hex, twice.)
WITH page AS MATERIALIZED (
    SELECT e.seq, e.type, e.schema_version, e.at, e.actor
      FROM agent.run_events e
     WHERE e.run_id = :run_id
       AND e.seq > :after
       AND e.seq <= :upto
       AND (CAST(:only AS text[]) IS NULL OR e.type = ANY (CAST(:only AS text[])))
     ORDER BY e.seq
     LIMIT :limit
)
SELECT array_agg(x.seq) AS seqs, array_agg(x.type) AS types, array_agg(x.schema_version) AS versions,
       array_agg(CAST(extract(epoch FROM x.at) * 1000000 AS bigint)) AS ats, array_agg(x.actor) AS actors,
       '[' || string_agg(coalesce(convert_from(x.payload, 'UTF8'), 'null'), ',') || ']' AS payloads
  FROM (SELECT page.*, p.payload
          FROM page
          LEFT JOIN agent.run_event_payloads p
            ON p.run_id = :run_id AND p.seq = page.seq
           AND p.seq > :after AND p.seq <= (SELECT max(page.seq) FROM page)
           AND (CAST(:reads AS text[]) IS NULL OR page.type = ANY (CAST(:reads AS text[])))
         ORDER BY page.seq) AS x;

-- replay_counts --
-- Why: the summary of a long log is counted where it lies: no event leaves the database for it.
-- Locks: none.  Clock: none.
-- Result: a row a type, in the order of its first event: how many, the first and last seq; payloads: of all types together.
SELECT e.type, count(*) AS events, min(e.seq) AS first_seq, max(e.seq) AS last_seq,
       (SELECT count(*) FROM agent.run_event_payloads p WHERE p.run_id = :run_id AND p.seq <= :upto) AS payloads
  FROM agent.run_events e
 WHERE e.run_id = :run_id
   AND e.seq <= :upto
 GROUP BY e.type
 ORDER BY min(e.seq);

-- replay_instants --
-- Why: when the first and the last of the counted events were.
-- Locks: none.  Clock: none.
-- Result: a row a seq asked for, in order.
SELECT e.seq, e.at
  FROM agent.run_events e
 WHERE e.run_id = :run_id
   AND e.seq = ANY (CAST(:seqs AS bigint[]))
 ORDER BY e.seq;

-- all_anchors --
-- Why: anchors leave the database, where its owner can't write them anew.
-- Locks: none.  Clock: none.
-- Result: a page in the order of (run, seq), the signed ones first of all that there are.
SELECT run_id, seq, hash, key_id, signature, signed_at
  FROM agent.chain_anchors
 WHERE (run_id, seq) > (:after_run, :after_seq)
 ORDER BY run_id, seq
 LIMIT :limit;

-- anchored_events --
-- Why: is what an anchor outside the database names still in it, unchanged?
-- Locks: none.  Clock: none.
-- Result: a row an anchor asked for: whether its run is there, its head, and the hash now; `kept` is the newest anchor here.
SELECT w.place, r.id IS NOT NULL AS has_run, r.event_seq AS head_seq, e.hash, k.seq AS kept_seq, k.hash AS kept_hash,
       r.event_head, EXISTS (SELECT FROM agent.run_events v WHERE v.run_id = w.run_id) AS has_events
  FROM unnest(CAST(:run_ids AS uuid[]), CAST(:seqs AS bigint[])) WITH ORDINALITY AS w (run_id, seq, place)
  LEFT JOIN agent.runs r ON r.id = w.run_id
  LEFT JOIN agent.run_events e ON e.run_id = w.run_id AND e.seq = w.seq
  LEFT JOIN LATERAL (SELECT c.seq, c.hash FROM agent.chain_anchors c WHERE c.run_id = w.run_id
                      ORDER BY c.seq DESC LIMIT 1) AS k ON true
 ORDER BY w.place;

-- made_from --
-- Why: what was inherited from a run is said by those that inherited it, too; so are its words by who shortened them.
-- Locks: none.  Clock: none.
-- Result: the runs made from this one: retries, forks, simulations; and those whose log holds a summary of it.
SELECT id FROM agent.runs WHERE origin_run_id = :run_id
UNION
SELECT c.run_id
  FROM agent.messages m
  JOIN agent.compactions c ON c.conversation_id = m.conversation_id AND m.seq BETWEEN c.from_seq AND c.upto_seq
 WHERE m.run_id = :run_id
 ORDER BY id;

-- erased_parts --
-- Why: what an erasure removed besides payloads.
-- Locks: none.  Clock: none.
-- Result: the audit's detail of the newest erasure of this run.
SELECT detail FROM agent.audit WHERE what = 'run.erased' AND detail ->> 'run_id' = CAST(:run_id AS text) ORDER BY at DESC LIMIT 1;

-- erase_run --
-- Why: the owner's function removes what the run's history says; what it held is counted.
-- Locks: the run's row, FOR NO KEY UPDATE, then everything that belongs to it.  Clock: database.
-- Result: how many payloads were removed. Raises for a run that isn't there or hasn't ended.
SELECT agent.erase_run(:run_id, :by, :reason) AS erased;
