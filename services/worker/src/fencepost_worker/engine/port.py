"""The graph engine behind a port: start or resume a run, and say how it left.

An engine keeps graph state under the run's fence and nothing else. It records no status, opens no interrupt
and ends no run: it returns an Outcome, and `execute` makes it true. Two implementations pass one suite
(tests/conformance/test_graph_engine.py): LangGraph's, and a scripted one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol
from uuid import UUID

from fencepost_contracts.graphs import BroughtGraph, GraphDefinition
from fencepost_contracts.tools import CommitAnswer, PrepareAnswer, PrepareCall
from fencepost_domain.errors import FencepostError
from fencepost_domain.fence import Fence
from fencepost_domain.vocabulary import Ev, Reason, WaitingOn
from fencepost_store.checkpoints import NewCheckpoint

from fencepost_worker.flow.state import State
from fencepost_worker.flow.step import Facts, NodeFunction, Question
from fencepost_worker.models.port import Answer, Message, ModelContext, ToolSpec

What = Literal["action", "question"]


@dataclass(frozen=True, slots=True)
class Task:
    """One execution of a run. fresh: the run was never checkpointed."""

    facts: Facts
    fence: Fence
    fresh: bool


@dataclass(frozen=True, slots=True)
class Finished:
    """The graph came to its end. proposal: what finalize proposed; it is not true yet.

    carried: graph state to be stored with the ending, or right before it.
    """

    proposal: Mapping[str, Any]
    state: State
    carried: tuple[NewCheckpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class Parked:
    """The graph waits for a person's answer to this question."""

    question: Question


@dataclass(frozen=True, slots=True)
class Rerouted:
    """The whole run belongs to another module; nothing was done."""

    module: str


@dataclass(frozen=True, slots=True)
class Paused:
    """The run stopped at a safe boundary because it was asked to pause."""


@dataclass(frozen=True, slots=True)
class Awaiting:
    """The run waits for something else than a person; looked at after `seconds`, if nothing wakes it."""

    on: WaitingOn
    seconds: float


@dataclass(frozen=True, slots=True)
class Deferred:
    """A step failed and may succeed later. wait_seconds: what the other side asked for, if it did.

    counts: an attempt of the run; False where the run is not to blame (a part isn't there yet, a drain).
    """

    reason: str
    detail: str
    wait_seconds: float | None = None
    counts: bool = True


@dataclass(frozen=True, slots=True)
class Broken:
    """A step failed and trying again changes nothing. reason: of the finalization."""

    reason: str
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The run is another's now. It is dropped without a word."""

    detail: str


@dataclass(frozen=True, slots=True)
class Waits:
    """A tool works on a task of its own; its end wakes the run, whose step then commits again."""


Outcome = Finished | Parked | Waits | Rerouted | Paused | Awaiting | Deferred | Broken | Lost


class PauseAsked(FencepostError):
    """At a boundary: the run was asked to pause. Control flow, not a failure."""

    code = "pause_asked"


class Diverged(FencepostError):
    """A simulation left what is known. wanted: what neither the log nor a substitute could give it."""

    code = "diverged"

    def __init__(self, wanted: Mapping[str, Any]) -> None:
        self.wanted = dict(wanted)
        super().__init__(f"neither the log nor a substitute knows this {wanted.get('kind')}")

    def ending(self) -> Broken:
        """How the simulation ends: blocked by what isn't known, not failed by the model or a tool."""
        return Broken(Reason.CONFLICT_UNRESOLVED, self.code, json.dumps(self.wanted, ensure_ascii=False))


class Ports(Protocol):
    """What an engine gives its nodes, already bound to one run's fence. Every call may raise FenceLost."""

    @property
    def simulated(self) -> bool:
        """Nothing outside of the run may be touched."""
        ...

    async def boundary(self, node: str) -> None:
        """Before a node starts: waits for trust in the lease. Raises PauseAsked, FenceLost."""
        ...

    def new_id(self) -> UUID: ...

    async def ask_model(
        self,
        key: str,
        context: ModelContext,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        message_id: str,
        role: str = "module",
    ) -> Answer: ...

    async def history(self) -> tuple[Message, ...]: ...

    async def conversation_state(self, *, acted: bool) -> Mapping[str, Any]: ...

    async def prepare(self, calls: Sequence[PrepareCall]) -> PrepareAnswer: ...

    async def commit(self, index: int, n: int, token_id: UUID) -> CommitAnswer: ...

    async def note_refusals(self, key: str, refusals: Sequence[Mapping[str, Any]]) -> None: ...

    async def note(self, key: str, kind: Ev, payload: Mapping[str, Any]) -> None:
        """Append an event; its id is made of the key, so that a node run again adds none."""
        ...

    async def number(self, what: What, place: str, count: int) -> list[int]:
        """Numbers for `count` actions or questions of a place in a brought graph: the same ever after."""
        ...

    async def rejected(self) -> Sequence[tuple[int, str, str]]:
        """(index, tool, hash of the arguments) of the run's actions that a person said no to."""
        ...

    async def answer_to(self, question: Question) -> Mapping[str, Any] | None:
        """What became of a question: `{status, interrupt_id, resolution}`; None while open or unasked."""
        ...


class Engine(Protocol):
    async def execute(self, task: Task, ports: Ports) -> Outcome:
        """Start the run, or go on with it, until it leaves. Cancelling the task leaves at once."""
        ...


def check_definition(definition: GraphDefinition, nodes: Mapping[str, NodeFunction]) -> None:
    """Raise ValueError unless every declared node has a function and every edge leads somewhere."""
    missing = sorted(set(definition.nodes) - set(nodes))
    if missing:
        raise ValueError(f"{definition.name} {definition.version}: no code for {', '.join(missing)}")
    for name, node in definition.nodes.items():
        unknown = sorted(set(node.edges) - set(definition.nodes) - {"end"})
        if unknown:
            raise ValueError(f"{definition.name} {definition.version}: {name} leads to {', '.join(unknown)}")


def nodes_of(
    nodes: Mapping[str, Mapping[str, NodeFunction]], definition: GraphDefinition
) -> Mapping[str, NodeFunction]:
    """A definition's code: by `name-version`, else by name. Raises KeyError where there is none."""
    return nodes.get(f"{definition.name}-{definition.version}") or nodes[definition.name]


def model_key(run_id: UUID, checkpoint_id: str, node: str, branch: str = "0", n: int = 0) -> str:
    """The ledger's key of a model call: the same after a crash or a pause, another after the next step."""
    return f"{run_id}:{checkpoint_id}:{node}:{branch}:{n}"


def id_of(key: str) -> UUID:
    """A stable id from a key: UUID version 8, made of its hash."""
    raw = bytearray(hashlib.sha256(key.encode()).digest()[:16])
    raw[6] = (raw[6] & 0x0F) | 0x80
    raw[8] = (raw[8] & 0x3F) | 0x80
    return UUID(bytes=bytes(raw))


@dataclass(frozen=True, slots=True)
class RoutedEngine:
    """Our own graphs on one engine, brought ones on the other, by what the run is bound to."""

    own: Engine
    brought: Engine

    async def execute(self, task: Task, ports: Ports) -> Outcome:
        is_brought = isinstance(task.facts.definition, BroughtGraph)
        return await (self.brought if is_brought else self.own).execute(task, ports)
