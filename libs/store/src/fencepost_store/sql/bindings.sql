-- publish_definition --
-- Why: a graph is an immutable version, kept by fingerprint; publishing it again changes nothing.
-- Locks: none.  Clock: database.
-- Result: none.
INSERT INTO agent.definitions (fingerprint, module, version, body)
VALUES (:fingerprint, :module, :version, :body)
ON CONFLICT (fingerprint) DO NOTHING;

-- published_as --
-- Why: a version of an author's graph is one structure; another one under its name must not be served.
-- Locks: none.  Clock: none.
-- Result: the fingerprints it is published under.
SELECT fingerprint FROM agent.definitions WHERE module = :module AND version = :version;

-- rejected_actions --
-- Why: what a person said no to in this run is not proposed to them again.
-- Locks: none.  Clock: none.
-- Result: a row an action.
SELECT index, tool, arguments_hash FROM agent.actions WHERE run_id = :run_id AND status = 'rejected';

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
-- Result: the unrevoked catalog of every module that came into force last.
SELECT DISTINCT ON (module) module, fingerprint, body
  FROM agent.catalogs
 WHERE revoked_at IS NULL
 ORDER BY module, in_force_at DESC, fingerprint;

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

-- ending_facts --
-- Why: what a finalization says was done, what it must name as unconfirmed, and what was used.
-- Locks: none (the run's row is held).  Clock: none.
-- Result: one row.
SELECT (SELECT coalesce(jsonb_agg(jsonb_build_object('effect_key', e.effect_key, 'index', e.index, 'tool', e.tool,
                                                     'class', e.class, 'state', e.state) ORDER BY e.index), '[]')
          FROM agent.effects e
         WHERE e.run_id = :run_id AND e.state IN ('completed', 'started', 'accepted', 'unknown', 'needs_human', 'compensating')) AS effects,
       (SELECT jsonb_build_object('model_calls', count(*), 'input_tokens', coalesce(sum(c.input_tokens), 0),
                                  'output_tokens', coalesce(sum(c.output_tokens), 0),
                                  'cost', jsonb_build_object('value', CAST(trim_scale(coalesce(sum(c.cost), 0)) AS text),
                                                             'currency', coalesce(max(c.currency), 'USD')))
          FROM agent.model_calls c
         WHERE c.run_id = :run_id) AS usage;

-- open_effects --
-- Why: what of a stopped run may still be at work outside, to be told to stop.
-- Locks: none.  Clock: none.
-- Result: the actions' indexes.
SELECT index FROM agent.effects WHERE run_id = :run_id AND state IN ('started', 'accepted') ORDER BY index;

-- finalization_is --
-- Why: an answer lost after COMMIT is asked for by the final message's own id.
-- Locks: none.  Clock: none.
-- Result: one row when this very ending was recorded.
SELECT 1 AS found
  FROM agent.messages
 WHERE id = :message_id
   AND run_id = :run_id;
