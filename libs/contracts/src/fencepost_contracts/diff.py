"""What is different between two JSON values, as rows a person can read: the visible part of a `change`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fencepost_contracts.canonical import pointer

MOST_ROWS: Final = 200  # nobody reads more; the last row then says how many are left out
_GONE: Final = object()
_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})

Row = dict[str, Any]


def rows_of(before: Any, after: Any) -> list[Row]:
    """`{path, kind, before, after}` a difference, in the new value's order; what is the same is left out.

    path: a JSON pointer. kind: added, removed, changed, or more (then `count`, the rows left out).
    """
    old = _GONE if before is None else before
    new = _GONE if after is None else after
    rows = list(_walk(old, new, ""))
    if len(rows) <= MOST_ROWS:
        return rows
    return [*rows[:MOST_ROWS], {"path": "", "kind": "more", "count": len(rows) - MOST_ROWS}]


def change_rows(change: Mapping[str, Any] | None) -> list[Row]:
    """The rows of one action's `change`."""
    return rows_of((change or {}).get("before"), (change or {}).get("after"))


def _walk(old: Any, new: Any, at: str) -> Iterator[Row]:
    if old is new or (type(old) is type(new) and not _branches(old) and old == new):
        return
    if _branches(old) and _branches(new) and isinstance(old, Mapping) == isinstance(new, Mapping):
        for step in _steps(old, new):
            yield from _walk(_at(old, step), _at(new, step), at + pointer(step))
    elif old is _GONE and _branches(new) and new:
        for step in _steps({}, new):
            yield from _walk(_GONE, _at(new, step), at + pointer(step))
    elif new is _GONE and _branches(old) and old:
        for step in _steps(old, {}):
            yield from _walk(_at(old, step), _GONE, at + pointer(step))
    elif (old is _GONE and new in _EMPTY) or (new is _GONE and old in _EMPTY):
        return  # nothing is there, and nothing comes or goes
    elif old is _GONE:
        yield {"path": at, "kind": "added", "before": None, "after": new}
    elif new is _GONE:
        yield {"path": at, "kind": "removed", "before": old, "after": None}
    else:
        yield {"path": at, "kind": "changed", "before": old, "after": new}


def _branches(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, Sequence) and not isinstance(value, str | bytes))


def _steps(old: Any, new: Any) -> list[Any]:
    """The names of both, those of the new value first; or the places of the longer list."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return [*new, *(name for name in old if name not in new)]
    if isinstance(old, Mapping) or isinstance(new, Mapping):
        return list(range(max(len(old), len(new)))) if not isinstance(new, Mapping) else list(new or old)
    return list(range(max(len(old), len(new))))


def _at(value: Any, step: Any) -> Any:
    if isinstance(value, Mapping):
        return value.get(step, _GONE)
    return value[step] if isinstance(step, int) and step < len(value) else _GONE
