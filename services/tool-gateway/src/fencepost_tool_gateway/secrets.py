"""Credentials of tools, by reference: read at the send, masked from then on wherever text leaves us."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Protocol

from fencepost_contracts.http_tools import SECRET_NAME
from fencepost_domain.errors import FencepostError
from fencepost_runtime.secrets import register_secret


class SecretMissing(FencepostError):
    """A contract names a secret that isn't there (now). Nothing was sent."""

    code = "secret_missing"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"the secret {name} is not there: put it into a file of that name in FENCEPOST_SECRETS_DIR"
        )


class Secrets(Protocol):
    async def get(self, name: str) -> str:
        """The value as it is now. Raises SecretMissing."""
        ...


class LocalSecrets:
    """A file `<dir>/<name>`, else the variable FENCEPOST_SECRET_<NAME> (capitals, `_` for `.` and `-`)."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    async def get(self, name: str) -> str:
        value = self._read(name) if re.fullmatch(SECRET_NAME, name) else None
        if not value:
            raise SecretMissing(name)
        register_secret(value)
        return value

    def _read(self, name: str) -> str | None:
        if self._folder is not None and (self._folder / name).is_file():
            return (self._folder / name).read_text().strip()
        return os.environ.get("FENCEPOST_SECRET_" + re.sub(r"[.-]", "_", name).upper())
