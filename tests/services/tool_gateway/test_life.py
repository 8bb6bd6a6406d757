"""Module life: what its tools write, change, list and sum up, through the gateway."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from fencepost_contracts import canonical
from fencepost_tool_gateway import tokens

from tests.support.gateway import ENTRY, KEYS, REMINDER, SOON, Served, code
from tests.support.lives import OTHER_TENANT, TENANT, Lives

CREATE, CHANGE, CANCEL = "life.create_reminder", "life.change_reminder", "life.cancel_reminder"
LIST, ADD = "life.list_reminders", "life.add_ledger_entry"
WEEKLY = {"title": "周会", "at": "2031-03-07T17:00:00+08:00", "rrule": "FREQ=WEEKLY;BYDAY=FR"}


async def do(served: Served, tool: str, arguments: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """One run from prepare to its result."""
    held = await served.bound(**more)
    action = await served.prepared(held, tool, arguments)
    if action["approval"]:
        held = await served.approved(held, action)
    answer = (await served.commit(held, action)).json()
    assert answer["state"] == "completed", answer
    return dict(answer["result"])


async def refusal(served: Served, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    answer = await served.prepare(await served.bound(), tool, arguments)
    assert code(answer) == "calls_refused"
    return dict(answer.json()["refusals"][0])


async def test_a_recurring_reminder_is_due_next_by_its_rule(served: Served) -> None:
    made = (await do(served, CREATE, WEEKLY))["reminder"]
    assert made["next_at"] == "2031-03-07T17:00:00+08:00" and made["rrule"] == "FREQ=WEEKLY;BYDAY=FR"
    past = {**WEEKLY, "at": (datetime.now(UTC) - timedelta(days=30)).isoformat()}
    due = datetime.fromisoformat((await do(served, CREATE, past))["reminder"]["next_at"])
    assert due > datetime.now(UTC) and due.weekday() == 4


async def test_a_repetition_is_shown_in_words_with_its_next_dates(served: Served) -> None:
    held = await served.bound(locale="zh-CN")
    shown = (await served.prepared(held, CREATE, WEEKLY))["preview"]["text"]
    assert "每周五" in shown and "2031年3月14日（周五）" in shown and "2031年3月21日（周五）" in shown
    odd = {**WEEKLY, "rrule": "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1"}
    shown = (await served.prepared(held, CREATE, odd, index=1))["preview"]["text"]
    assert "BYSETPOS=-1" in shown and "2031年3月31日（周一）" in shown


async def test_occurrences_left_out_are_shown_and_not_due(served: Served) -> None:
    without = {**WEEKLY, "exdates": ["2031-03-07T09:00:00Z", "2031-03-21T17:00:00+08:00"]}
    held = await served.bound(locale="en")
    action = await served.prepared(held, CREATE, without)
    shown = action["preview"]["text"]
    assert "28 March 2031" in shown and "except" in shown
    held = await served.approved(held, action)
    made = (await served.commit(held, action)).json()["result"]["reminder"]
    assert made["next_at"] == "2031-03-14T17:00:00+08:00" and len(made["exdates"]) == 2
    plan = await do(served, "life.plan_day", {"date": "2031-03-21"})
    assert plan["reminders"] == []
    single = await refusal(served, CREATE, {**REMINDER, "exdates": [SOON]})
    assert single["pointer"] == "/exdates"


async def test_a_reminder_keeps_its_wall_clock_over_summer_time(served: Served) -> None:
    at, zone = "2031-03-08T02:30:00-05:00", "America/New_York"
    daily = {"title": "run", "at": at, "rrule": "FREQ=DAILY", "zone": zone}
    made = (await do(served, CREATE, daily, locale="en"))["reminder"]
    assert made["next_at"] == "2031-03-08T02:30:00-05:00"
    changed = await do(served, CHANGE, {"reminder_id": made["id"], "at": "2031-03-09T02:30:00-05:00"})
    assert changed["reminder"]["next_at"] == "2031-03-09T03:30:00-04:00"  # 02:30 isn't on that day


async def test_a_change_shows_before_and_after_and_asks_again_when_the_reminder_moved(served: Served) -> None:
    made = (await do(served, CREATE, REMINDER))["reminder"]
    held = await served.bound()
    later = {"match": "周报", "at": "2031-03-05T10:00:00+08:00"}
    action = await served.prepared(held, CHANGE, later)
    assert action["change"]["before"]["next_at"] == made["next_at"]
    assert action["change"]["after"]["next_at"] == "2031-03-05T10:00:00+08:00"
    held = await served.approved(held, action)
    await do(served, CHANGE, {"reminder_id": made["id"], "new_title": "交月报"})
    assert code(await served.commit(held, action)) == "precondition_changed"
    again = await served.prepared(held, CHANGE, {**later, "match": "月报"}, n=2)
    held = await served.approved(held, again)
    answer = (await served.commit(held, again)).json()
    assert answer["result"]["reminder"]["version"] == 3


async def test_a_cancelled_reminder_is_not_due_any_more_and_cannot_be_cancelled_twice(served: Served) -> None:
    made = (await do(served, CREATE, REMINDER))["reminder"]
    gone = (await do(served, CANCEL, {"match": "交周报"}))["reminder"]
    assert (gone["status"], gone["next_at"]) == ("cancelled", None)
    assert "no active reminder" in (await refusal(served, CANCEL, {"match": "交周报"}))["detail"]
    assert (await refusal(served, CANCEL, {"reminder_id": made["id"]}))["pointer"] == "/reminder_id"


async def test_a_reminder_is_found_by_its_words_though_small_ones_were_left_out(served: Served) -> None:
    for title in ("water the plants", "water the plants of Bob"):
        await do(served, CREATE, {**REMINDER, "title": title})
    assert (await do(served, CANCEL, {"match": "Water Plants"}))["reminder"]["title"] == "water the plants"
    gone = await do(served, CANCEL, {"match": "plants Bob water"})
    assert gone["reminder"]["title"] == "water the plants of Bob"
    assert (await refusal(served, CANCEL, {"match": "water milk"}))["pointer"] == "/match"


async def test_words_that_fit_several_reminders_are_asked_back(served: Served) -> None:
    for title in ("call mom", "call Tom", "Call mom"):
        await do(served, CREATE, {**REMINDER, "title": title})
    found = await refusal(served, CANCEL, {"match": "call"})
    assert found["pointer"] == "/match" and "call Tom" in found["detail"]
    assert (await do(served, CANCEL, {"match": "CALL TOM"}))["reminder"]["title"] == "call Tom"
    assert (await refusal(served, CANCEL, {"match": "call mom"}))["pointer"] == "/match"
    both = {"match": "x", "reminder_id": "0190b000-0000-7000-8000-00000000ffff"}
    assert (await refusal(served, CHANGE, both))["code"] == "arguments_invalid"


async def test_i27_reminders_of_other_users_and_tenants_are_not_there(served: Served) -> None:
    made = (await do(served, CREATE, REMINDER))["reminder"]
    for more in ({"user": "user-2"}, {"tenant": OTHER_TENANT}):
        held = await served.bound(**more)  # type: ignore[arg-type]
        answer = await served.prepare(held, CANCEL, {"reminder_id": made["id"]})
        assert code(answer) == "calls_refused"
        assert (await do(served, LIST, {}, **more))["reminders"] == []
    assert len((await do(served, LIST, {}))["reminders"]) == 1


async def test_lists_are_filtered_and_say_when_there_is_more(served: Served) -> None:
    for day in (5, 6, 7):
        await do(served, CREATE, {"title": f"t{day}", "at": f"2031-03-0{day}T09:00:00+08:00"})
    listed = await do(served, LIST, {"limit": 2})
    assert [one["title"] for one in listed["reminders"]] == ["t5", "t6"] and listed["more"]
    day = await do(served, LIST, {"from": "2031-03-06", "to": "2031-03-06"})
    assert [one["title"] for one in day["reminders"]] == ["t6"] and not day["more"]
    assert [one["title"] for one in (await do(served, LIST, {"text": "T7"}))["reminders"]] == ["t7"]


async def test_a_natural_duplicate_is_shown_not_refused(served: Served) -> None:
    await do(served, ADD, ENTRY, locale="en")
    held = await served.bound(locale="en")
    action = await served.prepared(held, ADD, ENTRY)
    assert "same amount already" in action["preview"]["text"]


async def test_totals_are_exact_by_category_and_never_across_currencies(served: Served) -> None:
    for amount, currency, more in (
        ("0.10", "USD", {"category": "food"}),
        ("0.20", "USD", {"category": "food"}),
        ("1234.50", "USD", {"category": "hotel"}),
        ("35.5", "CNY", {"category": "taxi"}),
        ("5", "CNY", {"kind": "refund", "category": "taxi"}),
        ("7", "CNY", {"date": "2026-10-31"}),
    ):
        await do(served, ADD, {"amount": amount, "currency": currency, "date": "2026-11-30", **more})
    summed = await do(served, "life.summarize_ledger", {"from": "2026-11-01", "to": "2026-11-30"})
    by = {one["currency"]: one for one in summed["totals"]}
    assert set(by) == {"USD", "CNY"}
    assert (by["USD"]["expense"], by["USD"]["net"], by["USD"]["entries"]) == ("1234.80", "-1234.80", 3)
    assert (by["CNY"]["expense"], by["CNY"]["refund"], by["CNY"]["net"]) == ("35.50", "5.00", "-30.50")
    food = next(one for one in by["USD"]["categories"] if one["category"] == "food")
    assert food["expense"] == "0.30"
    every = await do(served, "life.summarize_ledger", {"period": "all", "currency": "CNY"})
    assert every["totals"][0]["expense"] == "42.50" and every["from"] is None
    listed = await do(served, "life.list_ledger_entries", {"category": "taxi"})
    assert [one["amount"] for one in listed["entries"]] == ["5.00", "35.50"]
    assert (await refusal(served, "life.summarize_ledger", {"period": "all", "to": "2026-01-01"}))["pointer"]


async def test_an_entry_without_a_day_is_todays_and_without_currency_the_runs(served: Served) -> None:
    entry = (await do(served, ADD, {"amount": "12", "kind": "paid"}))["entry"]
    shanghai = datetime.now(UTC) + timedelta(hours=8)
    assert entry["occurred_on"] in {(shanghai - timedelta(minutes=m)).date().isoformat() for m in (0, 2)}
    assert (entry["currency"], entry["kind"], entry["category"]) == ("CNY", "expense", "other")


async def test_an_approval_after_midnight_writes_the_day_that_was_approved(served: Served) -> None:
    held = await served.bound()
    await served.lives.sql(
        "UPDATE agent.runs SET created_at = '2026-11-27T12:00:00Z' WHERE id = %s", held.run.id
    )
    action = await served.prepared(held, ADD, {"amount": "12"})
    assert action["change"]["after"]["occurred_on"] == "2026-11-27"
    held = await served.approved(held, action)
    answer = (await served.commit(held, action)).json()
    assert answer["result"]["entry"]["occurred_on"] == "2026-11-27"


async def test_the_plan_for_a_day_holds_what_is_due_on_that_day(served: Served) -> None:
    await do(served, CREATE, REMINDER)
    await do(served, CREATE, WEEKLY)
    pills = {"title": "pills", "at": "2031-03-05T08:00:00+08:00", "rrule": "FREQ=HOURLY;INTERVAL=6"}
    await do(served, CREATE, pills)
    friday = await do(served, "life.plan_day", {"date": "2031-03-14"})
    assert [(one["title"], one["at"][11:16]) for one in friday["reminders"]] == [
        ("pills", "02:00"), ("pills", "08:00"), ("pills", "14:00"), ("周会", "17:00"), ("pills", "20:00")
    ]  # fmt: skip
    wednesday = await do(served, "life.plan_day", {"date": "2031-03-05"})
    assert [one["title"] for one in wednesday["reminders"]] == ["pills", "交周报", "pills", "pills"]


async def test_a_time_that_passed_while_the_approval_waited_is_not_set(served: Served) -> None:
    held = await served.bound()
    action = await served.prepared(held, CREATE, {"title": "x", "at": SOON})
    held = await served.approved(held, action)
    await served.lives.sql(
        "UPDATE agent.actions SET arguments = %s, arguments_hash = %s",
        (moved := canonical.dumps({"title": "x", "at": _ago(minutes=2)}).decode()),
        hashlib.sha256(moved.encode()).hexdigest(),
    )
    stored = await served.lives.prepared_as_stored(held)
    signed = tokens.sign(KEYS, stored, held.run.user_id)  # as if it had been prepared two minutes earlier
    await served.lives.sql("UPDATE agent.actions SET token_mac = %s", signed.token_mac)
    answer = (await served.commit(held, action)).json()
    assert (answer["state"], answer["error"]["code"]) == ("failed", "time_passed")
    assert await served.count("app.reminders") == 0


def _ago(**span: float) -> str:
    return (datetime.now(UTC) - timedelta(**span)).isoformat()


# ── rights of the module's tables ───────────────────────────────────────────────────────────────────


async def made_reminder(served: Served) -> tuple[UUID, datetime]:
    made = (await do(served, CREATE, WEEKLY))["reminder"]
    return UUID(made["id"]), datetime.fromisoformat(made["next_at"])


async def fire(served: Served, *params: Any) -> bool:
    async with await psycopg.AsyncConnection.connect(served.lives.database.dsn("reconciler")) as connection:
        cursor = await connection.execute("SELECT app.fire_reminder(%s, %s, %s, %s)", params)
        row = await cursor.fetchone()
        assert row is not None
        return bool(row[0])


async def test_i31_a_reminder_moves_on_only_when_due_and_as_it_was_read(served: Served) -> None:
    reminder, next_at = await made_reminder(served)
    following = next_at + timedelta(days=7)
    assert not await fire(served, reminder, 1, next_at, following)  # not due yet
    await served.lives.age("app.reminders", "next_at", "id = %s", reminder)
    [row] = await served.lives.sql("SELECT next_at FROM app.reminders")
    due = row["next_at"]
    assert not await fire(served, reminder, 2, due, following)
    assert not await fire(served, reminder, 1, due - timedelta(seconds=1), following)
    assert await fire(served, reminder, 1, due, following)
    assert not await fire(served, reminder, 1, due, following)
    [row] = await served.lives.sql("SELECT next_at, version, status FROM app.reminders")
    assert row == {"next_at": following, "version": 2, "status": "active"}
    [audit] = await served.lives.sql("SELECT actor, what FROM agent.audit")
    assert audit == {"actor": "fencepost_reconciler", "what": "reminder.fired"}


async def test_i31_a_single_reminder_is_done_and_a_following_before_it_is_refused(served: Served) -> None:
    reminder, _ = await made_reminder(served)
    await served.lives.age("app.reminders", "next_at", "id = %s", reminder)
    [row] = await served.lives.sql("SELECT next_at FROM app.reminders")
    with pytest.raises(psycopg.Error, match="does not follow"):
        await fire(served, reminder, 1, row["next_at"], row["next_at"])
    assert await fire(served, reminder, 1, row["next_at"], None)
    [row] = await served.lives.sql("SELECT status, next_at FROM app.reminders")
    assert row == {"status": "done", "next_at": None}


FORBIDDEN = (
    ("reconciler", "UPDATE app.reminders SET title = 'x'"),
    ("reconciler", "INSERT INTO app.ledger_entries SELECT * FROM app.ledger_entries"),
    ("reconciler", "DELETE FROM app.reminders"),
    ("api", "UPDATE app.reminders SET title = 'x'"),
    ("api", "SELECT app.fire_reminder(gen_random_uuid(), 1, now(), now())"),
    ("gateway", "SELECT app.fire_reminder(gen_random_uuid(), 1, now(), now())"),
    ("worker", "SELECT FROM app.reminders"),
    ("worker", "SELECT FROM app.ledger_entries"),
)


async def test_the_modules_tables_are_the_gateways(lives: Lives) -> None:
    for role, statement in FORBIDDEN:
        async with await psycopg.AsyncConnection.connect(lives.database.dsn(role)) as connection:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await connection.execute(statement)


async def test_i27_row_level_security_narrows_the_modules_tables(served: Served) -> None:
    await do(served, CREATE, REMINDER)
    async with await psycopg.AsyncConnection.connect(served.lives.database.dsn("api")) as connection:
        for tenant, expected in ((None, 0), (OTHER_TENANT, 0), (TENANT, 1)):
            if tenant is not None:
                await connection.execute("SELECT set_config('fencepost.tenant', %s, false)", [str(tenant)])
            cursor = await connection.execute("SELECT count(*) FROM app.reminders")
            assert await cursor.fetchone() == (expected,)
