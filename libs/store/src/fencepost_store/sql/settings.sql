-- read_settings --
-- Why: the tenant's settings and the person's over them.
-- Locks: none.  Clock: none.
-- Result: up to two rows; user_id '' is the tenant's.
SELECT user_id, body FROM agent.settings WHERE tenant_id = agent.tenant() AND user_id IN ('', :user_id);

-- lock_settings --
-- Why: two patches at once must both be kept.
-- Locks: the settings' row, made when absent.  Clock: database.
-- Result: the body as it is under the lock.
INSERT INTO agent.settings AS s (tenant_id, user_id, body)
VALUES (agent.tenant(), :user_id, '{}')
ON CONFLICT (tenant_id, user_id) DO UPDATE SET updated_at = clock_timestamp()
RETURNING s.body;

-- write_settings --
-- Why: the merged body.
-- Locks: the settings' row, held.  Clock: database.
-- Result: none.
UPDATE agent.settings
   SET body = CAST(:body AS jsonb),
       updated_at = clock_timestamp()
 WHERE tenant_id = agent.tenant()
   AND user_id = :user_id;

-- see_principal --
-- Why: the rights of today, which a recovering run is checked against. Somebody seen within the minute with these
--      roles is left alone: all requests of one account would wait for each other's commit at its row.
-- Locks: the principal's row, unless it is left alone.  Clock: database.
-- Result: none.
INSERT INTO agent.principals AS p (tenant_id, user_id, roles)
SELECT agent.tenant(), :user_id, CAST(:roles AS text[])
 WHERE NOT EXISTS (SELECT FROM agent.principals AS s
                    WHERE s.tenant_id = agent.tenant() AND s.user_id = :user_id AND s.roles = CAST(:roles AS text[])
                      AND s.seen_at > clock_timestamp() - interval '1 minute')
ON CONFLICT (tenant_id, user_id) DO UPDATE SET roles = excluded.roles, seen_at = clock_timestamp();
