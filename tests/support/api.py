"""A served api over real HTTP, with a signing key of the test's own and callers by name."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import httpx
from fencepost_api.app import build_app
from fencepost_api.auth import Caller
from fencepost_api.context import Api, Limits
from fencepost_api.main import build_api, close_streams
from fencepost_api.streams.deltas import Listener
from fencepost_runtime.server import serve_http
from fencepost_runtime.settings import ApiSettings, load_settings
from fencepost_runtime.system import SystemClock
from joserfc import jwt
from joserfc.jwk import ECKey

from tests.support.lives import TENANT, USER

LIFE_SECONDS: Final = 600


class Signer:
    """An ES256 key, its public half in a file, and tokens made with it."""

    def __init__(self, folder: Path) -> None:
        self.key = ECKey.generate_key("P-256", {"use": "sig", "alg": "ES256"}, auto_kid=True)
        self.path = folder / "jwt-public.json"
        self.path.write_text(json.dumps({"keys": [self.key.as_dict(private=False)]}))

    def token(self, user: Any = USER, tenant: Any = TENANT, roles: Any = ("user",), **claims: Any) -> str:
        """A claim set to None is left out; the others are sent as they are, right or wrong."""
        now = int(time.time())
        told: dict[str, Any] = {"sub": user, "aud": "fencepost"}
        told |= {"tenant": str(tenant) if isinstance(tenant, UUID) else tenant}
        told |= {"roles": list(roles) if isinstance(roles, tuple) else roles}
        told |= {"exp": now + LIFE_SECONDS, **claims}
        return jwt.encode(
            {"alg": "ES256", "kid": self.key.kid}, {k: v for k, v in told.items() if v is not None}, self.key
        )


@dataclass
class Served:
    """A running api. `as_` gives a client of a caller."""

    api: Api
    base: str
    signer: Signer
    clients: list[httpx.AsyncClient] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])

    def as_(
        self, user: str = USER, *roles: str, tenant: UUID = TENANT, token: str | None = None
    ) -> httpx.AsyncClient:
        bearer = token or self.signer.token(user, tenant, roles or ("user",))
        client = httpx.AsyncClient(
            base_url=self.base, headers={"Authorization": f"Bearer {bearer}"}, timeout=20, trust_env=False
        )
        self.clients.append(client)
        return client


@asynccontextmanager
async def serving(
    dsn: str, folder: Path, limits: Limits | None = None, signer: Signer | None = None, **settings: Any
) -> AsyncIterator[Served]:
    """Serve on a free port until the block ends; a second one on the same database is a replica."""
    signer = signer or Signer(folder)
    told = load_settings(ApiSettings, database_url=dsn, jwt_key_file=signer.path, **settings)
    stop = asyncio.Event()
    bound: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    api = build_api(told, SystemClock(), stop, limits)
    listener = Listener(dsn, api.runs)
    app = build_app(api, listener)
    tasks = [
        asyncio.create_task(part)
        for part in (
            close_streams(api),
            api.runs.run(stop),
            api.feed.run(stop),
            listener.run(stop),
            serve_http(app, "127.0.0.1", 0, stop, on_bound=bound.set_result, http="httptools", ws="none"),
        )
    ]
    served = Served(api, f"http://127.0.0.1:{await bound}", signer)
    try:
        yield served
    finally:
        for client in served.clients:
            await client.aclose()
        stop.set()
        await asyncio.wait(tasks, timeout=10)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await api.store.close()


def a_key() -> dict[str, str]:
    """A fresh Idempotency-Key header."""
    return {"Idempotency-Key": secrets.token_hex(8)}


def saying(text: str = "hello", **more: Any) -> dict[str, Any]:
    return {"input": {"text": text}, **more}


@dataclass(frozen=True)
class SseEvent:
    """One event as a client reads it; comments are kept apart."""

    event: str
    data: Any
    id: str | None


class SseReader:
    """Reads a response's lines as the specification says: only CR, LF and CRLF end a line."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.comments: list[str] = []
        self.last_id: str | None = None
        self.retry: int | None = None
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._pumping = asyncio.create_task(self._pump())
        self._buffer = b""

    async def _pump(self) -> None:
        """A task of its own reads, so that a wait given up doesn't cut the stream."""
        try:
            async for chunk in self.response.aiter_raw():
                self._chunks.put_nowait(chunk)
        except httpx.TransportError:
            pass
        finally:
            self._chunks.put_nowait(None)

    async def close(self) -> None:
        self._pumping.cancel()
        await asyncio.gather(self._pumping, return_exceptions=True)

    async def _line(self) -> str | None:
        while b"\n" not in self._buffer:
            chunk = await self._chunks.get()
            if chunk is None:
                self._chunks.put_nowait(None)
                return None
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.rstrip(b"\r").decode()

    async def next(self, timeout: float = 30.0) -> SseEvent | None:
        """The next event, None at the end of the stream. Raises TimeoutError."""
        async with asyncio.timeout(timeout):
            name, data, seen = "message", [], None
            while (line := await self._line()) is not None:
                if line == "":
                    if data:
                        return SseEvent(name, json.loads("\n".join(data)), seen)
                    name, seen = "message", None
                    continue
                field_, _, value = line.partition(":")
                value = value.removeprefix(" ")
                if field_ == "":
                    self.comments.append(value)
                elif field_ == "event":
                    name = value
                elif field_ == "data":
                    data.append(value)
                elif field_ == "id":
                    self.last_id = seen = value
                elif field_ == "retry":
                    self.retry = int(value)
            return None

    async def until(self, wanted: Callable[[SseEvent], bool], timeout: float = 30.0) -> list[SseEvent]:
        """Events up to and with the first wanted one."""
        found: list[SseEvent] = []
        while (event := await self.next(timeout)) is not None:
            found.append(event)
            if wanted(event):
                return found
        raise AssertionError(f"the stream ended after {found}")

    async def rest(self, timeout: float = 30.0) -> list[SseEvent]:
        found: list[SseEvent] = []
        while (event := await self.next(timeout)) is not None:
            found.append(event)
        return found


@asynccontextmanager
async def streaming(
    client: httpx.AsyncClient, path: str, method: str = "GET", **more: Any
) -> AsyncIterator[SseReader]:
    async with client.stream(method, path, **more) as response:
        reader = SseReader(response)
        try:
            yield reader
        finally:
            await reader.close()


def caller(user: str = USER, *roles: str, tenant: UUID = TENANT) -> Caller:
    return Caller(user, tenant, frozenset(roles or ("user",)), time.time() + LIFE_SECONDS)
