"""One service as a child of the supervisor: started, watched, started again, ended in order."""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

from fencepost_runtime.parent import EXIT_MISCONFIGURED, LISTEN_FD_VARIABLE, PARENT_FD_VARIABLE
from fencepost_runtime.sockets import bind

from fencepost_cli.embedded.files import Lock, Locked
from fencepost_cli.embedded.ports import free_port
from fencepost_cli.embedded.probe import is_ready

READY_SECONDS: Final = 60.0  # a cold import on a busy machine; 2 s otherwise
FAILED_STARTS: Final = 4  # in a row, without having been ready once: it isn't going to get better
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 5.0
POLL_SECONDS: Final = 0.05
SLOT_TRIES: Final = 20  # zombies of an earlier supervisor may still hold slots; each is tried once


class ChildFailed(RuntimeError):
    """A service doesn't start; the message ends with its own last words."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What to start. `port_variable` tells it where to serve /readyz; `slot_variable` its locked slot."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    port_variable: str = ""
    port: int = 0  # 0: a free one at each start
    slot_variable: str = ""


class State(Enum):
    STARTING = "starting"
    READY = "ready"
    DOWN = "down"  # on request: not started again by itself
    FAILED = "failed"


class Child:
    """Keeps one service running until told otherwise."""

    def __init__(self, spec: Spec, log_file: Path, slots: Path, parent_fd: int) -> None:
        self.spec = spec
        self.log_file = log_file
        self.state = State.DOWN
        self.failure: ChildFailed | None = None
        self.starts = 0
        self.port = 0
        self._slots = slots
        self._parent_fd = parent_fd
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._listener: socket.socket | None = None
        self._changed = asyncio.Condition()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self._process.returncode is None else None

    def start(self, extra_env: Mapping[str, str] | None = None) -> None:
        """Begin to keep it running; wait_ready() tells when it is."""
        self.state, self.failure = State.STARTING, None
        self._keeper = asyncio.create_task(self._keep_or_fail({**self.spec.env, **(extra_env or {})}))

    async def wait_ready(self, after: int | None = None) -> None:
        """`after`: a pid that is known to die; only a later one counts. Raises ChildFailed."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._settled(after))
        if self.failure:
            raise self.failure

    def _settled(self, after: int | None) -> bool:
        if self.state is State.READY:
            return after is None or self.pid not in (after, None)
        return self.state is not State.STARTING

    async def stop(self, grace_seconds: float = 10.0) -> None:
        """SIGTERM, and SIGKILL when the grace is over. It stays down."""
        await self._end(signal.SIGTERM, grace_seconds)

    async def kill(self) -> None:
        """SIGKILL. It stays down until start()."""
        await self._end(signal.SIGKILL, 10.0)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal and let things take their course: after SIGKILL it is started again."""
        if self.pid:
            os.kill(self.pid, number)

    async def _end(self, number: signal.Signals, grace_seconds: float) -> None:
        if self._keeper:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        await self._set(State.DOWN)
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(number)
            process.send_signal(signal.SIGCONT)  # a stopped one would never hear it
        try:
            await asyncio.wait_for(process.wait(), grace_seconds)
        except TimeoutError:
            process.kill()
            await process.wait()

    async def _keep_or_fail(self, env: Mapping[str, str]) -> None:
        try:
            if self.spec.port:
                # Held by us while it is to run: who calls during a restart waits, instead of being refused.
                self._listener = bind("127.0.0.1", self.spec.port)
            await self._keep(env)
        except ChildFailed as failure:
            self.failure = failure
        except OSError as error:
            self.failure = ChildFailed(f"{self.spec.name} can't be started: {error}")
        finally:
            if self._listener:
                self._listener.close()
                self._listener = None
        await self._set(State.FAILED)

    async def _keep(self, env: Mapping[str, str]) -> None:
        """Start it again and again. Returns never; raises ChildFailed."""
        failed_starts, worked = 0, False
        while True:
            since = self.log_file.stat().st_size if self.log_file.exists() else 0
            self._process = await self._spawn(env)
            was_ready = await self._until_ready(self._process)
            if was_ready:
                failed_starts, worked = 0, True
                await self._set(State.READY)
                code = await self._process.wait()
            else:
                failed_starts += 1
                # One that worked and is killed from outside while it starts can start: it was only stopped.
                was_killed = worked and self._process.returncode == -signal.SIGKILL
                code = await self._reap(self._process)
                if failed_starts >= FAILED_STARTS and not was_killed:
                    raise ChildFailed(self._why(code, since))
            if code == EXIT_MISCONFIGURED:
                raise ChildFailed(self._why(code, since))
            await self._set(State.STARTING)
            await asyncio.sleep(min(FIRST_PAUSE_SECONDS * 3**failed_starts, LONGEST_PAUSE_SECONDS))

    async def _spawn(self, env: Mapping[str, str]) -> asyncio.subprocess.Process:
        self.port = self.spec.port or free_port()
        env = {**env, PARENT_FD_VARIABLE: str(self._parent_fd)}
        if self.spec.port_variable:
            env[self.spec.port_variable] = str(self.port)
        inherited = [self._parent_fd]
        if self._listener:
            inherited.append(self._listener.fileno())
            env[LISTEN_FD_VARIABLE] = str(self._listener.fileno())
        slot = self._take_slot() if self.spec.slot_variable else None
        if slot:
            env[self.spec.slot_variable] = slot.path.stem
            inherited.append(slot.fd)
        self.starts += 1
        try:
            with self.log_file.open("ab") as log:
                return await asyncio.create_subprocess_exec(
                    *self.spec.command,
                    env=env,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=inherited,
                    start_new_session=True,  # Ctrl-C is for the supervisor, which ends all in order
                )
        finally:
            if slot:
                slot.release()  # ours; the child's copy holds the lock for exactly as long as it lives

    def _take_slot(self) -> Lock:
        self._slots.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number in range(SLOT_TRIES):
            with suppress(Locked):
                return Lock(self._slots / f"{self.spec.name}-{number}.lock")
        raise ChildFailed(f"{self.spec.name}: {SLOT_TRIES} slots are held by processes that don't end")

    async def _until_ready(self, process: asyncio.subprocess.Process) -> bool:
        if not self.spec.port_variable:
            return True
        end = time.monotonic() + READY_SECONDS
        gone = asyncio.ensure_future(process.wait())
        try:
            while not gone.done() and time.monotonic() < end:
                asked = asyncio.ensure_future(is_ready(self.port))
                await asyncio.wait((asked, gone), return_when=asyncio.FIRST_COMPLETED)
                if asked.done() and asked.result():
                    return True
                asked.cancel()
                await asyncio.sleep(POLL_SECONDS)
        finally:
            gone.cancel()
        return False

    async def _reap(self, process: asyncio.subprocess.Process) -> int:
        with suppress(ProcessLookupError):
            process.kill()
        return await process.wait()

    async def _set(self, state: State) -> None:
        async with self._changed:
            self.state = state
            self._changed.notify_all()

    def _why(self, code: int, since: int) -> str:
        with self.log_file.open("rb") as log:
            log.seek(since)
            words = log.read()[-8192:].decode(errors="replace").splitlines()[-12:]
        words = [line[:600] for line in words]  # a traceback in JSON is one line
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        return "\n".join([f"{self.spec.name} doesn't start ({ended}); its log: {self.log_file}", *words])
