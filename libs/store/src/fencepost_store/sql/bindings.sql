-- publish_definition --
-- Why: a graph is an immutable version, kept by fingerprint; publishing it again changes nothing.
-- Locks: none.  Clock: database.
-- Result: none.
INSERT INTO agent.definitions (fingerprint, module, version, body)
VALUES (:fingerprint, :module, :version, :body)
ON CONFLICT (fingerprint) DO NOTHING;

-- publish_manifest --
-- Why: the models a run is bound to, without secrets, kept by fingerprint.
-- Locks: none.  Clock: database.
-- Result: none.
INSERT INTO agent.manifests (fingerprint, body)
VALUES (:fingerprint, :body)
ON CONFLICT (fingerprint) DO NOTHING;

-- newest_catalogs --
-- Why: what a run of each module is bound to at its first claim.
-- Locks: none.  Clock: none.
-- Result: the newest unrevoked catalog of every module.
SELECT DISTINCT ON (module) module, fingerprint, body
  FROM agent.catalogs
 WHERE revoked_at IS NULL
 ORDER BY module, published_at DESC, fingerprint;

-- bound_versions --
-- Why: a run goes on with what it is bound to; content that was tampered with or revoked must be found.
-- Locks: none.  Clock: none.
-- Result: a row per version that is there: kind, fingerprint, body, revoked.
SELECT 'graph' AS kind, fingerprint, body, revoked_at IS NOT NULL AS revoked
  FROM agent.definitions WHERE fingerprint = :graph
UNION ALL
SELECT 'manifest', fingerprint, body, revoked_at IS NOT NULL
  FROM agent.manifests WHERE fingerprint = :manifest
UNION ALL
SELECT 'catalog', fingerprint, body, revoked_at IS NOT NULL
  FROM agent.catalogs WHERE fingerprint = :catalog;

-- asked_interrupt --
-- Why: what became of the question a checkpoint waits for.
-- Locks: none.  Clock: none.
-- Result: one row, or none when it was never asked.
SELECT id, status, resolution, resolved_by
  FROM agent.interrupts
 WHERE run_id = :run_id
   AND kind = :kind
   AND index = :index
   AND n = :n;

-- unsettled_effects --
-- Why: what a finalization must name: effects of the run whose outcome isn't known.
-- Locks: none.  Clock: none.
-- Result: a row per effect.
SELECT effect_key, index, tool, state
  FROM agent.effects
 WHERE run_id = :run_id
   AND state IN ('started', 'unknown', 'needs_human')
 ORDER BY index;

-- completed_effects --
-- Why: what a finalization may say was done.
-- Locks: none.  Clock: none.
-- Result: a row per effect.
SELECT effect_key, index, tool, state, result
  FROM agent.effects
 WHERE run_id = :run_id
   AND state = 'completed'
 ORDER BY index;

-- finalization_is --
-- Why: an answer lost after COMMIT is asked for by the final message's own id.
-- Locks: none.  Clock: none.
-- Result: one row when this very ending was recorded.
SELECT 1 AS found
  FROM agent.messages
 WHERE id = :message_id
   AND run_id = :run_id;
