"""What a log that a person settled says to a fork and to a simulation."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from fencepost_contracts.evidence.frozen import fork_points, frozen_of
from fencepost_contracts.evidence.log import LogEvent
from fencepost_contracts.evidence.trajectory import trajectory
from fencepost_domain.vocabulary import Ev

AT = datetime(2026, 12, 1, tzinfo=UTC)
CALL = {"index": 0, "n": 1, "tool": "probe.opaque"}
PREPARED = {
    **CALL, "arguments": {"to": "Bob"}, "risk": "high", "effect_class": "external_opaque", "approval": True,
    "status": "prepared",
}  # fmt: skip


def log(state: str) -> list[LogEvent]:
    told: list[tuple[Ev, dict[str, Any]]] = [
        (Ev.RUN_BOUND, {"graph": "g"}),
        (Ev.ACTION_PREPARED, PREPARED),
        (Ev.ACTION_STARTED, {**CALL, "attempt": 1}),
        (Ev.ACTION_UNKNOWN, {**CALL, "attempt": 1}),
        (Ev.INTERRUPT_OPENED, {"kind": "reconcile", "index": 0, "n": 1}),
        (Ev.EFFECT_RESOLVED, {"index": 0, "tool": CALL["tool"], "state": state, "effect_key": "k"}),
        (Ev.INTERRUPT_RESOLVED, {"kind": "reconcile", "index": 0, "n": 1, "resolution": {"outcome": state}}),
        (Ev.MESSAGE_COMPLETED, {"text": "done"}),
    ]
    return [LogEvent(seq, str(kind), AT, "", payload) for seq, (kind, payload) in enumerate(told, 1)]


def test_what_a_person_says_happened_is_a_frozen_outcome_and_a_point_to_fork_at() -> None:
    events = log("completed")
    [action] = frozen_of(events).actions
    assert (action.outcome, action.result, action.effect_key) == ("completed", None, "k")
    assert fork_points(events) == [1, 6]
    path = trajectory(events)
    assert [(one["step"], one.get("outcome")) for one in path] == [("action", "committed"), ("message", None)]
    assert path[0]["arguments"] == {"to": "Bob"}


@pytest.mark.parametrize(
    ("state", "path", "more"), [("absent", ["message"], [9]), ("abandoned", ["action", "message"], [])]
)
def test_what_did_not_happen_or_nobody_knows_is_no_outcome(
    state: str, path: list[str], more: list[int]
) -> None:
    events = log(state)
    assert frozen_of(events).actions[0].outcome is None
    assert [one["step"] for one in trajectory(events)] == path
    events.append(LogEvent(9, str(Ev.ACTION_COMMITTED), AT, "", {**CALL, "index": 1}))
    assert fork_points(events) == [1, *more], "not while nobody knows what an attempt did"
