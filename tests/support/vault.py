"""A stand-in for Vault over real HTTP: KV version 2, tokens that end, renewals, logins, and an outage switch.

No Vault comes from the registries; this one answers the part of its API that we use, with its status codes
and shapes, and keeps what it was asked.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from fencepost_domain.ports import Clock

from tests.support.http_requests import read_request


@dataclass(slots=True)
class Vault:
    """tokens: value -> when it ends, by `clock`. asked: method and path of each request, in order.

    down: every request is cut. life: seconds of a token that is issued or renewed. most: renewals of one.
    """

    clock: Clock
    url: str = ""
    secrets: dict[str, dict[str, str]] = field(default_factory=dict)
    tokens: dict[str, float] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)  # role id -> secret id
    pods: dict[str, str] = field(default_factory=dict)  # role -> the service account's token it is for
    asked: list[str] = field(default_factory=list)
    down: bool = False
    life: float = 100.0
    most: int = 100
    _issued: int = 0

    def issue(self) -> str:
        self._issued += 1
        token = f"hvs.canary-vault-token-{self._issued:04d}"
        self.tokens[token] = self.clock.monotonic() + self.life
        return token

    def answer(self, method: str, path: str, headers: dict[str, str], body: Any) -> tuple[int, Any]:
        self.asked.append(f"{method} {path}")
        if path == "auth/approle/login":
            if self.roles.get(body.get("role_id")) != body.get("secret_id"):
                return 400, {"errors": ["invalid role or secret ID"]}
            return 200, {"auth": self._auth(self.issue())}
        if path == "auth/kubernetes/login":
            if not body.get("jwt") or self.pods.get(body.get("role")) != body.get("jwt"):
                return 403, {"errors": ["permission denied"]}
            return 200, {"auth": self._auth(self.issue())}
        if path.startswith("sys/health?"):
            return 200, {"initialized": True, "sealed": False}
        token = headers.get("x-vault-token", "")
        if self.tokens.get(token, 0.0) <= self.clock.monotonic():
            return 403, {"errors": ["permission denied", f"bad token {token}"]}
        if path == "auth/token/lookup-self":
            left = self.tokens[token] - self.clock.monotonic()
            return 200, {"data": {"ttl": int(left), "renewable": True}}
        if path == "auth/token/renew-self":
            if self.most <= 0:
                return 400, {"errors": ["lease is not renewable"]}
            self.most -= 1
            self.tokens[token] = self.clock.monotonic() + self.life
            return 200, {"auth": self._auth(token)}
        found = (
            self.secrets.get(path.removeprefix("secret/data/")) if path.startswith("secret/data/") else None
        )
        if found is None:
            return 404, {"errors": []}
        return 200, {"data": {"data": found, "metadata": {"version": 1}}}

    def _auth(self, token: str) -> dict[str, Any]:
        return {"client_token": token, "lease_duration": int(self.life), "renewable": self.most > 0}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                line, headers, raw = await read_request(reader)
                if self.down:
                    break
                method, target = line.split()[:2]
                path = unquote(target).removeprefix("/v1/")
                status, body = self.answer(method, path, headers, json.loads(raw or b"{}"))
                data = json.dumps(body).encode()
                writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def vaulting(clock: Clock) -> AsyncIterator[Vault]:
    vault = Vault(clock)
    server = await asyncio.start_server(vault.serve, "127.0.0.1", 0)
    async with server:
        vault.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield vault
