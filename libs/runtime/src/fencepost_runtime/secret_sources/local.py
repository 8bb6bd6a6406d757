"""Secrets of the process's own environment and of files that somebody mounts beside it."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fencepost_runtime.secret_sources.port import SecretMissing
from fencepost_runtime.secrets import register_secret

LONGEST: Final = 65_536  # bytes; a key, a token or a certificate is far shorter
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


class EnvironmentSecrets:
    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ

    async def read(self, rest: str) -> str:
        value = self._environ.get(rest) if _VARIABLE.fullmatch(rest) else None
        if not value:
            raise SecretMissing(f"env:{rest}", "no such variable is set")
        register_secret(value)
        return value

    async def check(self) -> None:
        return None

    async def close(self) -> None:
        return None


class FileSecrets:
    """Read each time it is asked for: a rotated file counts at once, as Kubernetes swaps it."""

    async def read(self, rest: str) -> str:
        value = await asyncio.to_thread(self._read, Path(rest))
        register_secret(value)
        return value

    def _read(self, path: Path) -> str:
        if not path.is_absolute():
            raise SecretMissing(f"file:{path}", "the path has to be absolute")
        try:
            if path.stat().st_size > LONGEST:
                raise SecretMissing(f"file:{path}", f"longer than {LONGEST} bytes")
            value = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise SecretMissing(f"file:{path}", str(why)) from None
        if not value:
            raise SecretMissing(f"file:{path}", "the file is empty")
        return value

    async def check(self) -> None:
        return None

    async def close(self) -> None:
        return None
