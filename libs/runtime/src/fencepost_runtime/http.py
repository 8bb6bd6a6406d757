"""HTTP clients with an end: every phase has a time-out, and a request has an id."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import UUID

if TYPE_CHECKING:
    import httpx

REQUEST_ID_HEADER: Final = "X-Request-Id"
CONNECT_SECONDS: Final = 2.0  # services are near each other: longer means nobody listens
_GIVEN_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Ids(Protocol):
    def uuid7(self) -> UUID: ...


def http_client(
    base_url: str = "",
    *,
    timeout_seconds: float = 10.0,
    connections: int = 32,
    headers: dict[str, str] | None = None,
    **more: Any,
) -> httpx.AsyncClient:
    """A client for one peer; close it with `async with`. Follows no redirect and reads no proxy variable:

    an address that was allowed must not lead to one that wasn't.
    """
    import httpx  # 6 MB that only who calls others should pay

    return httpx.AsyncClient(
        base_url=base_url,
        timeout=httpx.Timeout(timeout_seconds, connect=CONNECT_SECONDS, pool=timeout_seconds),
        limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        headers=headers,
        follow_redirects=False,
        trust_env=False,
        **more,
    )


def request_id(given: str | None, ids: Ids) -> str:
    """The caller's id if it is a harmless one, else a new one: it goes into logs and answers."""
    if given and _GIVEN_ID.fullmatch(given):
        return given
    return str(ids.uuid7())
