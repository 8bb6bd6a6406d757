-- publish_catalog --
-- Why: a catalog is published once under its fingerprint and never changed (I16).
-- Locks: the fingerprint's index entry.  Clock: database.
-- Result: the fingerprint when it is new, no row when it was published before.
INSERT INTO agent.catalogs (fingerprint, module, version, body)
VALUES (:fingerprint, :module, :version, :body)
ON CONFLICT (fingerprint) DO NOTHING
RETURNING fingerprint;

-- catalog_by_fingerprint --
-- Why: what a run is bound to, as it was published.
-- Locks: none.  Clock: none.
-- Result: module, version, body, revoked_at; or no row.
SELECT module, version, body, revoked_at FROM agent.catalogs WHERE fingerprint = :fingerprint;
