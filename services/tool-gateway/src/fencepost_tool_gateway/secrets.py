"""Credentials of tools, by name: looked up at the send, masked from then on wherever text leaves us.

A contract names a credential and knows nothing of where it is kept. That is the installation's: a file of
that name in FENCEPOST_SECRETS_DIR, the variable FENCEPOST_SECRET_<NAME>, or the field `value` of a secret of
that name below FENCEPOST_SECRETS_VAULT_PATH in Vault. The first that has it counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from fencepost_contracts.http_tools import SECRET_NAME
from fencepost_domain.errors import FencepostError
from fencepost_runtime import secret_sources
from fencepost_runtime.secret_sources import SecretSource, SecretsUnavailable
from fencepost_runtime.secret_sources.local import EnvironmentSecrets, FileSecrets
from fencepost_runtime.settings import GatewaySettings

FIELD: Final = "value"


class SecretMissing(FencepostError):
    """A contract names a secret that isn't there (now). Nothing was sent."""

    code = "secret_missing"

    def __init__(self, name: str, why: str | None = None) -> None:
        self.name = name
        way_out = "put it into a file of that name in FENCEPOST_SECRETS_DIR"
        super().__init__(f"the secret {name} is not there: {why or way_out}")


class Secrets(Protocol):
    async def get(self, name: str) -> str:
        """The value as it is now. Raises SecretMissing."""
        ...


class NamedSecrets:
    """Names of contracts over the runtime's sources."""

    def __init__(
        self, sources: secret_sources.Secrets, folder: Path | None, vault_path: str | None = None
    ) -> None:
        """folder: of mounted files. vault_path: below the KV engine's mount; None where there is no Vault."""
        self._sources, self._folder, self._vault_path = sources, folder, vault_path

    async def get(self, name: str) -> str:
        if not re.fullmatch(SECRET_NAME, name):
            raise SecretMissing(name)
        for reference in self._places(name):
            try:
                return await self._sources.read(reference)
            except secret_sources.SecretMissing:
                continue
            except SecretsUnavailable as error:
                raise SecretMissing(name, str(error)) from None
        raise SecretMissing(name)

    def _places(self, name: str) -> Iterator[str]:
        if self._folder is not None:
            yield f"file:{self._folder.absolute() / name}"
        yield "env:FENCEPOST_SECRET_" + re.sub(r"[.-]", "_", name).upper()
        if self._vault_path:
            yield f"vault:{self._vault_path.strip('/')}/{name}#{FIELD}"


def named_secrets(settings: GatewaySettings, sources: secret_sources.Secrets) -> NamedSecrets:
    return NamedSecrets(sources, settings.secrets_dir, settings.secrets_vault_path)


class LocalSecrets(NamedSecrets):
    """Files and variables alone, for who has no settings at hand."""

    def __init__(self, folder: Path | None) -> None:
        local: dict[str, SecretSource] = {"env": EnvironmentSecrets(), "file": FileSecrets()}
        super().__init__(secret_sources.Secrets(local), folder)
