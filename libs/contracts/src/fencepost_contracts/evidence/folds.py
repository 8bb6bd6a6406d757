"""What a run's log says, looked at from each side: pure functions of its events, nothing is called.

Diagnostic replay is one of these over the events up to a seq. The same functions read a database, an export
and a test's list, so that what an operator sees offline is what the api shows. An erased payload is said as
erased; nothing is made up for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from fencepost_domain.vocabulary import CallState, Ev

from fencepost_contracts.evidence.log import LogEvent

View = Any
ERASED: Final = {"erased": True}
MACHINE: Final = "fencepost"  # who stands behind an event that names nobody: the runtime itself
_COUNTED: Final = frozenset({str(Ev.MODEL_CALLED), str(Ev.OBSERVED_LATE)})


def summary(events: Iterable[LogEvent]) -> View:
    """Where the run stands: events by type, the first and the last, how it ended, what was erased.

    erased: events without a payload, so all payloads are to be there for it.
    """
    counts: dict[str, int] = {}
    first: LogEvent | None = None
    last: LogEvent | None = None
    ended: LogEvent | None = None
    erased = 0
    for event in events:
        counts[event.type] = counts.get(event.type, 0) + 1
        first = first or event
        last = event
        erased += event.payload is None
        if event.type == Ev.RUN_FINALIZED:
            ended = event
    return summarised(
        counts,
        first_at=first.at if first else None,
        last_at=last.at if last else None,
        last=(last.seq, last.type) if last else None,
        ended=ended,
        erased=erased,
    )


def summarised(
    counts: Mapping[str, int],
    *,
    first_at: datetime | None,
    last_at: datetime | None,
    last: tuple[int, str] | None,
    ended: LogEvent | None,
    erased: int,
) -> View:
    """The summary from what was counted, here or where the log lies. last: seq and type; ended: its event."""
    return {
        "events": sum(counts.values()),
        "by_type": dict(counts),
        "first_at": first_at,
        "last_at": last_at,
        "last_seq": last[0] if last else 0,
        "last_type": last[1] if last else None,
        "ended": (ended.payload or ERASED) if ended else None,
        "erased": erased,
    }


def conversation(events: Iterable[LogEvent]) -> View:
    """What was said, in order: the request, questions with their answers, the final message; and where what
    was said before was shortened, with the summary or what was wrong with it."""
    turns: list[dict[str, Any]] = []
    for event in events:
        said = _SAID.get(event.type)
        if said is not None:
            body = {"erased": True} if event.payload is None else said(event.payload)
            turns.append({"seq": event.seq, "at": event.at, **body})
    return turns


_SAID: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    Ev.RUN_REQUESTED: lambda p: {"author": "user", "text": p.get("text")},
    Ev.INTERRUPT_OPENED: lambda p: {"author": "assistant", "kind": p.get("kind"), "text": p.get("question")},
    Ev.INTERRUPT_RESOLVED: lambda p: {
        "author": "person",
        "kind": p.get("kind"),
        "resolution": p.get("resolution"),
    },
    Ev.INTERRUPT_EXPIRED: lambda p: {"author": "nobody", "kind": p.get("kind"), "resolution": None},
    Ev.MESSAGE_COMPLETED: lambda p: {"author": "assistant", "text": p.get("text")},
    Ev.COMPACTION_CANDIDATE: lambda p: {
        "author": "compactor",
        "kind": "candidate",
        "text": p.get("summary"),
        "messages": p.get("source_seqs"),
        "faults": p.get("faults"),
    },
    Ev.COMPACTION_COMMITTED: lambda p: {"author": "compactor", "kind": "committed", "text": None},
    Ev.SIMULATION_ENDED: lambda p: {
        "author": "simulation",
        "outcome": p.get("outcome"),
        "text": p.get("text"),
    },
}


def model_input(events: Iterable[LogEvent]) -> View:
    """Each call of a model: what was sent, message by message, and what came back.

    A message stands once in the log and is named by its hash after that; one that was erased, or written
    before version 2, is shown as such.
    """
    bodies: dict[str, Any] = {}
    calls: list[dict[str, Any]] = []
    for event in events:
        if event.type not in (Ev.MODEL_CALLED, Ev.FACT_INHERITED):
            continue
        p = event.payload
        if p is None:
            calls.append({"seq": event.seq, "at": event.at, "erased": True})
            continue
        if event.type == Ev.FACT_INHERITED and p["kind"] != "model":
            continue
        bodies.update(p.get("bodies") or {})
        names = p.get("input")
        calls.append(
            {
                "seq": event.seq,
                "at": event.at,
                "model": p.get("model"),
                "state": p.get("state", "inherited"),
                "request_hash": p.get("request_hash"),
                "messages": None if names is None else [bodies.get(n, {"hash": n, **ERASED}) for n in names],
                "reply": p.get("reply"),
                "code": p.get("code"),
            }
        )
    return calls


def tools(events: Iterable[LogEvent]) -> View:
    """Every call of a tool: prepared, decided, started, how it came out, with the seq of each; its files."""
    calls: dict[tuple[int, int], dict[str, Any]] = {}
    refused: list[dict[str, Any]] = []
    current: dict[int, tuple[int, int]] = {}
    for event in events:
        p = event.payload
        if event.type == Ev.TOOL_REFUSED:
            refused.append({"seq": event.seq, "at": event.at, **(p or ERASED)})
        if event.type == Ev.ARTIFACT_CREATED:
            _keep_file(calls, current, event)
            continue
        if p is None or (event.type not in _ACTION and event.type != Ev.FACT_INHERITED):
            continue
        if event.type == Ev.FACT_INHERITED and p["kind"] != "action":
            continue
        index = p["index"]
        n = p.get("n")
        key = current.get(index, (index, 1)) if n is None else (index, n)
        current[index] = key
        call = calls.setdefault(key, {"index": key[0], "n": key[1], "tool": p["tool"], "steps": []})
        step = _ACTION.get(event.type, "inherited")
        call["steps"].append({"seq": event.seq, "at": event.at, "step": step, "by": event.actor})
        call["state"] = step
        for name, value in p.items():
            if name in _KEPT and value is not None:
                call[name] = value
    return {"calls": list(calls.values()), "refused": refused}


def _keep_file(
    calls: dict[tuple[int, int], dict[str, Any]], current: Mapping[int, tuple[int, int]], event: LogEvent
) -> None:
    """A file that a call made: it is told after the call's own step, in the same transaction."""
    if event.payload is None:
        return
    call = calls.get(current.get(event.payload["index"], (-1, -1)))
    if call is not None:
        told = {
            name: event.payload[name] for name in ("artifact_id", "name", "sha256", "size_bytes", "status")
        }
        call.setdefault("artifacts", []).append(told)


_FILE: Final = ("artifact_id", "name", "sha256", "size_bytes", "status")
_ACTION: Final[Mapping[str, str]] = {
    Ev.ACTION_PREPARED: "prepared",
    Ev.ACTION_WITHDRAWN: "withdrawn",
    Ev.ACTION_REJECTED: "rejected",
    Ev.ACTION_STARTED: "started",
    Ev.ACTION_COMMITTED: "committed",
    Ev.ACTION_FAILED: "failed",
    Ev.ACTION_UNKNOWN: "unknown",
    Ev.EFFECT_ABSENT: "absent",
    Ev.EFFECT_NEEDS_HUMAN: "needs_human",
    Ev.EFFECT_OBSERVED: "observed",
    Ev.EFFECT_RESOLVED: "resolved",
    Ev.EFFECT_COMPENSATING: "compensating",
    Ev.EFFECT_COMPENSATED: "compensated",
}
_KEPT: Final = frozenset((
    "arguments", "arguments_hash", "risk", "effect_class", "approval", "effect_key", "result", "error",
    "note", "detail", "external_id", "late", "result_invalid", "from_run_id",
))  # fmt: skip


def audit(events: Iterable[LogEvent]) -> View:
    """Who did what, when: every event that a person or a decision stands behind."""
    lines: list[dict[str, Any]] = []
    for event in events:
        if event.type in _QUIET:
            continue
        p = event.payload or ERASED
        told = {name: value for name, value in p.items() if name in _TOLD and value is not None}
        by = event.actor or MACHINE
        lines.append({"seq": event.seq, "at": event.at, "what": event.type, "by": by, **told})
    return lines


_QUIET: Final = frozenset({str(Ev.RUN_CLAIMED), str(Ev.RUN_WOKEN), str(Ev.RUN_DEFERRED), str(Ev.RUN_PARKED)})
_TOLD: Final = frozenset((
    "tool", "index", "n", "kind", "interrupt_id", "resolution", "risk", "code", "status", "reason", "answer",
    "check", "note", "graph", "manifest", "catalog", "model", "state", "origin_kind", "origin_run_id",
    "erased",
))  # fmt: skip


def usage(events: Iterable[LogEvent]) -> View:
    """Calls and tokens, by model; late ones are billed too. Actions done and decisions beside them."""
    models: dict[str, dict[str, int]] = {}
    actions = decisions = unknown = 0
    for event in events:
        actions += event.type == Ev.ACTION_COMMITTED
        decisions += event.type == Ev.INTERRUPT_RESOLVED
        if event.type not in _COUNTED:
            continue
        p = event.payload
        if p is None:
            unknown += 1
            continue
        sums = models.setdefault(
            f"{p['provider']}/{p['model']}",
            {"calls": 0, "failed": 0, "late": 0, "input_tokens": 0, "output_tokens": 0},
        )
        sums["calls"] += 1
        sums["failed"] += p["state"] == CallState.FAILED
        sums["late"] += bool(p["late"])
        sums["input_tokens"] += p.get("input_tokens") or 0
        sums["output_tokens"] += p.get("output_tokens") or 0
    total = {
        name: sum(m[name] for m in models.values()) for name in ("calls", "input_tokens", "output_tokens")
    }
    return {"models": models, **total, "actions": actions, "decisions": decisions, "erased_calls": unknown}


VIEWS: Final[Mapping[str, Callable[[Iterable[LogEvent]], View]]] = {
    "summary": summary,
    "conversation": conversation,
    "model_input": model_input,
    "tools": tools,
    "audit": audit,
    "usage": usage,
}
# The types a view reads: a store may leave out the payloads of all others. None: every type.
READS: Final[Mapping[str, frozenset[str] | None]] = {
    "summary": None,
    "conversation": frozenset(str(k) for k in _SAID),
    "model_input": frozenset({str(Ev.MODEL_CALLED), str(Ev.FACT_INHERITED)}),
    "tools": frozenset(
        {*(str(k) for k in _ACTION), str(Ev.TOOL_REFUSED), str(Ev.FACT_INHERITED), str(Ev.ARTIFACT_CREATED)}
    ),
    "audit": None,
    "usage": _COUNTED,
}
# Types that a view only counts: their payloads are of no matter to it.
COUNTS: Final[Mapping[str, frozenset[str]]] = {
    "usage": frozenset({str(Ev.ACTION_COMMITTED), str(Ev.INTERRUPT_RESOLVED)}),
}
