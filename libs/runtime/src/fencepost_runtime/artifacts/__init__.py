"""The artifact store by settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from fencepost_runtime.artifacts.filesystem import FilesystemArtifacts
from fencepost_runtime.artifacts.port import (
    ArtifactExists,
    ArtifactMissing,
    ArtifactStore,
    ArtifactsUnavailable,
    ids_of,
    key_of,
)
from fencepost_runtime.settings import SettingsError

if TYPE_CHECKING:
    from fencepost_domain.ports import Clock, Ids

    from fencepost_runtime.artifacts.s3 import Keys
    from fencepost_runtime.secret_sources import Secrets
    from fencepost_runtime.settings import ArtifactSettings

__all__ = [
    "ArtifactExists", "ArtifactMissing", "ArtifactStore", "ArtifactsUnavailable", "ids_of", "key_of",
    "open_artifacts",
]  # fmt: skip


def open_artifacts(
    settings: ArtifactSettings, secrets: Secrets, ids: Ids, clock: Clock
) -> ArtifactStore | None:
    """The store that the settings name; None where there is neither a URL nor a data folder.

    Nothing is asked of it yet, nor of who keeps its keys: a service starts without them, and goes on when
    they come back. Raises SettingsError for a URL that is none.
    """
    if settings.artifacts_url is None:
        return FilesystemArtifacts(settings.data_dir / "artifacts", ids) if settings.data_dir else None
    url = urlsplit(settings.artifacts_url)
    if url.scheme == "file" and not url.netloc and url.path.startswith("/"):
        return FilesystemArtifacts(Path(unquote(url.path)), ids)
    if url.scheme == "s3" and url.netloc and not (url.query or url.username):
        from fencepost_runtime.artifacts.s3 import S3Artifacts  # its library: for who uses it

        return S3Artifacts(
            url.netloc,
            url.path,
            region=settings.artifacts_region,
            endpoint=settings.artifacts_endpoint,
            keys=_keys(settings, secrets),
            clock=clock,
        )
    raise SettingsError("FENCEPOST_ARTIFACTS_URL: write file:///path or s3://bucket/prefix")


def _keys(settings: ArtifactSettings, secrets: Secrets) -> Keys | None:
    key_id, secret = settings.artifacts_key_id, settings.artifacts_secret
    if not (key_id and secret):
        return None

    async def read() -> tuple[str, str]:
        return await secrets.read(key_id), await secrets.read(secret)

    return read
