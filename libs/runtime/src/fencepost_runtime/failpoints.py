"""Named places where a test may stop, kill or fail a process. Off unless FENCEPOST_FAILPOINT_DIR is set.

A test arms a point by a file `<dir>/<name>` whose content is the action. The process that reaches the
point renames the file to `<name>.hit.<pid>`, which only one process can win, and acts. The point is
spent by that: a process restarted after a kill isn't killed again.

    kill     SIGKILL to itself: no handler, no clean-up, as if the power went
    stop     SIGSTOP to itself: a zombie in the making; the test sends SIGCONT
    block    wait until `<name>.release` exists
    observe  only leave the mark
    error    raise FailpointError
"""

import asyncio
import os
import signal
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

DIRECTORY_VARIABLE: Final = "FENCEPOST_FAILPOINT_DIR"
POLL_SECONDS: Final = 0.01  # how soon a blocked process sees its release


class Action(StrEnum):
    KILL = "kill"
    STOP = "stop"
    BLOCK = "block"
    OBSERVE = "observe"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Failpoint:
    name: str
    process: str
    doc: str


class FailpointError(Exception):
    """A test asked for this failure; never seen in production."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"failpoint {name} was armed with 'error'")


class UnknownFailpoint(LookupError):
    """The name isn't in the table, so no crash matrix would ever reach it."""

    def __init__(self, name: str) -> None:
        super().__init__(f"failpoint {name!r} is not declared in fencepost_runtime.failpoints")


def _table(rows: Iterable[tuple[str, str]]) -> Mapping[str, Failpoint]:
    return {name: Failpoint(name, name.partition(".")[0], doc) for name, doc in rows}


# One row a point: the first word of the name is the process that dies there; then why that place matters.
FAILPOINTS: Final[Mapping[str, Failpoint]] = _table([
    ("api.create.before_commit", "run, first event and outbox row are one transaction: none may remain"),
    ("api.create.before_response", "the run exists, the client doesn't know: it repeats under its key"),
    ("api.resolve.before_commit", "a decision is stored with its wake-up or not at all"),
    ("api.resolve.before_response", "the decision is stored, the client repeats: the same one comes back"),
    ("worker.claim.after_commit", "claimed and dead at once: the lease must bring the run back"),
    ("worker.node.before_start", "the start fence was passed and then time went by"),
    ("worker.model.after_answer", "the answer was paid for: its ledger must save a second call"),
    ("worker.checkpoint.before_commit", "the superstep ran but isn't recorded: it runs again"),
    ("worker.checkpoint.after_commit", "recorded but the answer is lost: found again by its id"),
    ("worker.prepare.after_answer", "prepared, unknown to the graph: prepared again, same key"),
    ("worker.interrupt.before_commit", "no interrupt without its wait, no wait without its interrupt"),
    ("worker.interrupt.after_commit", "the person is asked while no worker holds the run"),
    ("worker.commit.before_answer", "the effect may have happened, the worker can't know: it asks again"),
    ("worker.commit.after_answer", "the effect happened, the graph doesn't know yet"),
    ("worker.finalize.before_commit", "decided but not recorded: decided again, once"),
    ("worker.finalize.after_commit", "final, the worker doesn't know: finds its own finalization"),
    ("gateway.prepare.before_commit", "prepare has no side effect: nothing may remain"),
    ("gateway.attempt.before_start", "the fence was right a moment ago: a zombie must not open an attempt"),
    ("gateway.attempt.after_start", "started and dead: unknown for what is outside, again for local"),
    ("gateway.business.before_commit", "business row, completion and event are one transaction"),
    ("gateway.business.after_commit", "done, the worker has no answer: a repeat returns the stored result"),
    ("reconciler.relay.before_publish", "rows are leased, nothing is sent: another relay takes them"),
    ("reconciler.relay.after_publish", "sent, not marked: sent again, and the claim drops the stale hint"),
    ("reconciler.fire.before_commit", "a firing, its message and next_at are one transaction"),
    ("reconciler.expire.before_commit", "a run is taken from a dead owner by one statement"),
])  # fmt: skip


def hit(name: str) -> None:
    """Act on `name` if it is armed; `block` blocks the thread. Raises UnknownFailpoint, FailpointError."""
    if _take(name) is Action.BLOCK:
        while not _released(name):
            time.sleep(POLL_SECONDS)


async def ahit(name: str) -> None:
    """As hit(), but `block` lets the event loop go on, so that heartbeats do too."""
    if _take(name) is Action.BLOCK:
        while not _released(name):  # noqa: ASYNC110 - another process releases it, by a file
            await asyncio.sleep(POLL_SECONDS)


def _take(name: str) -> Action | None:
    if name not in FAILPOINTS:
        raise UnknownFailpoint(name)
    directory = os.environ.get(DIRECTORY_VARIABLE)
    if not directory:
        return None
    mark = Path(directory, f"{name}.hit.{os.getpid()}")
    try:
        Path(directory, name).replace(mark)
    except FileNotFoundError:
        return None
    action = Action(mark.read_text().strip())
    _act(name, action)
    return action


def _act(name: str, action: Action) -> None:
    if action is Action.KILL:
        os.kill(os.getpid(), signal.SIGKILL)
    elif action is Action.STOP:
        os.kill(os.getpid(), signal.SIGSTOP)
    elif action is Action.ERROR:
        raise FailpointError(name)


def _released(name: str) -> bool:
    return Path(os.environ.get(DIRECTORY_VARIABLE, ""), f"{name}.release").exists()


# ── for tests, and for the demo that kills its own services ─────────────────────────────────────────


def arm(directory: Path, name: str, action: Action | str) -> None:
    """Arm `name` for the next process that reaches it; forgets earlier hits of the same name."""
    if name not in FAILPOINTS:
        raise UnknownFailpoint(name)
    directory.mkdir(parents=True, exist_ok=True)
    disarm(directory, name)
    draft = directory / f"{name}.arming"
    draft.write_text(Action(action).value)
    draft.replace(directory / name)  # a process must never read half an action


def disarm(directory: Path, name: str) -> None:
    """Take back what no process has reached, and forget the marks of what one has."""
    for path in (directory / name, directory / f"{name}.release", *directory.glob(f"{name}.hit.*")):
        path.unlink(missing_ok=True)


def hit_by(directory: Path, name: str) -> int | None:
    """The pid of the process that reached `name` since it was armed."""
    for mark in directory.glob(f"{name}.hit.*"):
        return int(mark.name.rpartition(".")[2])
    return None


async def wait_hit(directory: Path, name: str, timeout: float = 20.0) -> int:  # noqa: ASYNC109 - says what it waited for
    """Wait until a process has reached `name`; its pid. Raises TimeoutError after `timeout` seconds."""
    end = time.monotonic() + timeout
    while (pid := hit_by(directory, name)) is None:
        if time.monotonic() > end:
            raise TimeoutError(f"no process reached failpoint {name} within {timeout:g} s")
        await asyncio.sleep(POLL_SECONDS)
    return pid


def release(directory: Path, name: str) -> None:
    """Let the process that is blocked at `name` go on."""
    (directory / f"{name}.release").touch()
