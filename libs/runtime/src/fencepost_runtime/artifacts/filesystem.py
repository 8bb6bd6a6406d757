"""Artifacts in a folder: written beside, flushed to the disk, then linked under their name.

Folders are opened one by one without following links, so that a link that somebody put there leads nowhere
(case FI-1). What a crash leaves in `.tmp` is cleared when it is a day old.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from fencepost_domain.ports import Ids

from fencepost_runtime.artifacts.port import (
    ArtifactExists,
    ArtifactMissing,
    ArtifactsUnavailable,
    Stored,
    checked_key,
)
from fencepost_runtime.failpoints import hit

TEMPORARY: Final = ".tmp"
LEFT_AFTER_SECONDS: Final = 86_400
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FilesystemArtifacts:
    def __init__(self, root: Path, ids: Ids) -> None:
        self._root, self._ids = root, ids

    async def put(self, key: str, data: bytes) -> None:
        await asyncio.to_thread(self._put, checked_key(key), data)

    async def read(self, key: str) -> bytes:
        return await asyncio.to_thread(self._read, checked_key(key))

    async def delete(self, key: str) -> None:
        await asyncio.to_thread(self._delete, checked_key(key))

    async def stored(self) -> AsyncIterator[Stored]:
        for one in await asyncio.to_thread(lambda: list(self._list())):
            yield one

    async def check(self) -> None:
        await asyncio.to_thread(self._check)

    def _put(self, key: str, data: bytes) -> None:
        tenant, _, name = key.partition("/")
        beside = f"{self._ids.uuid7()}"
        with self._folder(TEMPORARY, make=True) as temporary, self._folder(tenant, make=True) as folder:
            try:
                self._write(temporary, beside, data)
                hit("api.artifact.before_link")
                os.link(beside, name, src_dir_fd=temporary, dst_dir_fd=folder, follow_symlinks=False)
                os.fsync(folder)
            except FileExistsError:
                raise ArtifactExists(key) from None
            except OSError as error:
                raise ArtifactsUnavailable(f"the folder can't be written: {error.strerror}") from error
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(beside, dir_fd=temporary)

    @staticmethod
    def _write(folder: int, name: str, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o640, dir_fd=folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def _read(self, key: str) -> bytes:
        tenant, _, name = key.partition("/")
        try:
            with self._folder(tenant) as folder:
                descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
                with os.fdopen(descriptor, "rb") as file:
                    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                        raise ArtifactMissing(key)
                    return file.read()
        except (FileNotFoundError, NotADirectoryError):
            raise ArtifactMissing(key) from None
        except OSError as error:
            if error.errno == 40:  # ELOOP: a link stands where a file of ours was
                raise ArtifactMissing(key) from None
            raise ArtifactsUnavailable(f"the folder can't be read: {error.strerror}") from error

    def _delete(self, key: str) -> None:
        tenant, _, name = key.partition("/")
        with suppress(FileNotFoundError, NotADirectoryError), self._folder(tenant) as folder:
            os.unlink(name, dir_fd=folder)
            os.fsync(folder)

    def _list(self) -> Iterator[Stored]:
        self._clear()
        for tenant in self._names(self._root):
            if tenant == TEMPORARY:
                continue
            for name in self._names(self._root / tenant):
                key = f"{tenant}/{name}"
                with suppress(ValueError, OSError):
                    found = os.lstat(self._root / checked_key(key))
                    if stat.S_ISREG(found.st_mode):
                        yield Stored(key, found.st_size, datetime.fromtimestamp(found.st_mtime, UTC))

    @staticmethod
    def _names(folder: Path) -> list[str]:
        try:
            if folder.is_symlink():
                return []
            return sorted(path.name for path in folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise ArtifactsUnavailable(f"the folder can't be read: {error.strerror}") from error

    def _clear(self) -> None:
        """Drop what writers left that died: by the file system's own clock, which wrote its times."""
        with suppress(ArtifactsUnavailable), self._folder(TEMPORARY, make=True) as folder:
            self._write(folder, mark := f"now-{self._ids.uuid7()}", b"")
            now = os.stat(mark, dir_fd=folder).st_mtime
            for name in os.listdir(folder):  # noqa: PTH208 - of an open folder, which no path names safely
                with suppress(OSError):
                    if name == mark or now - os.lstat(name, dir_fd=folder).st_mtime > LEFT_AFTER_SECONDS:
                        os.unlink(name, dir_fd=folder)

    def _check(self) -> None:
        with self._folder(TEMPORARY, make=True):
            return

    @contextmanager
    def _folder(self, name: str, *, make: bool = False) -> Iterator[int]:
        """A folder below the root, opened without following a link."""
        try:
            if make:
                self._root.mkdir(parents=True, exist_ok=True, mode=0o750)
            root = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise ArtifactsUnavailable(f"the folder can't be used: {error.strerror}") from error
        try:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o750, dir_fd=root)
                    os.fsync(root)
            folder = os.open(name, _FOLDER, dir_fd=root)
        except OSError as error:
            if make:
                raise ArtifactsUnavailable(f"the folder can't be used: {error.strerror}") from error
            raise
        finally:
            os.close(root)
        try:
            yield folder
        finally:
            os.close(folder)
