"""Under an idempotency key once: who finds the same request in work waits for it (case ID-1)."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from fencepost_domain.errors import Conflict
from fencepost_store import views
from fencepost_store.transaction import Tx
from fencepost_store.views import KeyClaim

from fencepost_api.auth import Caller
from fencepost_api.context import Api
from fencepost_api.problems import RETRY_SECONDS, Refusal

LOOK_AGAIN: Final = 0.02  # seconds between two looks whether the first request has committed
T = TypeVar("T")


class InWork(Exception):
    """The same request is in work in another transaction."""


def fingerprint(value: Any) -> str:
    """Of a parsed request: key order and spaces don't count, every value does."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


async def once(api: Api, caller: Caller, work: Callable[[Tx], Awaitable[T]]) -> T:
    """Run `work` in a transaction; on InWork look again. Raises Refusal request_in_progress."""
    give_up = api.clock.monotonic() + api.limits.twin_wait.total_seconds()
    while True:
        try:
            return await api.store.run(caller.tenant_id, work)
        except InWork:
            if api.clock.monotonic() >= give_up:
                raise Refusal(
                    "request_in_progress",
                    "Repeat it with the same key.",
                    headers={"Retry-After": str(RETRY_SECONDS)},
                ) from None
            await asyncio.sleep(LOOK_AGAIN)


async def claimed(tx: Tx, user_id: str, route: str, key: str, digest: str) -> KeyClaim | None:
    """The key's claim when it made a run by this request; None when it is ours now.

    Raises InWork, Conflict idempotency_key_reused.
    """
    return judged(await views.claim_key(tx, user_id, route, key, digest), digest)


def judged(claim: KeyClaim, digest: str) -> KeyClaim | None:
    """As `claimed`, of what the store told about the key."""
    if claim.run_id is not None and claim.request_hash == digest:
        return claim
    if claim.same_free is False:
        raise InWork
    if claim.run_id is not None or not claim.key_free:
        raise Conflict("idempotency_key_reused", "this key was used for another request")
    return None
