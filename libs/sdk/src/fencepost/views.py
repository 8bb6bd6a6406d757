"""What the api answers, as it answered: a mapping whose members are attributes too.

A newer api may say more than this SDK knows; nothing is lost on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


class View(dict[str, Any]):
    """`view.status` is `view["status"]`; a member the api didn't send is an AttributeError."""

    def __getattr__(self, name: str) -> Any:
        try:
            value = self[name]
        except KeyError:
            raise AttributeError(f"the api's answer has no {name!r}") from None
        return as_view(value)


def as_view(value: Any) -> Any:
    """Objects as View, lists of them as lists of View, all else as it is."""
    if isinstance(value, View):
        return value
    if isinstance(value, dict):
        return View(value)
    if isinstance(value, list):
        return [as_view(item) for item in value]
    return value


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list. `next_cursor` None: it was the last."""

    items: list[View]
    next_cursor: str | None

    def __iter__(self) -> Iterator[View]:
        return iter(self.items)


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event of a stream. `id` None for deltas, resets and resyncs, which aren't stored."""

    type: str
    data: View
    id: str | None = None
