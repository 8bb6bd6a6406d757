"""How a node's patch becomes part of the state: most keys have one writer, some are combined.

Branches of a fan-out write in one superstep; their patches come in source order. Evidence is kept by id, what
was spent is summed and capped, a risk only rises, a failure stays the first one (I25).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from fencepost_domain.vocabulary import Risk

from fencepost_worker.flow.state import Patch, State

MOST_SPENT: Final = 1_000_000  # of one kind; a counter past any limit says the same
MOST_EVIDENCE: Final = 2_000
_RISKS: Final = ("", *(str(risk) for risk in Risk))


def _by_id(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The first word about an id stays: a step that runs again says the same."""
    return dict(list({**new, **old}.items())[:MOST_EVIDENCE]) if old else dict(new)


def _union(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    return {**old, **new}


def _summed(old: Mapping[str, int], new: Mapping[str, int]) -> dict[str, int]:
    return {**old, **{name: min(old.get(name, 0) + more, MOST_SPENT) for name, more in new.items()}}


def _highest(old: Mapping[str, int], new: Mapping[str, int]) -> dict[str, int]:
    return {**old, **{name: max(old.get(name, 0), count) for name, count in new.items()}}


def _riskier(old: str, new: str) -> str:
    return max(old or "", new, key=_RISKS.index)


def _first(old: Mapping[str, Any], new: Mapping[str, Any]) -> Mapping[str, Any]:
    return old or new


# None as a patch's value empties the key, except for a failure, which nothing takes back.
REDUCERS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "evidence": _by_id,
    "findings": _union,
    "reports": _union,
    "spent": _summed,
    "gate_rewrites": _highest,
    "risk": _riskier,
    "failure": _first,
}
_EMPTY: Final[Mapping[str, Any]] = {"findings": {}, "evidence": {}}


def merged(state: State, patch: Patch) -> State:
    """The state after a patch. With `reset` it is the patch alone: a module begins afresh."""
    if patch.get("reset"):
        return cast(State, {name: value for name, value in patch.items() if name != "reset"})
    if REDUCERS.keys().isdisjoint(patch):
        return cast(State, {**state, **patch})
    joined: dict[str, Any] = {**state, **patch}
    for name in REDUCERS.keys() & patch.keys():
        if patch[name] is None and name in _EMPTY:
            joined[name] = _EMPTY[name]
        elif state.get(name):
            joined[name] = REDUCERS[name](state[name], patch[name])  # type: ignore[literal-required]
    return cast(State, joined)
