-- insert_artifact --
-- Why: an artifact's row comes after its bytes, once per key; a twin under the same key waits here and finds it.
-- Locks: the key's index entry.  Clock: database.
-- Result: its id, or no row when the key has one already.
INSERT INTO agent.artifacts (id, tenant_id, user_id, run_id, name, media_type, size_bytes, sha256, status, first_id,
                             version, origin, evidence, route, idempotency_key, request_hash)
VALUES (:id, :tenant_id, :user_id, :run_id, :display_name, :media_type, :size_bytes, :sha256, :status, :first_id, :version,
        :origin, CAST(:evidence AS jsonb), :route, :key, :request_hash)
ON CONFLICT ON CONSTRAINT artifacts_one_per_key DO NOTHING
RETURNING id;

-- artifact_by_key --
-- Why: the same key again gives what it made; another request under it is refused.
-- Locks: none.  Clock: none.
-- Result: the row, or no row.
SELECT id, request_hash FROM agent.artifacts WHERE user_id = :user_id AND route = :route AND idempotency_key = :key;

-- lock_lineage --
-- Why: the next version follows the newest, and only its owner writes it: versions are made one after the other.
-- Locks: the first version's row, FOR NO KEY UPDATE.  Clock: none.
-- Result: the lineage's first id and owner, or no row for what isn't there.
SELECT f.id AS first_id, f.user_id
  FROM agent.artifacts f
 WHERE f.id = (SELECT first_id FROM agent.artifacts WHERE id = :id)
   FOR NO KEY UPDATE;

-- newest_version --
-- Why: read by a statement after the lock: beside it, what was committed during the wait isn't seen.
-- Locks: the lineage's, held.  Clock: none.
-- Result: the newest version's number.
SELECT max(version) AS newest FROM agent.artifacts WHERE first_id = :first_id;

-- artifact --
-- Why: one artifact as the api shows it.
-- Locks: none.  Clock: none.
-- Result: the row; no row for another user's, when one is named.
SELECT id, tenant_id, user_id, run_id, name, media_type, size_bytes, sha256, status, first_id, version, origin, evidence,
       lost, lost_at, checked_at, created_at, erased_at
  FROM agent.artifacts
 WHERE id = :id
   AND (CAST(:user_id AS text) IS NULL OR user_id = :user_id);

-- readable_artifact --
-- Why: what a tool reads for a run: its user's, attached to it or made by it, or by another run of its conversation.
-- Locks: none.  Clock: none.
-- Result: the row, or no row, which is the same for what isn't there and what is another's.
SELECT a.id, a.tenant_id, a.name, a.media_type, a.size_bytes, a.sha256, a.status
  FROM agent.artifacts a
  JOIN agent.runs r ON r.id = :run_id
 WHERE a.id = :id
   AND a.tenant_id = r.tenant_id
   AND a.user_id = r.user_id
   AND a.erased_at IS NULL
   AND EXISTS (SELECT
                 FROM agent.runs o
                WHERE o.conversation_id = r.conversation_id
                  AND o.user_id = r.user_id
                  AND (o.id = a.run_id OR o.input -> 'attachments' @> to_jsonb(CAST(a.id AS text))));

-- artifacts_of_run --
-- Why: what the recovery gate reads again: a run's own files and those it was given.
-- Locks: none.  Clock: none.
-- Result: those that aren't erased or known to be lost, in the order of their ids.
SELECT f.id, f.tenant_id, f.size_bytes, f.sha256
  FROM agent.runs r
  JOIN agent.artifacts f ON f.tenant_id = r.tenant_id AND f.user_id = r.user_id
   AND (f.run_id = r.id OR f.id::text IN (SELECT jsonb_array_elements_text(
        CASE jsonb_typeof(r.input -> 'attachments') WHEN 'array' THEN r.input -> 'attachments' ELSE '[]' END)))
 WHERE r.id = :run_id
   AND f.erased_at IS NULL
   AND f.lost IS NULL
 ORDER BY f.id;

-- usable_artifacts --
-- Why: a run may start from the caller's own artifacts alone, and from none that is lost or rejected.
-- Locks: none.  Clock: none.
-- Result: those of the ids that are the caller's.
SELECT id, status, CASE WHEN erased_at IS NOT NULL THEN 'erased' ELSE lost END AS lost FROM agent.artifacts WHERE user_id = :user_id AND id = ANY (CAST(:ids AS uuid[]));

-- judge_artifact --
-- Why: a verdict is given once, with its evidence.
-- Locks: the row's.  Clock: none.
-- Result: its id, or no row when it was judged before.
UPDATE agent.artifacts
   SET status = :status,
       evidence = evidence || CAST(:evidence AS jsonb)
 WHERE id = :id
   AND status = 'draft'
RETURNING id;

-- artifacts_to_check --
-- Why: the scan goes round all artifacts, the one not looked at for the longest first.
-- Locks: none.  Clock: database.
-- Result: up to `batch` of those last looked at before `every` ago.
SELECT id, tenant_id, run_id, size_bytes, sha256, lost, checked_at
  FROM agent.artifacts
 WHERE checked_at < clock_timestamp() - CAST(:every AS interval)
   AND erased_at IS NULL
 ORDER BY checked_at
 LIMIT :batch;

-- note_check --
-- Why: what a reader found of an artifact's bytes: there and right, missing, or altered. It may be found again.
-- Locks: the row's (after its run's, where an event is told).  Clock: database.
-- Result: the row when the finding is new, else no row.
WITH held AS MATERIALIZED (
    SELECT id, lost FROM agent.artifacts WHERE id = :id FOR NO KEY UPDATE
), noted AS (
    UPDATE agent.artifacts a
       SET checked_at = clock_timestamp(),
           lost = CAST(:lost AS text),
           lost_at = CASE WHEN CAST(:lost AS text) IS NULL THEN NULL
                          WHEN a.lost IS NOT DISTINCT FROM CAST(:lost AS text) THEN a.lost_at
                          ELSE clock_timestamp() END
      FROM held
     WHERE a.id = held.id
    RETURNING a.id, a.run_id
)
SELECT noted.id, noted.run_id
  FROM noted
  JOIN held ON held.id = noted.id
 WHERE held.lost IS DISTINCT FROM CAST(:lost AS text);

-- known_of --
-- Why: bytes without a row are left over from a crash and may be removed.
-- Locks: none.  Clock: database.
-- Result: those of the ids that have a row, and the instant.
SELECT array(SELECT id FROM agent.artifacts WHERE id = ANY (CAST(:ids AS uuid[]))) AS ids, clock_timestamp() AS now;

-- artifacts_to_remove --
-- Why: an erasure lists what is to go; the list is worked off after its commit, and by whoever comes after a crash.
-- Locks: none: removed twice is removed.  Clock: none.
-- Result: up to `batch` files whose bytes are still to be removed, the oldest first.
SELECT artifact_id AS id, tenant_id FROM agent.artifact_removals WHERE removed_at IS NULL ORDER BY asked_at LIMIT :batch;

-- note_removed --
-- Why: the bytes are gone; nothing is left to do.
-- Locks: the row's.  Clock: database.
-- Result: none.
UPDATE agent.artifact_removals SET removed_at = clock_timestamp() WHERE artifact_id = :id AND removed_at IS NULL;
