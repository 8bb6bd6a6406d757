"""A conversation's state: named JSON values, and what may be done to them (design 02 §9).

Every change is computed from the value that is there, under the lock of the conversation's state, so that two
increments are two. When a snapshot is due is decided here too: by the number of changes since the last one
and the time they took, so that a busy conversation doesn't write its whole state at every change and a slow
one can be read at any instant from one row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from fencepost_domain.errors import Conflict

KEY: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
MAX_KEYS: Final = 200
MAX_VALUE: Final = 16_384  # characters of a value's JSON; an attachment is an artifact
MAX_STATE: Final = 131_072  # of the whole state: each change writes it anew
MAX_MEMBER: Final = 128  # characters of a name inside an object
KEPT: Final = 100  # newest items of a list that is appended to; the log keeps them all
_DECIMAL: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,9})?")
# (changes since the last snapshot, time since it): whichever is reached first.
SNAPSHOT_AFTER: Final = ((500, timedelta(0)), (50, timedelta(minutes=1)), (5, timedelta(hours=1)))


class Operation(StrEnum):
    """`put` sets (or with no value removes) one member of an object; `append` adds one item to a list."""

    SET = "set"
    DELETE = "delete"
    INCREMENT = "increment"
    APPEND = "append"
    PUT = "put"


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be done to one key. value: JSON; of `put` None removes the member. member: of `put` only."""

    key: str
    operation: Operation
    value: Any = None
    member: str | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """What was done: the key's whole value before and after. existed, exists: a JSON null is a value too."""

    key: str
    operation: Operation
    old: Any
    new: Any
    existed: bool
    exists: bool


def apply(body: Mapping[str, Any], change: Change) -> tuple[dict[str, Any], Changed]:
    """The state after a change, and the change as it is recorded. Raises Conflict state_refused."""
    if not KEY.fullmatch(change.key):
        raise _refused(f"{change.key[:64]!r} is no key of a state: small letters, digits and _")
    existed = change.key in body
    old = body.get(change.key)
    after = dict(body)
    if change.operation is Operation.DELETE:
        after.pop(change.key, None)
        return after, Changed(change.key, change.operation, old, None, existed, False)
    new = _NEW[change.operation](change, old, existed)
    if len(_text(new)) > MAX_VALUE:
        raise _refused(f"{change.key} would be longer than {MAX_VALUE} characters")
    after[change.key] = new
    if len(after) > MAX_KEYS or len(_text(after)) > MAX_STATE:
        raise _refused(f"a state has at most {MAX_KEYS} keys and {MAX_STATE} characters")
    return after, Changed(change.key, change.operation, old, new, existed, True)


def snapshot_due(changes: int, since: timedelta) -> bool:
    """changes: since the last snapshot, or since the first change. since: the time since then."""
    return any(changes >= number and since >= least for number, least in SNAPSHOT_AFTER)


def _set(change: Change, _: Any, __: bool) -> Any:
    return change.value


def _increment(change: Change, old: Any, existed: bool) -> Any:
    """Numbers add as numbers; where either is a decimal as text, the sum is exact text."""
    by, was = change.value, old if existed else 0
    if not (_number(by) and _number(was)):
        raise _refused(f"{change.key} can't be added to: both must be numbers, or decimals as text")
    if isinstance(by, str) or isinstance(was, str):
        return format(Decimal(str(was)) + Decimal(str(by)), "f")
    return was + by


def _append(change: Change, old: Any, existed: bool) -> Any:
    items = old if existed else []
    if not isinstance(items, list):
        raise _refused(f"{change.key} is no list to append to")
    return [*items, change.value][-KEPT:]


def _put(change: Change, old: Any, existed: bool) -> Any:
    members = old if existed else {}
    if not isinstance(members, dict):
        raise _refused(f"{change.key} is no object to put a member into")
    if not change.member or len(change.member) > MAX_MEMBER:
        raise _refused(f"a member of {change.key} has a name of 1 to {MAX_MEMBER} characters")
    if change.value is None:
        return {name: value for name, value in members.items() if name != change.member}
    return {**members, change.member: change.value}


_NEW: Final = {
    Operation.SET: _set, Operation.INCREMENT: _increment, Operation.APPEND: _append, Operation.PUT: _put,
}  # fmt: skip


def _number(value: Any) -> bool:
    if isinstance(value, str):
        return _DECIMAL.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _refused(detail: str) -> Conflict:
    return Conflict("state_refused", detail)
