"""Artifacts in a bucket of an S3-compatible server; an object is put whole, and only where none is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import obstore
from fencepost_domain.errors import FencepostError
from fencepost_domain.ports import Clock
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

from fencepost_runtime.artifacts.port import (
    ArtifactExists,
    ArtifactMissing,
    ArtifactsUnavailable,
    Stored,
    checked_key,
)
from fencepost_runtime.logging import get_logger

if TYPE_CHECKING:
    from obstore.store import S3Credential

TIMEOUT: Final = "20s"
TRIES: Final = 2
KEYS_FOR: Final = timedelta(minutes=5)  # then they are read anew: a rotated key counts without a restart
Keys = Callable[[], Awaitable[tuple[str, str]]]  # key id and secret
log = get_logger(__name__)


class S3Artifacts:
    def __init__(
        self,
        bucket: str,
        prefix: str,
        *,
        region: str,
        endpoint: str | None,
        keys: Keys | None,
        clock: Clock,
    ) -> None:
        """prefix: of every key, "" for none. endpoint: None for the cloud's own; http:// is let through.

        keys: read when they are needed; None for the machine's own identity.
        """
        self._prefix = prefix.strip("/") + "/" if prefix.strip("/") else ""
        options: dict[str, Any] = {"region": region, "virtual_hosted_style_request": endpoint is None}
        if endpoint:
            options["endpoint"] = endpoint
        if keys is not None:
            options["credential_provider"] = _provider(keys, clock)
        self._store = S3Store(
            bucket,
            client_options={
                "allow_http": bool(endpoint and endpoint.startswith("http://")),
                "timeout": TIMEOUT,
            },
            retry_config={"max_retries": TRIES, "retry_timeout": timedelta(seconds=30)},
            **options,
        )

    async def put(self, key: str, data: bytes) -> None:
        try:
            await obstore.put_async(self._store, self._at(key), data, mode="create")
        except AlreadyExistsError:
            raise ArtifactExists(key) from None
        except (BaseError, OSError) as error:
            raise _unavailable("put", error) from None

    async def read(self, key: str) -> bytes:
        try:
            found = await obstore.get_async(self._store, self._at(key))
            return bytes(await found.bytes_async())
        except FileNotFoundError:
            raise ArtifactMissing(key) from None
        except (BaseError, OSError) as error:
            raise _unavailable("read", error) from None

    async def delete(self, key: str) -> None:
        try:
            await obstore.delete_async(self._store, self._at(key))
        except FileNotFoundError:
            return
        except (BaseError, OSError) as error:
            raise _unavailable("delete", error) from None

    async def stored(self) -> AsyncIterator[Stored]:
        try:
            async for page in obstore.list(self._store, prefix=self._prefix or None):
                for one in page:
                    key = str(one["path"]).removeprefix(self._prefix)
                    try:
                        yield Stored(checked_key(key), int(one["size"]), one["last_modified"])
                    except ValueError:
                        continue  # not ours
        except (BaseError, OSError) as error:
            raise _unavailable("list", error) from None

    async def check(self) -> None:
        try:
            async for _ in obstore.list(self._store, prefix=self._prefix or None, chunk_size=1):
                return
        except (BaseError, OSError) as error:
            raise _unavailable("check", error) from None

    def _at(self, key: str) -> str:
        return self._prefix + checked_key(key)


def _provider(keys: Keys, clock: Clock) -> Callable[[], Awaitable[S3Credential]]:
    async def provide() -> S3Credential:
        try:
            key_id, secret = await keys()
        except FencepostError as error:  # its own type would be lost on the way through the library
            log.warning("artifacts.keys_missing", code=error.code)
            raise
        return {
            "access_key_id": key_id, "secret_access_key": secret, "token": None,
            "expires_at": clock.now() + KEYS_FOR,
        }  # fmt: skip

    return provide


def _unavailable(what: str, error: Exception) -> ArtifactsUnavailable:
    """The library's text quotes the server's answer, which may hold keys: its kind alone is told."""
    log.warning("artifacts.store_failed", operation=what, kind=type(error).__name__)
    return ArtifactsUnavailable(f"the artifact store failed ({type(error).__name__})")
