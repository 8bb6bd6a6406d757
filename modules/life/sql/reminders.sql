-- insert_reminder --
-- Why: the reminder, once under the effect that makes it.
-- Locks: the key's index entry (the run's row is held).  Clock: database.
-- Result: the reminder.
INSERT INTO app.reminders (id, tenant_id, user_id, conversation_id, title, note, locale, zone, dtstart, rrule, exdates,
                           next_at, origin_effect_key)
VALUES (:id, :tenant_id, :user_id, :conversation_id, :title, :note, :locale, :zone, :dtstart, :rrule,
        CAST(:exdates AS timestamptz[]), :next_at, :effect_key)
RETURNING id, title, note, zone, dtstart, rrule, exdates, next_at, status, version;

-- reminder_by_id --
-- Why: the one that a change names; another user's is not there.
-- Locks: none.  Clock: none.
-- Result: the reminder, or no row.
SELECT id, title, note, zone, dtstart, rrule, exdates, next_at, status, version
  FROM app.reminders
 WHERE id = :id
   AND user_id = :user_id;

-- active_reminders_like --
-- Why: the active reminders whose title holds each of the words given, to find the one that is meant: "water
-- plants" is "water the plants".
-- Locks: none.  Clock: none.
-- Result: up to six; one more than a person is shown to choose from.
SELECT id, title, note, zone, dtstart, rrule, exdates, next_at, status, version
  FROM app.reminders
 WHERE user_id = :user_id
   AND status = 'active'
   AND NOT EXISTS (
           SELECT 1
             FROM regexp_split_to_table(lower(:words), '\s+') AS word
            WHERE position(word IN lower(title)) = 0
       )
 ORDER BY next_at, id
 LIMIT 6;

-- same_reminders --
-- Why: a natural duplicate is shown, not refused.
-- Locks: none.  Clock: none.
-- Result: how many active ones have this title and next time.
SELECT count(*) AS same
  FROM app.reminders
 WHERE user_id = :user_id
   AND status = 'active'
   AND title = :title
   AND next_at = :next_at;

-- change_reminder --
-- Why: the approved change, only on the version that was shown.
-- Locks: the reminder's row.  Clock: database.
-- Result: the reminder, or no row when it is another version or not active any more.
UPDATE app.reminders
   SET title = :title,
       note = :note,
       zone = :zone,
       dtstart = :dtstart,
       rrule = :rrule,
       exdates = CAST(:exdates AS timestamptz[]),
       next_at = :next_at,
       version = version + 1,
       changed_by_effect = :effect_key,
       updated_at = clock_timestamp()
 WHERE id = :id
   AND user_id = :user_id
   AND version = :version
   AND status = 'active'
RETURNING id, title, note, zone, dtstart, rrule, exdates, next_at, status, version;

-- cancel_reminder --
-- Why: the same for its end; what was due stays readable in dtstart and rrule.
-- Locks: the reminder's row.  Clock: database.
-- Result: the reminder, or no row.
UPDATE app.reminders
   SET status = 'cancelled',
       next_at = NULL,
       version = version + 1,
       changed_by_effect = :effect_key,
       updated_at = clock_timestamp()
 WHERE id = :id
   AND user_id = :user_id
   AND version = :version
   AND status = 'active'
RETURNING id, title, note, zone, dtstart, rrule, exdates, next_at, status, version;

-- list_reminders --
-- Why: the user's reminders, the next due first.
-- Locks: none.  Clock: none.
-- Result: up to limit + 1 rows; one more says that there are more.
SELECT id, title, note, zone, dtstart, rrule, exdates, next_at, status, version
  FROM app.reminders
 WHERE user_id = :user_id
   AND (CAST(:status AS text) = 'all' OR status = CAST(:status AS text))
   AND (CAST(:from_at AS timestamptz) IS NULL OR coalesce(next_at, dtstart) >= CAST(:from_at AS timestamptz))
   AND (CAST(:to_at AS timestamptz) IS NULL OR coalesce(next_at, dtstart) < CAST(:to_at AS timestamptz))
   AND (CAST(:words AS text) IS NULL OR position(lower(CAST(:words AS text)) IN lower(title)) > 0)
 ORDER BY next_at NULLS LAST, id
 LIMIT :limit + 1;

-- active_reminders --
-- Why: what a day holds is computed from the rules of all active ones.
-- Locks: none.  Clock: none.
-- Result: at most 500.
SELECT id, title, note, zone, dtstart, rrule, exdates, next_at, status, version
  FROM app.reminders
 WHERE user_id = :user_id
   AND status = 'active'
   AND next_at < :before
 ORDER BY next_at, id
 LIMIT 500;
