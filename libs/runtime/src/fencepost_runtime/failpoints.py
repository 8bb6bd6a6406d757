"""Named places where a test may stop, kill or fail a process. Off unless FENCEPOST_FAILPOINT_DIR is set.

A test arms a point by a file `<dir>/<name>` whose content is the action. The process that reaches the
point renames the file to `<name>.hit.<pid>`, which only one process can win, and acts. The point is
spent by that: a process restarted after a kill isn't killed again.

    kill     SIGKILL to itself: no handler, no clean-up, as if the power went
    stop     SIGSTOP to itself: a zombie in the making; the test sends SIGCONT
    block    wait until `<name>.release` exists
    observe  only leave the mark
    error    raise FailpointError

A number behind the action is how often the point is passed before it acts.
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
    ("api.derive.before_commit", "a retry, fork or simulation and all it was made with, or nothing"),
    ("api.resolve.before_commit", "a decision is stored with its wake-up or not at all"),
    ("api.resolve.before_response", "the decision is stored, the client repeats: the same one comes back"),
    ("api.cancel.before_commit", "nothing is stopped: the client asks again"),
    ("api.cancel.before_response", "being stopped, unknown to who asked: asking again changes nothing"),
    ("api.pause.before_commit", "pause or resume: the run goes on as if nobody had asked"),
    ("api.pause.before_response", "pause or resume is stored; asked again it is the same"),
    ("api.repair.before_commit", "an operator's repair: nothing of it may remain"),
    ("api.repair.before_response", "repaired, unknown to who ordered it: ordered again, it changes nothing"),
    ("api.compensate.before_commit", "the order, its run and its event, or nothing of it"),
    ("api.compensate.before_response", "ordered, unknown to who ordered it: the same key gives the same run"),
    ("api.handoff.before_commit", "nothing is handed over: the run goes on, or is asked again"),
    ("api.handoff.before_response", "being handed over, unknown to who asked: asking again changes nothing"),
    ("api.make_link.before_commit", "no link was made: who asks again gets one"),
    ("api.make_link.before_response", "a link nobody has seen: the next one takes its place"),
    ("api.use_link.before_commit", "a link is spent with its decision or not at all"),
    ("api.use_link.before_response", "decided by a link, unseen: the page shows what is stored"),
    ("api.revoke_grant.before_commit", "not revoked: asked again it is"),
    ("api.revoke_grant.before_response", "revoked, unknown to who asked: the same again changes nothing"),
    ("api.artifact.before_link", "bytes written beside and not under their name: nothing is there"),
    ("api.artifact.after_store", "bytes without a row: served to nobody, removed by the scan"),
    ("api.artifact.before_commit", "row and key are one transaction; the bytes alone may remain"),
    ("api.artifact.before_response", "stored, the client doesn't know: it repeats under its key"),
    ("worker.claim.before_commit", "nothing is claimed: the next scan finds it"),
    ("worker.claim.after_commit", "claimed and dead at once: the lease must bring the run back"),
    ("worker.bind.before_commit", "claimed and bound in one transaction: neither remains"),
    ("worker.bind.after_commit", "bound for good: the next claim goes on with the same versions"),
    ("worker.gate.before_commit", "claimed and not let through: the next claim's gate judges anew"),
    ("worker.gate.after_commit", "let through under this revision only: the next one needs its own yes"),
    ("worker.node.before_start", "the start fence was passed and then time went by"),
    ("worker.model.before_send", "the attempt is written, nothing was sent: one more attempt, one bill"),
    ("worker.model.before_settle", "answered and not stored: an answer nobody acted on may be asked again"),
    ("worker.model.after_answer", "the answer was paid for: its ledger must save a second call"),
    ("worker.refusals.before_commit", "refused calls not yet told: the node runs again and tells them"),
    ("worker.refusals.after_commit", "told and not checkpointed: told once all the same"),
    ("worker.compaction.after_started", "a shortening is announced, nobody was asked: asked once, later"),
    ("worker.compaction.after_candidate", "a summary nobody may read: committed by the next, or never"),
    ("worker.compaction.before_commit", "its event and the row that finds it are one transaction"),
    ("worker.compaction.after_commit", "committed, the worker doesn't know: read, not made again"),
    ("worker.inherit.before_commit", "a result of another run not yet inherited: the step runs again"),
    ("worker.inherit.after_commit", "inherited and not checkpointed: inherited once all the same"),
    ("worker.checkpoint.before_commit", "the superstep ran but isn't recorded: it runs again"),
    ("worker.checkpoint.after_commit", "recorded but the answer is lost: found again by its id"),
    ("worker.prepare.after_answer", "prepared, unknown to the graph: prepared again, same key"),
    ("worker.interrupt.before_commit", "no interrupt without its wait, no wait without its interrupt"),
    ("worker.interrupt.after_commit", "the person is asked while no worker holds the run"),
    ("worker.commit.before_answer", "the effect may have happened, the worker can't know: it asks again"),
    ("worker.commit.after_answer", "the effect happened, the graph doesn't know yet"),
    ("worker.pause.before_commit", "still running and marked: pauses at the next boundary"),
    ("worker.pause.after_commit", "paused and held by nobody"),
    ("worker.reroute.before_commit", "still the first module's: handed over at the next claim"),
    ("worker.reroute.after_commit", "the other module's, once and for all"),
    ("worker.defer.before_commit", "the lease runs out in place of the deferral"),
    ("worker.defer.after_commit", "queued with its backoff and held by nobody"),
    ("worker.drain.before_commit", "stopped and not ended: another ends it"),
    ("worker.drain.after_commit", "ended, the worker doesn't know: finds its own finalization"),
    ("worker.finalize.before_commit", "decided but not recorded: decided again, once"),
    ("worker.finalize.after_commit", "final, the worker doesn't know: finds its own finalization"),
    ("gateway.prepare.before_commit", "prepare has no side effect: nothing may remain"),
    ("gateway.prepare.after_commit", "prepared, the worker has no answer: a repeat gives what is stored"),
    ("gateway.refusal.before_commit", "refused and not yet told: refused again and told"),
    ("gateway.refusal.after_commit", "told, the worker has no answer: told twice, done nothing"),
    ("gateway.attempt.before_start", "the fence was right a moment ago: a zombie must not open an attempt"),
    ("gateway.attempt.after_start", "started and dead: unknown for what is outside, again for local"),
    ("gateway.business.before_commit", "business row, completion and event are one transaction"),
    ("gateway.state.after_write", "what a result writes to the state is in its completing transaction"),
    ("gateway.artifact.after_put", "a tool's file without its row: served to nobody, removed by the scan"),
    ("gateway.business.after_commit", "done, the worker has no answer: a repeat returns the stored result"),
    ("gateway.send.before_start", "started and not committed: nothing is sent, nothing remains"),
    ("gateway.send.after_start", "started is committed, nothing was sent: nobody can know that any more"),
    ("gateway.send.after_answer", "the other side did it, and only this process knew"),
    ("gateway.send.before_commit", "attempt, effect, action and event are one transaction"),
    ("gateway.send.after_commit", "recorded, the worker has no answer: a repeat returns the stored result"),
    ("gateway.look_up.after_answer", "looked up and not recorded: looked up again"),
    ("gateway.look_up.before_commit", "what a look-up said is stored with its wake-up or not at all"),
    ("gateway.look_up.after_commit", "recorded: not looked up again"),
    ("gateway.task.after_answer", "a task's end was heard and not recorded: it is asked after again"),
    ("worker.wait.before_commit", "accepted and not waiting yet: committed again, the same task"),
    ("worker.wait.after_commit", "waiting on the tool while no worker holds the run"),
    ("reconciler.poll_tasks.before_ask", "taken and not asked after: asked at its next time"),
    ("reconciler.poll_tasks.after_answer", "the end is written down: its run is told by the next round"),
    ("reconciler.tell_tasks.before_commit", "a task ended, its run isn't told: told by the next round"),
    ("reconciler.tell_tasks.after_commit", "told: not told again"),
    ("reconciler.relay.before_publish", "rows are leased, nothing is sent: another relay takes them"),
    ("reconciler.relay.after_publish", "sent, not marked: sent again, and the claim drops the stale hint"),
    ("reconciler.relay.after_mark", "sent and marked: nothing is left to do"),
    ("reconciler.fire.before_commit", "a firing, its message and next_at are one transaction"),
    ("reconciler.fire.after_commit", "fired and dead: not fired again"),
    ("reconciler.expire_leases.before_commit", "a run is taken from a dead owner by one transaction"),
    ("reconciler.expire_leases.after_commit", "taken: the next worker claims it"),
    ("reconciler.drain.before_commit", "an end, its event and its message are one transaction"),
    ("reconciler.drain.after_commit", "ended: not ended again"),
    ("reconciler.deadlines.before_commit", "out of time and not stopped: stopped by the next round"),
    ("reconciler.deadlines.after_commit", "stopped: not stopped again"),
    ("reconciler.expire_interrupts.before_commit", "question, actions and wake-up go together"),
    ("reconciler.expire_interrupts.after_commit", "expired: not expired again"),
    ("reconciler.wake_runs.before_commit", "the net below every wake-up: the next round wakes"),
    ("reconciler.wake_runs.after_commit", "woken: not woken again"),
    ("reconciler.paused_until.before_commit", "a pause nobody ended: the next round ends it"),
    ("reconciler.paused_until.after_commit", "ended with the pause: not ended again"),
    ("reconciler.worker_versions.before_commit", "unserved and nobody was asked: the next round asks"),
    ("reconciler.worker_versions.after_commit", "asked: not asked again"),
    ("reconciler.stop_children.before_commit", "a child of a stopped run goes on: the next round stops it"),
    ("reconciler.stop_children.after_commit", "stopped with its parent: not stopped again"),
    ("reconciler.settle_effects.before_commit", "timed out and not recorded: recorded by the next round"),
    ("reconciler.settle_effects.after_commit", "unknown: not timed out again"),
    ("reconciler.undo_effects.before_commit", "undone and not said of the effect: said by the next round"),
    ("reconciler.undo_effects.after_commit", "said: not said again"),
    ("reconciler.scan_artifacts.after_erase", "an erased file's bytes are gone, its list doesn't know yet"),
    ("reconciler.scan_artifacts.before_commit", "found lost and not told: found again by the next scan"),
    ("reconciler.scan_artifacts.after_commit", "told: not told again"),
    ("reconciler.look_up.before_ask", "due and not asked: asked by the next round"),
    ("reconciler.look_up.after_answer", "the gateway wrote it down: nothing is left to do"),
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
    word, _, skip = mark.read_text().strip().partition(" ")
    if skip and int(skip):
        mark.write_text(f"{word} {int(skip) - 1}")
        mark.replace(Path(directory, name))
        return None
    action = Action(word)
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


def arm(directory: Path, name: str, action: Action | str, *, skip: int = 0) -> None:
    """Arm `name` for the next process that reaches it; forgets earlier hits of the same name.

    skip: so often it is passed unharmed before.
    """
    if name not in FAILPOINTS:
        raise UnknownFailpoint(name)
    directory.mkdir(parents=True, exist_ok=True)
    disarm(directory, name)
    draft = directory / f"{name}.arming"
    draft.write_text(f"{Action(action).value} {skip}" if skip else Action(action).value)
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
