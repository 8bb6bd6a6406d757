-- insert_booking --
-- Why: the booking, once under the effect that makes it.
-- Locks: the key's index entry (the run's row is held).  Clock: database.
-- Result: the booking.
INSERT INTO app.travel_bookings (id, tenant_id, user_id, train, day, origin_effect_key)
VALUES (:id, :tenant_id, :user_id, :train, :day, :effect_key)
RETURNING id;
