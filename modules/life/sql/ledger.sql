-- insert_entry --
-- Why: the entry, once under the effect that makes it.
-- Locks: the key's index entry (the run's row is held).  Clock: database.
-- Result: the entry; the amount as exact text.
INSERT INTO app.ledger_entries (id, tenant_id, user_id, kind, amount, currency, category, description, occurred_on,
                                origin_effect_key)
VALUES (:id, :tenant_id, :user_id, :kind, CAST(:amount AS numeric), :currency, :category, :description, :occurred_on,
        :effect_key)
RETURNING id, kind, CAST(amount AS text) AS amount, currency, category, description, occurred_on;

-- same_entries --
-- Why: a natural duplicate is shown, not refused.
-- Locks: none.  Clock: none.
-- Result: how many entries of that day have this amount, currency and kind.
SELECT count(*) AS same
  FROM app.ledger_entries
 WHERE user_id = :user_id
   AND occurred_on = :occurred_on
   AND amount = CAST(:amount AS numeric)
   AND currency = :currency
   AND kind = :kind;

-- list_entries --
-- Why: the user's entries, the newest day first.
-- Locks: none.  Clock: none.
-- Result: up to limit + 1 rows; one more says that there are more.
SELECT id, kind, CAST(amount AS text) AS amount, currency, category, description, occurred_on
  FROM app.ledger_entries
 WHERE user_id = :user_id
   AND (CAST(:from_on AS date) IS NULL OR occurred_on >= CAST(:from_on AS date))
   AND (CAST(:to_on AS date) IS NULL OR occurred_on <= CAST(:to_on AS date))
   AND (CAST(:kind AS text) IS NULL OR kind = CAST(:kind AS text))
   AND (CAST(:category AS text) IS NULL OR category = CAST(:category AS text))
   AND (CAST(:currency AS text) IS NULL OR currency = CAST(:currency AS text))
 ORDER BY occurred_on DESC, id DESC
 LIMIT :limit + 1;

-- sum_entries --
-- Why: totals by currency, category and kind; currencies are never added together.
-- Locks: none.  Clock: none.
-- Result: a row per currency, category and kind; the total as exact text.
SELECT currency, category, kind, CAST(sum(amount) AS text) AS total, count(*) AS entries
  FROM app.ledger_entries
 WHERE user_id = :user_id
   AND (CAST(:from_on AS date) IS NULL OR occurred_on >= CAST(:from_on AS date))
   AND (CAST(:to_on AS date) IS NULL OR occurred_on <= CAST(:to_on AS date))
   AND (CAST(:category AS text) IS NULL OR category = CAST(:category AS text))
   AND (CAST(:currency AS text) IS NULL OR currency = CAST(:currency AS text))
 GROUP BY currency, category, kind
 ORDER BY currency, sum(amount) DESC, category, kind;
