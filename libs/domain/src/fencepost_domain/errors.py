"""One tree of errors, with a code for machines and whether trying again can help.

FencepostError
├── Refused              the request is wrong or comes too late; trying again changes nothing
│   ├── IllegalTransition, FenceLost, NotFound, Conflict, Invalid, Forbidden, Gone
├── Unavailable          a part is not there now; trying again may help
└── Tampered             what is stored no longer matches its hash
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class FencepostError(Exception):
    """Something Fencepost can name went wrong."""

    code: ClassVar[str] = "fencepost_error"
    retryable: ClassVar[bool] = False


class Refused(FencepostError):
    """The request cannot be done as asked."""

    code = "refused"


class IllegalTransition(Refused):
    """The state table has no such step."""

    code = "illegal_transition"

    def __init__(self, thing: str, state: str, event: str) -> None:
        self.thing, self.state, self.event = thing, state, event
        super().__init__(f"{thing}: {event} is not allowed in {state}")


class FenceLost(Refused):
    """Another owner holds this run now; this one must stop without writing."""

    code = "fence_lost"

    def __init__(self, run_id: object, detail: str = "") -> None:
        self.run_id = run_id
        super().__init__(f"run {run_id}: the fence is lost{': ' + detail if detail else ''}")


class NotFound(Refused):
    """No such thing here, or it is another's, which is the same to the caller."""

    code = "not_found"

    def __init__(self, thing: str, thing_id: object) -> None:
        self.thing, self.thing_id = thing, thing_id
        super().__init__(f"{thing} {thing_id} was not found")


class Conflict(Refused):
    """The thing is in a state that excludes this. `stored` is what holds instead."""

    code = "conflict"

    def __init__(self, code: str, detail: str, stored: Mapping[str, Any] | None = None) -> None:
        self.code = code  # type: ignore[misc]  # finer than the class: the instance's word wins
        self.stored = dict(stored or {})
        super().__init__(detail)


class Invalid(Refused):
    """A value is wrong. `pointer` is a JSON pointer into the request."""

    code = "invalid"

    def __init__(self, pointer: str, detail: str, code: str = "invalid") -> None:
        self.pointer = pointer
        self.code = code  # type: ignore[misc]
        super().__init__(detail)


class Forbidden(Refused):
    """The caller is known but may not do this."""

    code = "forbidden"


class Gone(Refused):
    """It was there; its time is over."""

    code = "gone"

    def __init__(self, code: str, detail: str, stored: Mapping[str, Any] | None = None) -> None:
        self.code = code  # type: ignore[misc]
        self.stored = dict(stored or {})
        super().__init__(detail)


class Unavailable(FencepostError):
    """A part Fencepost needs is not there now."""

    code = "unavailable"
    retryable = True


class Tampered(FencepostError):
    """Stored content does not hash to its fingerprint."""

    code = "tampered"

    def __init__(self, thing: str, fingerprint: str) -> None:
        self.thing, self.fingerprint = thing, fingerprint
        super().__init__(f"{thing} {fingerprint} does not hash to its fingerprint")
