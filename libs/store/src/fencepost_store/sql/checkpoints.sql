-- write_group --
-- Why: one statement carries the checkpoints and pending writes of many runs, each under its own record fence.
--      Completed with SKIP LOCKED, or with nothing when a single run is waited for.
-- Locks: the named runs in id order, FOR NO KEY UPDATE.  Clock: database, read above the lock.
-- Result: a row per named run: written (also when all of it is there under its own ids already), busy or lost.
WITH asked AS MATERIALIZED (
    SELECT a.run_id, a.owner, a.revision
      FROM unnest(CAST(:run_ids AS uuid[]), CAST(:owners AS text[]), CAST(:revisions AS bigint[])) AS a (run_id, owner, revision)
), held AS MATERIALIZED (
    SELECT r.id, r.tenant_id, r.status, r.revision, r.lease_owner, r.lease_expires_at
      FROM agent.runs r
     WHERE r.id = ANY (CAST(:run_ids AS uuid[]))
     ORDER BY r.id
       FOR NO KEY UPDATE {skip}
), passed AS MATERIALIZED (
    SELECT h.id, h.tenant_id, h.revision
      FROM held h
      JOIN asked a ON a.run_id = h.id
     WHERE h.status = 'running'
       AND h.revision = a.revision
       AND h.lease_owner = a.owner
       AND h.lease_expires_at > clock_timestamp()
), given AS MATERIALIZED (
    SELECT * FROM unnest(CAST(:c_runs AS uuid[]), CAST(:c_spaces AS text[]), CAST(:c_ids AS text[]), CAST(:c_parents AS text[]),
                         CAST(:c_serdes AS text[]), CAST(:c_bodies AS bytea[]), CAST(:c_metadata AS text[]))
           WITH ORDINALITY AS c (run_id, space, id, parent_id, serde, body, metadata, place)
), pending AS MATERIALIZED (
    SELECT * FROM unnest(CAST(:w_runs AS uuid[]), CAST(:w_spaces AS text[]), CAST(:w_ids AS text[]), CAST(:w_tasks AS text[]),
                         CAST(:w_places AS int[]), CAST(:w_channels AS text[]), CAST(:w_paths AS text[]),
                         CAST(:w_serdes AS text[]), CAST(:w_bodies AS bytea[]))
           AS w (run_id, space, id, task_id, place, channel, path, serde, body)
), stored AS (
    INSERT INTO langgraph.checkpoints (run_id, thread_id, checkpoint_ns, checkpoint_id, parent_id, tenant_id, revision,
                                       serde, body, metadata)
    SELECT p.id, p.id, g.space, g.id, g.parent_id, p.tenant_id, p.revision, g.serde, g.body, CAST(g.metadata AS jsonb)
      FROM given g
      JOIN passed p ON p.id = g.run_id
     ORDER BY g.place
    ON CONFLICT ON CONSTRAINT checkpoints_pkey DO NOTHING
    RETURNING run_id
), noted AS (
    -- Special writes (error, interrupt, resume: a negative place) are replaced, ordinary ones are kept.
    INSERT INTO langgraph.writes AS w (run_id, thread_id, checkpoint_ns, checkpoint_id, task_id, idx, tenant_id, revision,
                                       channel, task_path, serde, body)
    SELECT p.id, p.id, n.space, n.id, n.task_id, n.place, p.tenant_id, p.revision, n.channel, n.path, n.serde, n.body
      FROM pending n
      JOIN passed p ON p.id = n.run_id
    ON CONFLICT ON CONSTRAINT writes_pkey DO UPDATE
       SET revision = excluded.revision, channel = excluded.channel, task_path = excluded.task_path,
           serde = excluded.serde, body = excluded.body
     WHERE excluded.idx < 0
    RETURNING w.run_id
), raised AS (
    -- Once an attempt: all that is asked of it is whether something was stored since the last one that counted. Each
    -- time would write the whole row anew for every checkpoint.
    UPDATE agent.runs r
       SET progress = r.progress + 1
      FROM passed p
     WHERE r.id = p.id
       AND r.progress = r.attempt_progress
       AND EXISTS (SELECT FROM stored s WHERE s.run_id = p.id)
    RETURNING r.id
)
SELECT a.run_id,
       CASE WHEN p.id IS NOT NULL THEN 'written'
            WHEN NOT EXISTS (SELECT FROM given g
                              WHERE g.run_id = a.run_id
                                AND NOT EXISTS (SELECT FROM langgraph.checkpoints c
                                                 WHERE c.run_id = g.run_id AND c.checkpoint_ns = g.space AND c.checkpoint_id = g.id))
             AND NOT EXISTS (SELECT FROM pending n
                              WHERE n.run_id = a.run_id
                                AND NOT EXISTS (SELECT FROM langgraph.writes w
                                                 WHERE w.run_id = n.run_id AND w.checkpoint_ns = n.space
                                                   AND w.checkpoint_id = n.id AND w.task_id = n.task_id AND w.idx = n.place
                                                   AND w.revision = a.revision)) THEN 'written'
            WHEN h.id IS NULL AND EXISTS (SELECT FROM agent.runs r WHERE r.id = a.run_id) THEN 'busy'
            ELSE 'lost'
       END AS answer
  FROM asked a
  LEFT JOIN held h ON h.id = a.run_id
  LEFT JOIN passed p ON p.id = a.run_id;

-- newest_checkpoint --
-- Why: where a run goes on from: what was stored last. Ids are made of the worker's clock, which may be wrong.
-- Locks: none.  Clock: none.
-- Result: one row, or none for a run that was never checkpointed.
SELECT checkpoint_ns, checkpoint_id, parent_id, serde, body, metadata
  FROM langgraph.checkpoints
 WHERE run_id = :run_id
   AND checkpoint_ns = :space
 ORDER BY place DESC
 LIMIT 1;

-- checkpoint_by_id --
-- Why: one named checkpoint.
-- Locks: none.  Clock: none.
-- Result: one row or none.
SELECT checkpoint_ns, checkpoint_id, parent_id, serde, body, metadata
  FROM langgraph.checkpoints
 WHERE run_id = :run_id
   AND checkpoint_ns = :space
   AND checkpoint_id = :id;

-- list_checkpoints --
-- Why: a run's checkpoints, newest first. space, before and id NULL: all.
-- Locks: none.  Clock: none.
-- Result: at most `limit` rows (NULL: all).
SELECT checkpoint_ns, checkpoint_id, parent_id, serde, body, metadata
  FROM langgraph.checkpoints
 WHERE run_id = :run_id
   AND (CAST(:space AS text) IS NULL OR checkpoint_ns = :space)
   AND (CAST(:id AS text) IS NULL OR checkpoint_id = :id)
   AND (CAST(:before AS text) IS NULL
        OR place < (SELECT max(b.place) FROM langgraph.checkpoints b WHERE b.run_id = :run_id AND b.checkpoint_id = :before))
   AND metadata @> CAST(:filter AS jsonb)
 ORDER BY place DESC
 LIMIT CAST(:limit AS bigint);

-- pending_writes --
-- Why: what tasks of a checkpoint's superstep wrote before the next checkpoint, in the order execution applies them.
-- Locks: none.  Clock: none.
-- Result: a row per write.
SELECT task_id, channel, serde, body
  FROM langgraph.writes
 WHERE run_id = :run_id
   AND checkpoint_ns = :space
   AND checkpoint_id = :id
 ORDER BY task_path, task_id, idx;

-- delete_checkpoints --
-- Why: forget a run's graph state, its writes first. The caller holds the run's row and its fence.
-- Locks: the deleted rows.  Clock: none.
-- Result: none.
WITH gone AS (
    DELETE FROM langgraph.writes WHERE run_id = :run_id
)
DELETE FROM langgraph.checkpoints WHERE run_id = :run_id;
