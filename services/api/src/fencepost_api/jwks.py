"""An issuer's public keys, fetched when needed: kept an hour, asked again for an unknown key id.

A stranger can send tokens with made-up key ids all day; the cool-down keeps that from becoming a flood
at the issuer. While the issuer is away the last keys go on serving.
"""

from __future__ import annotations

import asyncio
from typing import Final

import httpx
from fencepost_domain.errors import Unavailable
from fencepost_domain.ports import Clock
from fencepost_runtime.http import http_client
from fencepost_runtime.logging import get_logger
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

KEEP_SECONDS: Final = 3600.0
COOL_DOWN_SECONDS: Final = 30.0  # between two fetches, whoever asks
LARGEST_BYTES: Final = 262_144

log = get_logger(__name__)


class IssuerKeys:
    """`jwks_url`, or the one that the issuer's discovery document names."""

    def __init__(
        self,
        clock: Clock,
        *,
        issuer: str | None,
        jwks_url: str | None,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        self.clock, self.issuer, self.jwks_url = clock, issuer, jwks_url
        self._client = client or http_client(timeout_seconds=5.0, connections=2)
        self._keys: KeySet | None = None
        self._fetched = self._tried = float("-inf")
        self._lock = asyncio.Lock()

    async def keys(self, kid: str | None) -> KeySet:
        async with self._lock:
            now = self.clock.monotonic()
            known = self._keys is not None and (kid is None or any(k.kid == kid for k in self._keys))
            stale = now - self._fetched > KEEP_SECONDS
            if (stale or not known) and now - self._tried >= COOL_DOWN_SECONDS:
                self._tried = now
                await self._fetch(now)
            if self._keys is None:
                raise Unavailable("the issuer's keys can't be had now")
            return self._keys

    async def _fetch(self, now: float) -> None:
        try:
            if self.jwks_url is None:
                place = f"{(self.issuer or '').rstrip('/')}/.well-known/openid-configuration"
                self.jwks_url = str((await self._get(place))["jwks_uri"])
            self._keys = KeySet.import_key_set(await self._get(self.jwks_url))  # type: ignore[arg-type]
            self._fetched = now
        except (httpx.HTTPError, JoseError, ValueError, KeyError, TypeError) as error:
            log.warning("jwks.fetch_failed", error=type(error).__name__)

    async def _get(self, url: str) -> dict[str, object]:
        response = await self._client.get(url)
        response.raise_for_status()
        if len(response.content) > LARGEST_BYTES:
            raise ValueError("too large")
        document = response.json()
        if not isinstance(document, dict):
            raise ValueError("not an object")
        return document
