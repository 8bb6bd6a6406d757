"""Old events are never rewritten: readers bring their payloads to the version that is written today.

One step a version, `(type, version) -> payload of version + 1`; an additive step fills in None for what the
old one didn't say, never a guess. `tests/contract/fixtures/events` holds an event of every type and version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from fencepost_domain.vocabulary import EVENT_VERSIONS, Ev

Payload = Mapping[str, Any]
Step = Callable[[Payload], dict[str, Any]]


class NewerEvent(ValueError):
    """The event was written by a newer release than this one; reading it would be guessing."""

    def __init__(self, kind: str, version: int) -> None:
        super().__init__(f"{kind} of version {version}: this release reads up to {current_version(kind)}")


def current_version(kind: str) -> int:
    """The version that is written today; 1 for a type this release doesn't know."""
    return EVENT_VERSIONS.get(Ev(kind), 1) if kind in _KNOWN else 1


def _adds(*names: str) -> Step:
    absent = dict.fromkeys(names)
    return lambda payload: {**absent, **payload}


_KNOWN: Final = frozenset(str(kind) for kind in Ev)
_MODEL: Final = _adds("request_hash", "input", "bodies", "reply")
_ASKED: Final = _adds("index", "n", "question", "resolution")
STEPS: Final[Mapping[tuple[str, int], Step]] = {
    (Ev.RUN_REQUESTED, 1): _adds(
        "text", "locale", "zone", "currency", "origin_kind", "origin_run_id", "origin_seq", "substitutes"
    ),
    (Ev.MODEL_CALLED, 1): _MODEL,
    (Ev.OBSERVED_LATE, 1): _MODEL,
    (Ev.MESSAGE_COMPLETED, 1): _adds("text"),
    (Ev.INTERRUPT_OPENED, 1): _ASKED,
    (Ev.INTERRUPT_RESOLVED, 1): _ASKED,
}


def upcast(
    kind: str, version: int, payload: Payload, steps: Mapping[tuple[str, int], Step] = STEPS
) -> Payload:
    """The payload as the current version says it. Raises NewerEvent, ValueError for a version below 1.

    A type that this release doesn't know is passed on as it is: it can be shown, hashed and exported.
    """
    if version < 1:
        raise ValueError(f"{kind}: there is no version {version}")
    wanted = max(current_version(kind), *(v + 1 for k, v in steps if k == kind), 1)
    if version > wanted and kind in _KNOWN:
        raise NewerEvent(kind, version)
    while version < wanted:
        payload = steps[kind, version](payload)
        version += 1
    return payload
