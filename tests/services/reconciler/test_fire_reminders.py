"""I31: each due time of a reminder fires exactly once (design 02 §10)."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fencepost_domain.effect import effect_key
from fencepost_domain.vocabulary import Risk
from fencepost_reconciler.loops.fire_reminders import FireReminders, to_firing
from fencepost_runtime.failpoints import Action, arm, disarm, hit_by
from fencepost_store import firings
from fencepost_store.sweeps import FIRST

from tests.support.lives import TENANT, USER, Lives, counts


@dataclass
class Reminders:
    lives: Lives
    loop: FireReminders = field(init=False)

    def __post_init__(self) -> None:
        self.loop = FireReminders(self.lives.reconciler)

    async def set(self, *, due_in: timedelta = timedelta(0), rrule: str | None = None, **more: Any) -> UUID:
        """A reminder as its tool writes it, with the effect that made it."""
        held = await self.lives.claimed()
        action = await self.lives.prepared(held, risk=Risk.LOW)
        await self.lives.opened(action)
        await self.lives.landed(action)
        reminder_id = self.lives.ids.uuid7()
        first = more.pop("dtstart", None) or datetime.now(UTC).replace(microsecond=0) + due_in
        columns = {
            "id": reminder_id,
            "tenant_id": TENANT,
            "user_id": USER,
            "conversation_id": held.run.conversation_id,
            "title": "交周报",
            "locale": "zh-CN",
            "zone": "Asia/Shanghai",
            "dtstart": first,
            "next_at": first,
            "rrule": rrule,
            "origin_effect_key": effect_key(held.run.id, 0),
            **more,
        }
        places = ", ".join(["%s"] * len(columns))
        await self.lives.sql(
            f"INSERT INTO app.reminders ({', '.join(columns)}) VALUES ({places})", *columns.values()
        )
        return reminder_id

    async def row(self, reminder_id: UUID) -> dict[str, Any]:
        [row] = await self.lives.sql("SELECT * FROM app.reminders WHERE id = %s", reminder_id)
        return row

    async def told(self) -> list[dict[str, Any]]:
        return await self.lives.sql(
            "SELECT * FROM agent.messages WHERE author = 'reminder' ORDER BY created_at"
        )

    async def fired(self) -> list[dict[str, Any]]:
        return await self.lives.sql("SELECT * FROM agent.firings ORDER BY occurrence")


@pytest.fixture
def reminders(lives: Lives) -> Reminders:
    return Reminders(lives)


async def test_a_due_reminder_is_told_once_in_its_conversation(lives: Lives, reminders: Reminders) -> None:
    reminder_id = await reminders.set()
    assert counts(await reminders.loop.run_once()) == {"fired": 1}
    assert counts(await reminders.loop.run_once()) == {}
    row = await reminders.row(reminder_id)
    assert (row["status"], row["next_at"]) == ("done", None)
    [message] = await reminders.told()
    [firing] = await reminders.fired()
    assert (message["text"], message["conversation_id"]) == ("提醒：交周报", row["conversation_id"])
    assert (firing["status"], firing["late"], firing["message_id"]) == ("fired", False, message["id"])
    feed = await lives.sql(
        "SELECT kind, data FROM agent.feed WHERE kind IN ('reminder.due', 'message.created')"
    )
    assert [line["kind"] for line in feed][-2:] == ["message.created", "reminder.due"]
    assert feed[-1]["data"]["message_id"] == str(message["id"])
    assert "交周报" not in str(feed), "the feed holds ids, never text"
    [audit] = await lives.sql("SELECT what FROM agent.audit")
    assert audit["what"] == "reminder.fired"
    assert await lives.violations() == []


async def test_one_that_is_not_due_waits(reminders: Reminders) -> None:
    await reminders.set(due_in=timedelta(hours=1))
    assert counts(await reminders.loop.run_once()) == {}


async def test_without_a_conversation_the_users_own_one_is_made_once(
    lives: Lives, reminders: Reminders
) -> None:
    await reminders.set(conversation_id=None)
    await reminders.set(conversation_id=lives.ids.uuid7())  # one that is gone
    assert counts(await reminders.loop.run_once()) == {"fired": 2}
    [made] = await lives.sql("SELECT * FROM agent.conversations WHERE purpose = 'reminders'")
    assert {message["conversation_id"] for message in await reminders.told()} == {made["id"]}
    assert (made["user_id"], made["title"], made["next_seq"]) == (USER, "提醒", 3)
    assert await lives.violations() == []


async def test_a_recurring_one_goes_on(lives: Lives, reminders: Reminders) -> None:
    reminder_id = await reminders.set(rrule="FREQ=DAILY")
    due = (await reminders.row(reminder_id))["next_at"]
    assert counts(await reminders.loop.run_once()) == {"fired": 1}
    row = await reminders.row(reminder_id)
    assert (row["status"], row["next_at"]) == ("active", due + timedelta(days=1))
    assert await lives.violations() == []


async def test_missed_while_down_the_last_fires_late_the_others_are_skipped(
    lives: Lives, reminders: Reminders
) -> None:
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(days=3, hours=1)
    await reminders.set(rrule="FREQ=DAILY", dtstart=start)
    assert counts(await reminders.loop.run_once()) == {"fired": 1, "skipped": 3}
    rows = await reminders.fired()
    assert [(row["status"], row["late"]) for row in rows] == [("skipped", True)] * 3 + [("fired", True)]
    assert rows[-1]["occurrence"] == start + timedelta(days=3)
    [message] = await reminders.told()
    assert message["text"].startswith("提醒（原定 ")
    assert await lives.violations() == []


async def test_i31_two_reconcilers_fire_each_once(lives: Lives, reminders: Reminders) -> None:
    for _ in range(10):
        await reminders.set()
    loops = [FireReminders(lives.reconciler) for _ in range(4)]
    done = await asyncio.gather(*(loop.run_once() for loop in loops))
    assert sum(each.get("fired", 0) for each in done) == 10
    assert len(await reminders.told()) == len(await reminders.fired()) == 10
    assert await lives.violations() == []


async def test_i31_a_second_reconciler_passes_over_one_that_is_being_fired(
    lives: Lives, reminders: Reminders
) -> None:
    await reminders.set(conversation_id=None)
    async with lives.reconciler.transaction() as tx:
        [due] = await firings.find_due(tx, FIRST, 10)
        await firings.fire(tx, due, to_firing(due))
        other = await reminders.set()  # of another conversation: its transaction waits for nothing
        assert counts(await FireReminders(lives.reconciler).run_once()) in (
            {"fired": 1},
            {"fired": 1, "busy": 1},
        )
    assert counts(await reminders.loop.run_once()) == {}
    assert len(await reminders.told()) == 2
    assert (await reminders.row(other))["status"] == "done"


@pytest.mark.parametrize("change", ["cancelled", "moved", "edited"])
async def test_i31_what_changed_since_it_was_read_is_not_fired(
    lives: Lives, reminders: Reminders, change: str
) -> None:
    reminder_id = await reminders.set()
    async with lives.reconciler.transaction() as tx:
        [due] = await firings.find_due(tx, FIRST, 10)
    await lives.sql(
        {
            "cancelled": "UPDATE app.reminders SET status = 'cancelled' WHERE id = %s",
            "moved": "UPDATE app.reminders SET next_at = next_at + interval '1 hour' WHERE id = %s",
            "edited": "UPDATE app.reminders SET title = 'other', version = version + 1 WHERE id = %s",
        }[change],
        reminder_id,
    )
    with pytest.raises(firings.NotDue):
        async with lives.reconciler.transaction() as tx:
            await firings.fire(tx, due, to_firing(due))
    assert (await reminders.told(), await reminders.fired()) == ([], [])


async def test_i31_a_host_whose_clock_is_wrong_fires_nothing_early(
    lives: Lives, reminders: Reminders
) -> None:
    """The plan may be made with any clock; the database's says whether it is due."""
    reminder_id = await reminders.set(due_in=timedelta(minutes=5))
    row = await reminders.row(reminder_id)
    names = [name for name in firings.DueReminder.__slots__ if name != "now"]
    ahead = firings.DueReminder(
        **{name: row[name] for name in names}, now=row["next_at"] + timedelta(seconds=1)
    )
    with pytest.raises(firings.NotDue):
        async with lives.reconciler.transaction() as tx:
            await firings.fire(tx, ahead, to_firing(ahead))
    assert await reminders.told() == []


async def test_i31_an_occurrence_that_was_recorded_is_not_told_again(
    lives: Lives, reminders: Reminders
) -> None:
    """Even if something put the reminder back to an occurrence that had fired."""
    reminder_id = await reminders.set(rrule="FREQ=DAILY")
    due = (await reminders.row(reminder_id))["next_at"]
    await reminders.loop.run_once()
    await lives.sql("UPDATE app.reminders SET next_at = %s WHERE id = %s", due, reminder_id)
    assert counts(await reminders.loop.run_once()) == {}
    assert len(await reminders.told()) == 1
    assert (await reminders.row(reminder_id))["next_at"] == due + timedelta(days=1), "it goes on all the same"


async def test_a_rule_that_cannot_be_read_silences_nobody_else(reminders: Reminders) -> None:
    await reminders.set(rrule="FREQ=NEVER")
    await reminders.set()
    assert counts(await reminders.loop.run_once()) == {"fired": 1, "failed": 1}


async def test_i31_a_change_of_summer_time_keeps_the_hour(lives: Lives, reminders: Reminders) -> None:
    first = datetime(2026, 3, 28, 8, 0, tzinfo=UTC)  # 09:00 in Berlin, the day before summer time
    reminder_id = await reminders.set(rrule="FREQ=DAILY;COUNT=3", dtstart=first, zone="Europe/Berlin")
    await reminders.loop.run_once()
    assert [row["occurrence"].isoformat() for row in await reminders.fired()] == [
        "2026-03-28T08:00:00+00:00",
        "2026-03-29T07:00:00+00:00",
        "2026-03-30T07:00:00+00:00",
    ]
    assert (await reminders.row(reminder_id))["status"] == "done"


async def test_i31_a_kill_before_the_commit_leaves_nothing_and_then_one(
    lives: Lives, reminders: Reminders, tmp_path: Path
) -> None:
    reminder_id = await reminders.set()
    arm(tmp_path, "reconciler.fire.before_commit", Action.KILL)

    async def one_round() -> int:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.support.fire_once", lives.database.dsn("reconciler")),
            env={**os.environ, "FENCEPOST_FAILPOINT_DIR": str(tmp_path)},
            cwd=Path(__file__).parents[3],
        )
        return await process.wait()

    assert await one_round() == -9
    assert hit_by(tmp_path, "reconciler.fire.before_commit") is not None
    assert (await reminders.told(), await reminders.fired()) == ([], [])
    assert (await reminders.row(reminder_id))["status"] == "active"
    disarm(tmp_path, "reconciler.fire.before_commit")
    assert await one_round() == 0
    assert await one_round() == 0
    assert len(await reminders.told()) == len(await reminders.fired()) == 1
    assert await lives.violations() == []
