"""The path a run took, and how two paths differ: what "what would v2 have done?" is answered with.

A step is what the model chose, what a tool was called with and gave, what a person said, how it ended. Steps
are compared by what they are, without ids, times and tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any, Final

from fencepost_domain.vocabulary import CallState, EffectState, Ev, InterruptKind

from fencepost_contracts.evidence.frozen import kind_of
from fencepost_contracts.evidence.log import LogEvent

Step = dict[str, Any]
_SIGHT: Final = (
    "step",
    "calls",
    "text",
    "tool",
    "arguments",
    "outcome",
    "result",
    "error",
    "kind",
    "resolution",
)


def trajectory(events: Iterable[LogEvent]) -> list[Step]:
    """The steps, in order, each with its seq; branches beside each other in their own order, not in that in
    which they happened to end."""
    steps: list[Step] = []
    beside: dict[int, tuple[str, int]] = {}  # by seq: the fan-out a model's answer belongs to, and its branch
    prepared: dict[tuple[int, int], Mapping[str, Any]] = {}
    unsure: dict[int, int] = {}  # by index: the seq of a step whose outcome wasn't known
    settled: set[int] = set()
    for event in events:
        p = event.payload
        if p is None:
            if event.type in _TYPES:
                steps.append({"seq": event.seq, "step": "erased", "kind": event.type})
            continue
        if event.type == Ev.ACTION_PREPARED:
            prepared[p["index"], p["n"]] = p
        if event.type == Ev.ACTION_UNKNOWN:
            unsure[p["index"]] = event.seq
        elif event.type in _SETTLES and p.get("state") != EffectState.ABANDONED:
            # One step of the path, not first "unknown" and then what it was.
            settled.add(unsure.pop(p["index"], 0))
        step = _step(event, p, prepared)
        if step is not None:
            steps.append({"seq": event.seq, **step})
            if step["step"] == "model":
                beside[event.seq] = _branch_of(str(p.get("key") or p.get("place") or ""))
    return _in_order([one for one in steps if one["seq"] not in settled], beside)


def _in_order(steps: Sequence[Step], beside: Mapping[int, tuple[str, int]]) -> list[Step]:
    ordered: list[Step] = []
    for _, group in groupby(steps, key=lambda one: beside.get(one["seq"], ("", 0))[0]):
        ordered += sorted(group, key=lambda one: beside.get(one["seq"], ("", 0))[1])
    return ordered


def _branch_of(key: str) -> tuple[str, int]:
    """(`checkpoint:node`, branch) of a call's key `{run_id}:{checkpoint}:{node}:{branch}:{n}`."""
    parts = key.split(":")
    if len(parts) < 5 or not parts[3].isdecimal():
        return "", 0
    return f"{parts[1]}:{parts[2]}", int(parts[3])


def _step(event: LogEvent, p: Mapping[str, Any], prepared: Mapping[tuple[int, int], Any]) -> Step | None:
    match event.type:
        case Ev.MODEL_CALLED if p.get("role") == "compactor":
            return None  # it made what was read, and chose nothing; who is made from this run reads it too
        case Ev.MODEL_CALLED if p["state"] == CallState.SETTLED and not p["late"]:
            return chosen(p.get("reply"))
        case Ev.FACT_INHERITED:
            return _of_fact(p)
        case Ev.ACTION_COMMITTED | Ev.ACTION_FAILED | Ev.ACTION_UNKNOWN:  # a rejection is the person's answer
            made = prepared.get((p["index"], p.get("n") or 1)) or {}
            outcome = str(event.type).partition(".")[2]
            return _acted(p["tool"], made.get("arguments"), outcome, p.get("result"), p.get("error"))
        case Ev.EFFECT_RESOLVED if p["state"] == EffectState.COMPLETED:
            arguments = [one["arguments"] for (index, _), one in prepared.items() if index == p["index"]]
            return _acted(p["tool"], arguments[-1] if arguments else None, "committed", None, None)
        case Ev.INTERRUPT_RESOLVED if p["kind"] in _ABOUT_THE_RUN:
            return None  # what became of an effect, or of a version: no turn of the path
        case Ev.INTERRUPT_RESOLVED:
            return {"step": "answer", "kind": p["kind"], "resolution": p.get("resolution")}
        case Ev.MESSAGE_COMPLETED:
            return {"step": "message", "text": p.get("text")}
        case Ev.SIMULATION_ENDED if p["outcome"] == "completed":
            return {"step": "message", "text": p.get("text")}
        case Ev.SIMULATION_ENDED:
            return {"step": p["outcome"], "wanted": p.get("wanted")}
        case Ev.RUN_FINALIZED:
            return {"step": "end", "kind": f"{p['status']}/{p['reason']}"}
    return None


def _of_fact(p: Mapping[str, Any]) -> Step:
    if p["kind"] == "model":
        return chosen(p.get("reply"))
    if p["kind"] == "answer":
        kind = kind_of(str(p["place"]))
        return {"step": "answer", "kind": kind, "resolution": p.get("resolution")}
    outcome = "failed" if p.get("error") else "committed"
    return _acted(p["tool"], p.get("arguments"), outcome, p.get("result"), p.get("error"))


def chosen(reply: Mapping[str, Any] | None) -> Step:
    """What the model chose: the calls without their ids, and its text."""
    if reply is None:
        return {"step": "model", "calls": None, "text": None}
    calls = [{"name": c.get("name"), "arguments": c.get("arguments")} for c in reply.get("calls") or ()]
    return {"step": "model", "calls": calls, "text": reply.get("text") or ""}


def _acted(tool: str, arguments: Any, outcome: str, result: Any, error: Any) -> Step:
    return {
        "step": "action",
        "tool": tool,
        "arguments": arguments,
        "outcome": outcome,
        "result": result,
        "error": error,
    }


_TYPES: Final = frozenset(
    {str(Ev.MODEL_CALLED), str(Ev.FACT_INHERITED), str(Ev.ACTION_PREPARED), str(Ev.ACTION_COMMITTED),
     str(Ev.ACTION_FAILED), str(Ev.ACTION_UNKNOWN), str(Ev.EFFECT_RESOLVED), str(Ev.INTERRUPT_RESOLVED),
     str(Ev.MESSAGE_COMPLETED), str(Ev.SIMULATION_ENDED), str(Ev.RUN_FINALIZED)}
)  # fmt: skip

_SETTLES: Final = frozenset({str(Ev.ACTION_COMMITTED), str(Ev.ACTION_FAILED), str(Ev.EFFECT_RESOLVED)})
_ABOUT_THE_RUN: Final = frozenset({str(InterruptKind.RECONCILE), str(InterruptKind.VERSION)})


def difference(before: Sequence[Step], after: Sequence[Step]) -> dict[str, Any]:
    """`same`, or the `changes`: which steps stand instead of which. `first`: where the paths part."""
    old, new = [_sight(one) for one in before], [_sight(one) for one in after]
    changes = [
        {"change": tag, "before": list(before[a:b]), "after": list(after[c:d])}
        for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if tag != "equal"
    ]
    first = next((n for n, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), None)
    if first is None and len(old) != len(new):
        first = min(len(old), len(new))
    return {"same": not changes, "first": first, "steps": [len(old), len(new)], "changes": changes}


def _sight(step: Step) -> str:
    """What two steps are compared by. An end that says the same in a simulation is the same end."""
    return json.dumps({name: step.get(name) for name in _SIGHT}, sort_keys=True, default=str)


READ: Final = _TYPES  # event types a trajectory is made of
