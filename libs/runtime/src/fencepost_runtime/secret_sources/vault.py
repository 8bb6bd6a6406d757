"""Secrets in a Vault KV version 2 store, over its HTTP API, with a token that is renewed before it ends.

The token comes from a reference of its own (a file that an agent keeps fresh, or a variable), or from a
Kubernetes or AppRole login. A token that was refused is fetched anew once; a value is kept for a minute, so
that a call doesn't wait for Vault, and for longer only while Vault doesn't answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import httpx
from fencepost_domain.ports import Clock

from fencepost_runtime.logging import get_logger
from fencepost_runtime.secret_sources.port import SecretMissing, SecretsUnavailable
from fencepost_runtime.secrets import register_secret

FRESH_SECONDS: Final = 60.0
STALE_SECONDS: Final = 600.0  # how old a value may get while Vault is down; then nothing is sent with it
RENEW_AT: Final = 2 / 3  # of a token's life
TIMEOUT_SECONDS: Final = 5.0
KEEP_SECONDS: Final = 5.0  # how often the token's age is looked at; a third of its life is far longer
UNKNOWN_LIFE_SECONDS: Final = 300.0  # of a token that doesn't say how long it lives
_REFUSED: Final = (401, 403)

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Login:
    """Where a token comes from: `given` reads one; else `path` and `body` are posted to log in.

    given: an async function that reads the token's reference. path: `auth/approle/login`, say.
    """

    given: Callable[[], Awaitable[str]] | None = None
    path: str = ""
    body: Callable[[], Awaitable[dict[str, str]]] | None = None


@dataclass(slots=True)
class _Token:
    value: str
    renewable: bool
    renew_at: float
    ends_at: float


class VaultSecrets:
    def __init__(
        self, address: str, mount: str, login: Login, clock: Clock, *, namespace: str | None = None
    ) -> None:
        """address: `https://vault:8200`. mount: of the KV v2 engine. namespace: of Vault Enterprise."""
        self._mount = mount.strip("/")
        self._login = login
        self._clock = clock
        headers = {"X-Vault-Request": "true", **({"X-Vault-Namespace": namespace} if namespace else {})}
        self._http = httpx.AsyncClient(
            base_url=address.rstrip("/") + "/v1/", timeout=TIMEOUT_SECONDS, headers=headers, trust_env=False
        )
        self._token: _Token | None = None
        self._values: dict[str, tuple[float, dict[str, Any]]] = {}
        self._lock = asyncio.Lock()
        self._keeper: asyncio.Task[None] | None = None

    async def read(self, rest: str) -> str:
        path, _, name = rest.partition("#")
        reference = f"vault:{rest}"
        if not path or not name or ".." in path.split("/"):
            raise SecretMissing(reference, "a reference is vault:path#field")
        data = await self._data(path, reference)
        value = data.get(name)
        if not isinstance(value, str) or not value:
            raise SecretMissing(reference, "the secret has no such field")
        register_secret(value)
        return value

    async def check(self) -> None:
        """Vault answers, is unsealed, and knows us; asked without waiting for reads that are on their way."""
        answer = await self._send("GET", "sys/health?standbyok=true&perfstandbyok=true", None)
        if not answer.is_success:
            raise SecretsUnavailable(f"Vault answered {answer.status_code}")
        async with self._lock:
            await self._valid_token()

    async def keep(self) -> None:
        """Renew the token when its time has come, whether or not anybody asks for a secret."""
        async with self._lock:
            if self._token is not None and self._clock.monotonic() >= self._token.renew_at:
                try:
                    await self._valid_token()
                except (SecretsUnavailable, SecretMissing) as error:
                    log.warning("secrets.token_not_renewed", detail=str(error))

    async def _keep_alive(self) -> None:
        while True:
            await asyncio.sleep(KEEP_SECONDS)
            await self.keep()

    async def close(self) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
        await self._http.aclose()

    async def _data(self, path: str, reference: str) -> dict[str, Any]:
        async with self._lock:
            self._keeper = self._keeper or asyncio.create_task(self._keep_alive(), name="vault-token")
            now = self._clock.monotonic()
            known = self._values.get(path)
            if known is not None and now - known[0] < FRESH_SECONDS:
                return known[1]
            try:
                data = await self._fetched(path, reference)
            except SecretsUnavailable:
                if known is None or now - known[0] > STALE_SECONDS:
                    raise
                log.warning("secrets.served_stale", seconds=round(now - known[0]))
                return known[1]
            self._values[path] = (now, data)
            return data

    async def _fetched(self, path: str, reference: str) -> dict[str, Any]:
        place = f"{self._mount}/data/{quote(path.strip('/'))}"
        answer = await self._send("GET", place, await self._valid_token())
        if answer.status_code in _REFUSED:  # revoked, or the server was restored: log in anew, once
            self._token = None
            answer = await self._send("GET", place, await self._valid_token())
        if answer.status_code == 404:
            self._values.pop(path, None)
            raise SecretMissing(reference, "Vault has no such secret")
        if answer.status_code in _REFUSED:
            raise SecretsUnavailable("Vault doesn't let this service read the secret")
        data = _json(answer).get("data", {}).get("data")
        if answer.status_code != 200 or not isinstance(data, dict):
            raise SecretsUnavailable(f"Vault answered {answer.status_code}")
        return data

    async def _valid_token(self) -> str:
        """A token with life left: renewed in its last third, fetched anew where that isn't possible."""
        now, token = self._clock.monotonic(), self._token
        if token is not None and now < token.renew_at:
            return token.value
        if token is not None and token.renewable and now < token.ends_at:
            answer = await self._send("POST", "auth/token/renew-self", token.value, {})
            auth = _json(answer).get("auth")
            if answer.status_code == 200 and isinstance(auth, dict):
                self._token = self._kept(token.value, auth)
                log.info("secrets.token_renewed", seconds=auth.get("lease_duration"))
                return token.value
        self._token = await self._fresh_token()
        return self._token.value

    async def _fresh_token(self) -> _Token:
        if self._login.given is not None:
            value = await self._login.given()
            answer = await self._send("GET", "auth/token/lookup-self", value)
            if answer.status_code != 200:
                raise SecretsUnavailable("Vault doesn't know this service's token")
            found = _json(answer).get("data", {})
            life = {"lease_duration": found.get("ttl"), "renewable": found.get("renewable")}
            return self._kept(value, life)
        body = await self._login.body() if self._login.body is not None else {}
        answer = await self._send("POST", self._login.path, None, body)
        auth = _json(answer).get("auth")
        if answer.status_code != 200 or not isinstance(auth, dict):
            raise SecretsUnavailable(f"Vault refused the login with {answer.status_code}")
        return self._kept(str(auth.get("client_token", "")), auth)

    def _kept(self, value: str, auth: dict[str, Any]) -> _Token:
        register_secret(value)
        seconds = auth.get("lease_duration")
        life = float(seconds) if isinstance(seconds, int | float) and seconds > 0 else UNKNOWN_LIFE_SECONDS
        now = self._clock.monotonic()
        return _Token(value, bool(auth.get("renewable")), now + life * RENEW_AT, now + life)

    async def _send(
        self, method: str, path: str, token: str | None, body: dict[str, Any] | None = None
    ) -> httpx.Response:
        headers = {"X-Vault-Token": token} if token else {}
        try:
            return await self._http.request(method, path, headers=headers, json=body)
        except httpx.HTTPError as error:
            raise SecretsUnavailable(f"Vault does not answer ({type(error).__name__})") from None


def _json(answer: httpx.Response) -> dict[str, Any]:
    try:
        body = answer.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
