"""Files of the data folder: secrets that only their owner reads, and locks that end with their holder."""

import fcntl
import os
import secrets
from collections.abc import Callable
from pathlib import Path


class Locked(RuntimeError):
    """Somebody alive holds the lock; `holder` is what they wrote into it."""

    def __init__(self, path: Path, holder: str) -> None:
        self.path, self.holder = path, holder
        super().__init__(f"{path} is held: {holder}")


class Lock:
    """An flock. Held until release(), or until the last process that inherited `fd` is gone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self.fd, 4096, 0).decode(errors="replace").strip()
            os.close(self.fd)
            raise Locked(path, holder) from None

    def write(self, text: str) -> None:
        """Leave a word for who finds the lock held."""
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, text.encode(), 0)

    def release(self) -> None:
        os.close(self.fd)


def write_private(path: Path, text: str) -> None:
    """Replace `path` as a whole, readable by its owner alone from the first byte on."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def private_text(path: Path, make: Callable[[], str]) -> str:
    """What the file says; made and kept when it isn't there yet."""
    try:
        return path.read_text()
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(path, make())
        return path.read_text()


def new_password() -> str:
    return secrets.token_urlsafe(24)


def rotate(path: Path, keep: int = 3) -> None:
    """api.log -> api.log.1 -> ... ; the oldest goes."""
    for number in range(keep, 0, -1):
        older = path.with_name(f"{path.name}.{number - 1}") if number > 1 else path
        if older.exists():
            older.replace(path.with_name(f"{path.name}.{number}"))
