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
    from fencepost_domain.ports import Ids

    from fencepost_runtime.secret_sources import Secrets
    from fencepost_runtime.settings import ArtifactSettings

__all__ = [
    "ArtifactExists", "ArtifactMissing", "ArtifactStore", "ArtifactsUnavailable", "ids_of", "key_of",
    "open_artifacts",
]  # fmt: skip


async def open_artifacts(settings: ArtifactSettings, secrets: Secrets, ids: Ids) -> ArtifactStore | None:
    """The store that the settings name; None where there is neither a URL nor a data folder.

    Raises SettingsError for a URL that is none, SecretMissing and SecretsUnavailable for its keys.
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
            key_id=await secrets.read(settings.artifacts_key_id) if settings.artifacts_key_id else None,
            secret=await secrets.read(settings.artifacts_secret) if settings.artifacts_secret else None,
        )
    raise SettingsError("FENCEPOST_ARTIFACTS_URL: write file:///path or s3://bucket/prefix")
