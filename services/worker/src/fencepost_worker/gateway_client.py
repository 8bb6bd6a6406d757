"""The worker's side of the tool-gateway's HTTP interface.

An answer that was lost is no refusal: the same commit goes again under the same key, and the stored result
comes back. 409 `fence_lost` drops the run without a retry.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar
from uuid import UUID

import httpx
from fencepost_contracts.tools import (
    FENCE_HEADER,
    ActionRequest,
    CommitAnswer,
    CommitRequest,
    InProgress,
    PrepareAnswer,
    PrepareCall,
    PrepareRequest,
    Refusal,
)
from fencepost_domain.errors import FenceLost, Unavailable
from fencepost_domain.fence import Fence
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.http import http_client
from fencepost_runtime.logging import get_logger
from pydantic import ValidationError

from fencepost_worker.flow.step import EffectInProgress, GatewayConflict, GatewayRefused, TaskRunning

TRIES: Final = 6
WAIT_SECONDS: Final = (0.1, 0.2, 0.5, 1.0, 2.0)  # between tries; then the run is deferred and asks again
LONGEST_PROGRESS_SECONDS: Final = 10.0  # an attempt in progress is waited for this long in one claim
REFUSED: Final = "calls_refused"

log = get_logger(__name__)
Answer = TypeVar("Answer", PrepareAnswer, CommitAnswer, InProgress)
Trusted = Callable[[], Awaitable[None]]


class GatewayClient:
    """One per process; `of` gives a run's view of it."""

    def __init__(self, url: str, secret: str, *, timeout_seconds: float = 30.0) -> None:
        self._http = http_client(
            url, timeout_seconds=timeout_seconds, headers={"Authorization": f"Bearer {secret}"}
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def cancel(self, fence: Fence, index: int) -> None:
        """Ask that what an action has outside be stopped, once. Whether it was is seen by its attempt."""
        try:
            await self._http.post(
                "/internal/actions/cancel",
                json=ActionRequest(index=index).model_dump(mode="json"),
                headers={FENCE_HEADER: fence.header()},
            )
        except httpx.HTTPError as error:
            log.info("gateway.cancel_not_told", index=index, why=type(error).__name__)

    def of(self, fence: Fence, traceparent: str | None, trusted: Trusted) -> RunGateway:
        """trusted: awaited before every request; nothing is started on a lease that may be over."""
        headers = {FENCE_HEADER: fence.header()}
        if traceparent:
            headers["traceparent"] = traceparent
        return RunGateway(self._http, fence, headers, trusted)


class RunGateway:
    def __init__(
        self, http: httpx.AsyncClient, fence: Fence, headers: dict[str, str], trusted: Trusted
    ) -> None:
        self._http = http
        self._fence = fence
        self._headers = headers
        self._trusted = trusted

    async def prepare(self, calls: Sequence[PrepareCall]) -> PrepareAnswer:
        """Raises GatewayRefused, GatewayConflict, FenceLost, Unavailable."""
        body = PrepareRequest(calls=tuple(calls)).model_dump(mode="json", exclude_none=True)
        response = await self._post("/internal/actions/prepare", body)
        await ahit("worker.prepare.after_answer")
        return _read(PrepareAnswer, response)

    async def commit(self, index: int, n: int, token_id: UUID) -> CommitAnswer:
        """Waits a little for an attempt in progress.

        Raises TaskRunning, EffectInProgress, GatewayConflict, FenceLost, Unavailable.
        """
        body = CommitRequest(index=index, n=n, token_id=token_id).model_dump(mode="json")
        waited = 0.0
        while True:
            response = await self._post("/internal/actions/commit", body)
            if response.status_code != 202:
                await ahit("worker.commit.before_answer")
                return _read(CommitAnswer, response)
            progress = _read(InProgress, response)
            if progress.is_task:
                await ahit("worker.commit.before_answer")
                raise TaskRunning
            pause = min(max(progress.retry_after_seconds, 0.05), 5.0)
            waited += pause
            if waited > LONGEST_PROGRESS_SECONDS:
                raise EffectInProgress(pause)
            await asyncio.sleep(pause)

    async def _post(self, path: str, body: dict[str, Any]) -> httpx.Response:
        """Post until there is an answer; 5xx and lost answers are tried again under the same key."""
        why = ""
        for wait in (*WAIT_SECONDS, None):
            await self._trusted()
            try:
                response = await self._http.post(path, json=body, headers=self._headers)
            except httpx.HTTPError as error:
                why = type(error).__name__
            else:
                if response.status_code in (200, 202):
                    return response
                if response.status_code < 500 and response.status_code != 429:
                    raise _refusal(response, self._fence)
                why = f"HTTP {response.status_code}"
            log.warning("gateway.no_answer", path=path, why=why)
            if wait is not None:
                await asyncio.sleep(wait)
        raise Unavailable(f"the tool-gateway does not answer: {why}")


def _refusal(response: httpx.Response, fence: Fence) -> Exception:
    try:
        problem = response.json()
        code = str(problem.get("code", ""))
        detail = str(problem.get("detail", ""))
    except (ValueError, AttributeError):
        return Unavailable(f"the tool-gateway answered HTTP {response.status_code} without a problem")
    if response.status_code == 409:
        if code == "fence_lost":
            return FenceLost(fence.run_id, detail)
        return GatewayConflict(code, detail, problem.get("effect") or {})
    if response.status_code == 422 and code == REFUSED:
        return GatewayRefused([Refusal.model_validate(one) for one in problem.get("refusals", ())])
    return GatewayConflict(code or f"http_{response.status_code}", detail)


def _read(kind: type[Answer], response: httpx.Response) -> Answer:
    try:
        return kind.model_validate_json(response.content)
    except ValidationError as error:
        raise Unavailable(f"the tool-gateway's answer can't be read: {error.error_count()} faults") from error
