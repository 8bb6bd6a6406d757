"""The async client: the same requests as `Client`, for services that wait on many runs at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, Self

import httpx

from fencepost import requests
from fencepost.client import PAUSE_SECONDS, TRIES, is_settled
from fencepost.errors import Unreachable, check
from fencepost.profile import find
from fencepost.requests import Request
from fencepost.sse import read_stream_async
from fencepost.views import Page, StreamEvent, View, as_view


class AsyncClient:
    """A connection to the api for asyncio. `await client.aclose()`, or `async with`."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        where = find(url, token)
        self.url = where.url
        self._http = httpx.AsyncClient(
            base_url=where.url,
            headers={"Authorization": f"Bearer {where.token}", "User-Agent": "fencepost-sdk"},
            timeout=httpx.Timeout(75.0, connect=3.0),
            transport=transport,
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def send(self, request: Request) -> httpx.Response:
        """As Client.send: repeated while nothing answers, when repeating is safe."""
        safe = request.method in ("GET", "DELETE") or request.key is not None
        for attempt in range(1, TRIES + 1):
            try:
                response = await self._http.request(
                    request.method,
                    request.path,
                    json=request.json,
                    files=dict(request.files) if request.files else None,
                    params=dict(request.params),
                    headers=request.all_headers(),
                )
            except httpx.TransportError as error:
                if not safe or attempt == TRIES:
                    raise Unreachable(f"{self.url} does not answer ({type(error).__name__})") from error
                await asyncio.sleep(PAUSE_SECONDS * 2 ** (attempt - 1))
                continue
            return check(response)
        raise AssertionError("unreachable")

    async def get(self, request: Request) -> View:
        answer = as_view((await self.send(request)).json())
        return answer if isinstance(answer, View) else View(value=answer)

    async def page(self, request: Request) -> Page:
        answer = await self.get(request)
        return Page([View(item) for item in answer["items"]], answer.get("next_cursor"))

    async def create_run(
        self, text: str, *, idempotency_key: str, wait: int | None = None, **rest: Any
    ) -> View:
        return await self.get(requests.create_run(text, idempotency_key, wait=wait, **rest))

    async def upload(self, name: str, content: bytes, media_type: str, *, idempotency_key: str) -> View:
        return await self.get(requests.upload(name, content, media_type, idempotency_key))

    async def content(self, artifact_id: object) -> bytes:
        """A file's bytes, whose hash the api has compared. Raises ApiError artifact_lost."""
        return (await self.send(requests.artifact(artifact_id, "/content"))).content

    async def get_run(self, run_id: object) -> View:
        return await self.get(requests.get_run(run_id))

    async def resolve(
        self, interrupt_id: object, resolution: Mapping[str, Any], *, idempotency_key: str
    ) -> View:
        return await self.get(requests.resolve(interrupt_id, resolution, idempotency_key))

    async def wait(self, run_id: object, timeout_seconds: float = 300.0) -> View:
        """Until the run is finished, paused or asks a person. Raises TimeoutError."""
        async with asyncio.timeout(timeout_seconds):
            run = await self.get_run(run_id)
            while not is_settled(run):
                await asyncio.sleep(0.15)
                run = await self.get_run(run_id)
            return run

    def stream(self, run_id: object, last_id: str | None = None) -> AsyncIterator[StreamEvent]:
        return read_stream_async(self._http, f"/v1/runs/{run_id}/stream", last_id)
