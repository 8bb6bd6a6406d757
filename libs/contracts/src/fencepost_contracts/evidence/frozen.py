"""Frozen results: what a run's log knows of models, tools and people, found again by key (design 02 §8).

A fork goes on from them, a simulation runs on them. A model's answer is found by the hash of the request,
which is the question itself; in a simulation also by its place, since another graph or contract asks the same
in other words. A tool's result is found by its key (index and n) and then by (tool, arguments), and only for
the same arguments: a result is never given for a call that was not made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fencepost_domain.vocabulary import CallState, EffectState, Ev

from fencepost_contracts import canonical
from fencepost_contracts.evidence.log import LogEvent


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's complete answer. seq: of the event that tells it."""

    seq: int
    node: str
    request_hash: str | None
    body: Mapping[str, Any]


@dataclass(slots=True)
class FrozenAction:
    """A tool call as prepared, and what became of it: `completed`, `failed`, or None (not known)."""

    seq: int
    index: int
    n: int
    tool: str
    arguments: Mapping[str, Any]
    risk: str
    effect_class: str
    approval: bool
    status: str
    outcome: str | None = None
    result: Any = None
    error: Any = None
    result_invalid: bool = False
    effect_key: str | None = None
    decision: str | None = None

    def fits(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """The same call: the same tool and arguments, but for defaults that the gateway filled in."""
        if tool != self.tool:
            return False
        given = {**self.arguments, **arguments}
        return canonical.digest(given) == canonical.digest(dict(self.arguments))


@dataclass(frozen=True, slots=True)
class Said:
    """A person's resolution of a question."""

    seq: int
    kind: str
    index: int
    n: int
    resolution: Mapping[str, Any]


@dataclass(slots=True)
class Frozen:
    """All of it, in the log's order."""

    replies: list[Reply] = field(default_factory=list)
    actions: list[FrozenAction] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)

    def reply_to(self, request_hash: str) -> Reply | None:
        return next((one for one in self.replies if one.request_hash == request_hash), None)

    def reply_at(self, node: str, place: int) -> Reply | None:
        """The answer to the call at this place (from 0) among the calls of a node."""
        there = [one for one in self.replies if one.node == node]
        return there[place] if place < len(there) else None

    def action_for(self, index: int, n: int, tool: str, arguments: Mapping[str, Any]) -> FrozenAction | None:
        """By key, then by (tool, arguments); of several, one whose outcome is known."""
        fitting = [one for one in self.actions if one.fits(tool, arguments)]
        fitting.sort(key=lambda one: ((one.index, one.n) != (index, n), one.outcome is None, one.seq))
        return fitting[0] if fitting else None

    def answer_to(self, kind: str, index: int, n: int) -> Said | None:
        return next((s for s in self.said if (s.kind, s.index, s.n) == (kind, index, n)), None)


_OUTCOMES: Final = {Ev.ACTION_COMMITTED: "completed", Ev.ACTION_FAILED: "failed"}


def frozen_of(events: Iterable[LogEvent], answers: Mapping[str, Mapping[str, Any]] | None = None) -> Frozen:
    """answers: from the ledger by call id, for events of version 1, which didn't hold them."""
    found = Frozen()
    current: dict[tuple[int, int], FrozenAction] = {}
    for event in events:
        p = event.payload
        if p is None:
            continue
        if event.type == Ev.MODEL_CALLED:
            _reply(found, event.seq, p, answers or {})
        elif event.type == Ev.FACT_INHERITED:
            _inherited(found, current, event.seq, p)
        elif event.type == Ev.ACTION_PREPARED:
            action = current[p["index"], p["n"]] = FrozenAction(event.seq, **{k: p[k] for k in _PREPARED})
            found.actions.append(action)
        elif event.type in _OUTCOMES or event.type == Ev.ACTION_REJECTED:
            _outcome(current, event, p)
        elif event.type == Ev.EFFECT_RESOLVED:
            _told_by_a_person(current, event.seq, p)
        elif event.type == Ev.INTERRUPT_RESOLVED and p.get("resolution") is not None:
            found.said.append(Said(event.seq, p["kind"], p["index"], p["n"], p["resolution"]))
    return found


_PREPARED: Final = ("index", "n", "tool", "arguments", "risk", "effect_class", "approval", "status")


def _reply(found: Frozen, seq: int, p: Mapping[str, Any], answers: Mapping[str, Mapping[str, Any]]) -> None:
    body = p.get("reply") or answers.get(str(p["call_id"]))
    if body is not None and p["state"] == CallState.SETTLED and not p["late"]:
        found.replies.append(Reply(seq, node_of(p["key"]), p.get("request_hash"), body))


def node_of(key: str) -> str:
    """The node of a call's key `{run_id}:{checkpoint}:{node}:{branch}:{n}`; `node/branch` of a branch behind
    the first, since branches end in any order."""
    parts = key.split(":")
    if len(parts) < 3:
        return ""
    return parts[2] if len(parts) < 4 or parts[3] in ("", "0") else f"{parts[2]}/{parts[3]}"


def kind_of(place: str) -> str:
    """The interrupt's kind in an inherited answer's place `{run_id}:{kind}:{index}:{n}`."""
    parts = place.split(":")
    return parts[1] if len(parts) > 1 else ""


def _outcome(current: Mapping[tuple[int, int], FrozenAction], event: LogEvent, p: Mapping[str, Any]) -> None:
    action = current.get((p["index"], p["n"]))
    if action is None:
        return
    if event.type == Ev.ACTION_REJECTED:
        action.decision = "reject"
        return
    action.outcome = _OUTCOMES[Ev(event.type)]
    action.decision = "approve"
    action.result, action.error = p.get("result"), p.get("error")
    action.result_invalid = bool(p.get("result_invalid"))
    action.effect_key = p.get("effect_key")
    action.seq = event.seq


def _told_by_a_person(
    current: Mapping[tuple[int, int], FrozenAction], seq: int, p: Mapping[str, Any]
) -> None:
    """A person who looked says that it happened: done, with a result that nobody has."""
    of_index = [action for (index, _), action in current.items() if index == p["index"]]
    if of_index and p["state"] == EffectState.COMPLETED:
        action = of_index[-1]
        action.outcome, action.decision, action.seq = "completed", "approve", seq
        action.effect_key = p.get("effect_key")


def _inherited(
    found: Frozen, current: dict[tuple[int, int], FrozenAction], seq: int, p: Mapping[str, Any]
) -> None:
    if p["kind"] == "model":
        found.replies.append(Reply(seq, node_of(p["place"]), p.get("request_hash"), p["reply"]))
    elif p["kind"] == "answer":
        kind = kind_of(p["place"])
        found.said.append(Said(seq, kind, p["index"], p["n"], p["resolution"]))
    else:
        action = FrozenAction(
            seq, p["index"], p["n"], p["tool"], p["arguments"] or {}, "low", "none", False, "prepared",
            outcome="failed" if p.get("error") else "completed", result=p.get("result"), error=p.get("error"),
            effect_key=p.get("effect_key"),
        )  # fmt: skip
        current[action.index, action.n] = action
        found.actions.append(action)


# ── where a run can be forked ───────────────────────────────────────────────────────────────────────


def fork_points(events: Iterable[LogEvent]) -> list[int]:
    """Seqs after which a run can go on as another one: bound, answered by a model or a person, acted.

    Not while an attempt is open: what it did to the world is not known there.
    """
    points: list[int] = []
    started: set[int] = set()
    for event in events:
        p = event.payload
        if p is None:
            continue
        if event.type == Ev.ACTION_STARTED:
            started.add(p["index"])
        elif event.type in _OUTCOMES or (
            event.type == Ev.EFFECT_RESOLVED and p["state"] != EffectState.ABANDONED
        ):
            started.discard(p["index"])
        if not started and _is_point(event, p):
            points.append(event.seq)
    return points


def _is_point(event: LogEvent, p: Mapping[str, Any]) -> bool:
    if event.type == Ev.MODEL_CALLED:
        return p["state"] == CallState.SETTLED and not p["late"]
    if event.type == Ev.INTERRUPT_RESOLVED:
        return bool(p["kind"] == "input")
    if event.type == Ev.EFFECT_RESOLVED:
        return bool(p["state"] == EffectState.COMPLETED)
    return event.type in (Ev.RUN_BOUND, Ev.ACTION_COMMITTED, Ev.FACT_INHERITED)


FORK_TYPES: Final = frozenset(
    {str(Ev.RUN_BOUND), str(Ev.MODEL_CALLED), str(Ev.INTERRUPT_RESOLVED), str(Ev.ACTION_COMMITTED),
     str(Ev.ACTION_FAILED), str(Ev.ACTION_STARTED), str(Ev.EFFECT_RESOLVED), str(Ev.FACT_INHERITED)}
)  # fmt: skip
FROZEN_TYPES: Final = frozenset({*FORK_TYPES, str(Ev.ACTION_PREPARED), str(Ev.ACTION_REJECTED)})
