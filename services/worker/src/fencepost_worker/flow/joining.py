"""Parts made of batches, as one: lists one behind the other in source order, objects member by member.

A single value is the first part's; where parts must agree they say so in their conclusions, and a conclusion
that differs is a conflict for the join to settle, not for a majority.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def arguments_of(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The parts' arguments as one call's."""
    joined: Any = {}
    for part in parts:
        joined = _joined(joined, part["arguments"]) if joined else dict(part["arguments"])
    return dict(joined)


def _joined(first: Any, then: Any) -> Any:
    if isinstance(first, Mapping) and isinstance(then, Mapping):
        names = [*first, *(name for name in then if name not in first)]
        return {
            name: _joined(first[name], then[name])
            if name in first and name in then
            else first.get(name, then.get(name))
            for name in names
        }
    if isinstance(first, list) and isinstance(then, list):
        if all(isinstance(one, str) for one in (*first, *then)):
            return list(dict.fromkeys([*first, *then]))  # names and ids: each once
        return [*first, *then]
    return first


def conflicts_of(parts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """{name, values: [{index, value}]} of each conclusion that parts don't agree on."""
    said: dict[str, list[dict[str, Any]]] = {}
    for part in parts:
        for name, value in part.get("conclusions", {}).items():
            said.setdefault(name, []).append({"index": part["index"], "value": value})
    return [
        {"name": name, "values": values}
        for name, values in sorted(said.items())
        if len({" ".join(str(one["value"]).split()).casefold() for one in values}) > 1
    ]
