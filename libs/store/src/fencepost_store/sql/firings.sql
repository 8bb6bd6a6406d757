-- reminders_are_here --
-- Why: the module that owns reminders may not be installed.
-- Locks: none.  Clock: none.
-- Result: one row.
SELECT to_regclass('app.reminders') IS NOT NULL AS here;

-- find_due_reminders --
-- Why: reminders whose time has come. Only candidates: the function below judges each under its lock.
-- Locks: none.  Clock: database.
-- Result: what firing needs, with the database's `now`; in id order after a cursor.
WITH due AS MATERIALIZED (  -- by reminders_due_idx; the order alone would walk the primary key
    SELECT * FROM app.reminders WHERE status = 'active' AND next_at <= statement_timestamp()
)
SELECT r.id, r.tenant_id, r.user_id, r.conversation_id, r.title, r.locale, r.zone, r.rrule, r.dtstart, r.next_at,
       r.version, r.exdates, statement_timestamp() AS now
  FROM due r
 WHERE r.id > :after
 ORDER BY r.id
 LIMIT :batch;

-- lock_conversation_for_reminder --
-- Why: conversation before business rows: the lock order. A conversation that is not the user's is not used.
-- Locks: the conversation's row, FOR NO KEY UPDATE.  Clock: none.
-- Result: the id, or no row.
SELECT id
  FROM agent.conversations
 WHERE id = :id
   AND tenant_id = :tenant_id
   AND user_id = :user_id
   FOR NO KEY UPDATE;

-- conversation_for_reminders --
-- Why: a reminder that no conversation made is told in the user's own one for reminders, made on first need.
-- Locks: the conversation's row (an upsert locks it).  Clock: database.
-- Result: its id.
INSERT INTO agent.conversations AS c (id, tenant_id, user_id, title, purpose)
VALUES (:id, :tenant_id, :user_id, :title, 'reminders')
ON CONFLICT (tenant_id, user_id) WHERE purpose = 'reminders' DO UPDATE SET updated_at = clock_timestamp()
RETURNING c.id;

-- fire_reminder --
-- Why: the one way the reconciler changes a reminder: if active, due, at this version and occurrence, it moves on.
-- Locks: the reminder's row, SKIP LOCKED.  Clock: database, read above the lock.
-- Result: one row, `fired` false when another has it or it is not what was read.
SELECT app.fire_reminder(:id, :version, :occurrence, CAST(:following AS timestamptz)) AS fired;

-- insert_firings --
-- Why: a firing is a row, unique by (reminder, occurrence); one that is there already is not told again (I31).
-- Locks: the keys' index entries.  Clock: database.
-- Result: the occurrences that are new.
INSERT INTO agent.firings (reminder_id, occurrence, tenant_id, user_id, status, late, message_id)
SELECT :reminder_id, f.occurrence, :tenant_id, :user_id, f.status, f.late, f.message_id
  FROM unnest(CAST(:occurrences AS timestamptz[]), CAST(:statuses AS text[]), CAST(:lates AS boolean[]),
              CAST(:message_ids AS uuid[])) AS f (occurrence, status, late, message_id)
ON CONFLICT (reminder_id, occurrence) DO NOTHING
RETURNING occurrence;
