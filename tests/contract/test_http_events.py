"""Every event type has a payload model, and what the services write fits it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fencepost_api.streams.translate import Logged, show, status_after
from fencepost_contracts.events import PAYLOADS, check, parse
from fencepost_domain.vocabulary import Ev
from pydantic import ValidationError

from tests.support.lives import Lives, living
from tests.support.postgres import Database


@pytest.fixture
async def lives(database: Database) -> AsyncIterator[Lives]:
    async with living(database) as opened:
        yield opened


async def written(lives: Lives) -> list[tuple[str, dict[str, Any]]]:
    rows = await lives.sql(
        "SELECT e.type, convert_from(p.payload, 'UTF8')::jsonb AS payload FROM agent.run_events e "
        "JOIN agent.run_event_payloads p USING (run_id, seq) ORDER BY e.run_id, e.seq"
    )
    return [(row["type"], row["payload"]) for row in rows]


def test_every_event_type_has_a_payload_model() -> None:
    assert set(PAYLOADS) == set(Ev)


def test_writers_may_not_add_members_and_readers_bear_them() -> None:
    newer = {"message_id": "01970000-0000-7000-8000-000000000001", "tone": "kind"}
    with pytest.raises(ValidationError):
        check(Ev.MESSAGE_COMPLETED, newer)
    assert str(parse(Ev.MESSAGE_COMPLETED, newer).model_dump()["message_id"]).endswith("1")
    assert parse(Ev.RUN_REROUTED, {"from": "companion", "to": "life"}).model_dump()["from"] == "companion"


async def test_what_is_written_in_a_runs_life_fits(lives: Lives) -> None:
    held, approved = await lives.waiting()
    await lives.resolve(approved)
    await lives.pause(held.run.id)
    _, rejected = await lives.waiting()
    await lives.resolve(rejected, "reject")
    finished = await lives.claimed()
    await lives.finalize(finished)
    stopped, _ = await lives.waiting()
    await lives.cancel(stopped.run.id)
    await lives.lost()
    acted = await lives.claimed()
    action = await lives.prepared(acted)
    await lives.opened(action)
    await lives.landed(action)

    found = await written(lives)

    for kind, payload in found:
        check(kind, payload)
    assert {kind for kind, _ in found} >= {
        Ev.RUN_REQUESTED, Ev.RUN_CLAIMED, Ev.RUN_PARKED, Ev.RUN_WOKEN, Ev.RUN_PAUSE_ASKED, Ev.RUN_FINALIZED,
        Ev.RUN_CANCEL_ASKED, Ev.INTERRUPT_OPENED, Ev.INTERRUPT_RESOLVED, Ev.ACTION_REJECTED,
        Ev.ACTION_COMMITTED, Ev.MESSAGE_COMPLETED,
    }  # fmt: skip


PAYLOAD_OF: Mapping[str, Mapping[str, Any]] = {
    Ev.RUN_PARKED: {"on": "approval", "woken_meanwhile": False},
    Ev.RUN_PAUSE_ASKED: {"to": "paused"},
    Ev.RUN_RESUMED: {"to": "waiting", "on": "approval"},
    Ev.RUN_REPAIRED: {"to": "queued"},
    Ev.RUN_FINALIZED: {"status": "succeeded", "reason": "acceptance_met"},
}
SHOWN: Mapping[str, str] = {
    **{kind: "run.status" for kind in Ev if kind.startswith("run.") and kind != Ev.RUN_BOUND},
    Ev.RUN_FINALIZED: "run.finished",
    Ev.MESSAGE_COMPLETED: "message.completed",
    Ev.INTERRUPT_OPENED: "interrupt.opened",
    Ev.INTERRUPT_RESOLVED: "interrupt.closed",
    Ev.INTERRUPT_EXPIRED: "interrupt.closed",
    Ev.INTERRUPT_WITHDRAWN: "interrupt.closed",
    Ev.ACTION_PREPARED: "action.prepared",
    Ev.ACTION_COMMITTED: "action.committed",
    Ev.ACTION_REJECTED: "action.rejected",
    Ev.ACTION_FAILED: "action.failed",
    Ev.ACTION_UNKNOWN: "action.unknown",
}  # fmt: skip


@pytest.mark.parametrize("kind", list(Ev))
def test_each_type_is_shown_by_a_stream_under_its_name_or_not_at_all(kind: Ev) -> None:
    at = (datetime(2026, 3, 4, tzinfo=UTC) + timedelta(seconds=1)).isoformat()
    shown = show(Logged("r", 7, kind, at, PAYLOAD_OF.get(kind, {})))
    assert (shown.name if shown else None) == SHOWN.get(kind)
    assert shown is None or (shown.seq, shown.last) == (7, kind == Ev.RUN_FINALIZED)


def test_a_run_that_was_woken_while_parking_is_queued_and_a_mark_moves_nothing() -> None:
    woken = status_after(Ev.RUN_PARKED, {"on": "approval", "woken_meanwhile": True})
    assert woken is not None and (woken["status"], woken["waiting_on"]) == ("queued", None)
    assert status_after(Ev.RUN_PAUSE_ASKED, {"to": "running"}) is None
