-- publish_catalog --
-- Why: a catalog is published once under its fingerprint and never changed (I16); one that was published before is in force
--      again when its contract was changed back. Replicas that take up the same one don't move it.
-- Locks: the fingerprint's index entry, its row where it is known.  Clock: database.
-- Result: the fingerprint when it comes into force by this, no row when it was in force.
INSERT INTO agent.catalogs AS mine (fingerprint, module, version, body)
VALUES (:fingerprint, :module, :version, :body)
ON CONFLICT (fingerprint) DO UPDATE SET in_force_at = clock_timestamp()
 WHERE EXISTS (SELECT FROM agent.catalogs other
                WHERE other.module = mine.module AND other.fingerprint <> mine.fingerprint AND other.revoked_at IS NULL
                  AND other.in_force_at >= mine.in_force_at)
RETURNING fingerprint;

-- catalog_by_fingerprint --
-- Why: what a run is bound to, as it was published.
-- Locks: none.  Clock: none.
-- Result: module, version, body, revoked_at; or no row.
SELECT module, version, body, revoked_at FROM agent.catalogs WHERE fingerprint = :fingerprint;
