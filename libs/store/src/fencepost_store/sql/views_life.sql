-- view_reminders --
-- Why: the caller's reminders; what comes next first, what is over last.
-- Locks: none.  Clock: none.
-- Result: by next occurrence, then id.
SELECT r.id, r.title, r.note, r.zone, r.dtstart, r.rrule, r.next_at, r.status, r.version, r.conversation_id,
       r.created_at, r.updated_at
  FROM app.reminders r
 WHERE r.tenant_id = agent.tenant()
   AND r.user_id = :user_id
   AND (CAST(:status AS text) IS NULL OR r.status = CAST(:status AS text))
   AND (CAST(:after_id AS uuid) IS NULL
        OR (coalesce(r.next_at, 'infinity'), r.id) > (CAST(:after_at AS timestamptz), CAST(:after_id AS uuid)))
 ORDER BY coalesce(r.next_at, 'infinity'), r.id
 LIMIT :limit;

-- view_ledger_entries --
-- Why: the caller's ledger entries of a time, newest first.
-- Locks: none.  Clock: none.
-- Result: by day and id, descending.
SELECT e.id, e.kind, e.amount, e.currency, e.category, e.description, e.occurred_on, e.created_at
  FROM app.ledger_entries e
 WHERE e.tenant_id = agent.tenant()
   AND e.user_id = :user_id
   AND (CAST(:since AS date) IS NULL OR e.occurred_on >= CAST(:since AS date))
   AND (CAST(:until AS date) IS NULL OR e.occurred_on <= CAST(:until AS date))
   AND (CAST(:category AS text) IS NULL OR e.category = CAST(:category AS text))
   AND (CAST(:currency AS text) IS NULL OR e.currency = CAST(:currency AS text))
   AND (CAST(:before_id AS uuid) IS NULL
        OR (e.occurred_on, e.id) < (CAST(:before_on AS date), CAST(:before_id AS uuid)))
 ORDER BY e.occurred_on DESC, e.id DESC
 LIMIT :limit;

-- view_ledger_summary --
-- Why: sums by currency, kind and category; amounts of different currencies are never added.
-- Locks: none.  Clock: none.
-- Result: by currency, kind, then the largest sum.
SELECT e.currency, e.kind, e.category, sum(e.amount) AS total, count(*) AS entries
  FROM app.ledger_entries e
 WHERE e.tenant_id = agent.tenant()
   AND e.user_id = :user_id
   AND (CAST(:since AS date) IS NULL OR e.occurred_on >= CAST(:since AS date))
   AND (CAST(:until AS date) IS NULL OR e.occurred_on <= CAST(:until AS date))
 GROUP BY e.currency, e.kind, e.category
 ORDER BY e.currency, e.kind, sum(e.amount) DESC, e.category;
