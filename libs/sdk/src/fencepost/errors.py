"""What the client raises: one error with the problem the api told, or Unreachable when it told nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx


class ApiError(Exception):
    """The api refused. `code` is stable, `problem` is the whole RFC 9457 document."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.problem = dict(problem)
        self.code = str(problem.get("code", "unknown"))
        self.detail = str(problem.get("detail") or problem.get("title") or f"HTTP {status}")
        self.errors: list[Mapping[str, Any]] = list(problem.get("errors") or [])
        super().__init__("; ".join([f"{self.code}: {self.detail}", *map(_where, self.errors[:3])]))


def _where(item: Mapping[str, Any]) -> str:
    """Which value is wrong, and why."""
    place = item.get("pointer") or item.get("parameter") or ""
    return f"{place}: {item.get('detail', '')}" if place else str(item.get("detail", ""))


class Unreachable(Exception):
    """No answer from the api: it may be down, or the request may have arrived all the same.

    Repeat a creating or deciding request under the same Idempotency-Key; it happens once.
    """


def check(response: httpx.Response) -> httpx.Response:
    """Raise ApiError unless the response is a success."""
    if response.is_success:
        return response
    try:
        problem = response.json()
    except ValueError:
        problem = {}
    if not isinstance(problem, dict):
        problem = {}
    raise ApiError(response.status_code, problem)
