-- insert_text --
-- Why: the text, once under the effect that makes it.
-- Locks: the key's index entry (the run's row is held).  Clock: database.
-- Result: the text.
INSERT INTO app.desk_texts (id, tenant_id, run_id, kind, title, origin_effect_key)
VALUES (:id, :tenant_id, :run_id, :kind, :title, :effect_key)
RETURNING id, title;
