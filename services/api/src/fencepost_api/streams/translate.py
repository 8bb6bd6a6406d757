"""The log as a stream tells it: which events are shown, under which name, with what in them.

A pure table. What a run did inside (model calls, recovery checks, nodes) stays in `/events`, but for a model
call that failed: after the first byte only an `error` can still say so (case ST-4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fencepost_domain.vocabulary import CallState, Ev, RunStatus, WaitingOn
from pydantic_core import to_json

S = RunStatus

# Where a run is after an event of a type; the others say it in their payload.
STATUS_AFTER: Final[Mapping[str, RunStatus]] = {
    Ev.RUN_REQUESTED: S.QUEUED,
    Ev.RUN_CLAIMED: S.RUNNING,
    Ev.RUN_DEFERRED: S.QUEUED,
    Ev.RUN_WOKEN: S.QUEUED,
    Ev.RUN_LEASE_EXPIRED: S.QUEUED,
    Ev.RUN_REROUTED: S.QUEUED,
    Ev.RUN_PAUSED: S.PAUSED,
    Ev.RUN_CANCEL_ASKED: S.CANCELLING,
    Ev.RUN_DEADLINE_PASSED: S.CANCELLING,
    Ev.RUN_HANDOFF_ASKED: S.CANCELLING,
}
SAME_NAME: Final = frozenset(
    {Ev.ACTION_PREPARED, Ev.ACTION_COMMITTED, Ev.ACTION_REJECTED, Ev.ACTION_FAILED, Ev.ACTION_UNKNOWN}
)
CLOSED: Final[Mapping[str, str]] = {
    Ev.INTERRUPT_RESOLVED: "resolved",
    Ev.INTERRUPT_EXPIRED: "expired",
    Ev.INTERRUPT_WITHDRAWN: "withdrawn",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """One event of a stream. `body` is its JSON; `seq` None: no id, not to be resumed from."""

    name: str
    body: bytes
    seq: int | None = None
    last: bool = False


@dataclass(frozen=True, slots=True)
class Logged:
    """An event as read: what names other rows by id is filled in by the reader."""

    run_id: str
    seq: int
    type: str
    at: str
    payload: Mapping[str, Any]
    message: Mapping[str, Any] | None = None
    interrupt: Mapping[str, Any] | None = None
    finalization: Mapping[str, Any] | None = None


def show(event: Logged) -> Shown | None:
    """The stream's event, or None when the stream doesn't tell this."""
    base = {"run_id": event.run_id, "seq": event.seq, "at": event.at}
    told = _told(event)
    if told is None:
        return None
    name, data = told
    seq = None if name == "error" else event.seq  # an error is told, not resumed from (design 05)
    return Shown(name, to_json({**base, **data}), seq, last=name == "run.finished")


def _told(event: Logged) -> tuple[str, Mapping[str, Any]] | None:
    kind, payload = event.type, event.payload
    if kind == Ev.RUN_FINALIZED:
        return "run.finished", {
            "status": payload.get("status"),
            "reason": payload.get("reason"),
            "finalization": event.finalization,
        }
    if kind == Ev.MESSAGE_COMPLETED:
        said = event.message or {}
        return "message.completed", {
            "message_id": payload.get("message_id"),
            "text": said.get("text"),
            "artifacts": said.get("artifacts") or [],
        }
    if kind == Ev.INTERRUPT_OPENED:
        return "interrupt.opened", {**payload, "interrupt": event.interrupt}
    if kind in CLOSED:
        resolution = (event.interrupt or {}).get("resolution")
        return "interrupt.closed", {**payload, "status": CLOSED[kind], "resolution": resolution}
    if kind in SAME_NAME:
        return kind, dict(payload)
    if kind == Ev.MODEL_CALLED and payload.get("state") == CallState.FAILED:
        return "error", {name: payload.get(name) for name in ("code", "provider_code", "retryable")}
    status = status_after(kind, payload)
    return ("run.status", status) if status else None


def status_after(kind: str, payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """`status` and `waiting_on` after an event, or None when it moves no status."""
    if kind == Ev.RUN_PARKED:
        if payload.get("woken_meanwhile"):
            return _status(S.QUEUED, kind)
        return _status(S.WAITING, kind, payload.get("on"))
    if kind == Ev.RUN_UNSERVED:
        return _status(S.WAITING, kind, WaitingOn.VERSION)
    if kind in (Ev.RUN_PAUSE_ASKED, Ev.RUN_RESUMED, Ev.RUN_REPAIRED):
        to = payload.get("to")
        if to is None or (kind == Ev.RUN_PAUSE_ASKED and to == S.RUNNING):
            return None
        return _status(S(to), kind, payload.get("on"))
    after = STATUS_AFTER.get(kind)
    return _status(after, kind) if after else None


def _status(status: RunStatus, cause: str, on: object = None) -> dict[str, Any]:
    return {"status": str(status), "waiting_on": str(WaitingOn(str(on))) if on else None, "cause": cause}
