"""A node is held to its declaration: what it reads, writes, calls, appends, and for what it may end a run.

A breach is a fault of ours: the step fails, the log says which word was not declared, nothing of the patch is
kept. Graphs published before nodes declared all this run as they did.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, cast
from uuid import UUID

from fencepost_contracts.graphs import GraphDefinition, Node
from fencepost_contracts.tools import CommitAnswer, PrepareAnswer, PrepareCall
from fencepost_domain.errors import FencepostError
from fencepost_domain.vocabulary import Ev

from fencepost_worker.flow.siblings import Siblings
from fencepost_worker.flow.state import Patch, State
from fencepost_worker.flow.step import Facts, NodeFunction, Question, Step
from fencepost_worker.models.port import Answer, Message, ModelContext, ToolSpec

BRANCHES: Final = "branches"  # of a patch: inputs of the fan-out's branches; never kept


class ContractBroken(Exception):
    """A node did what its declaration doesn't have."""


class IllegalRoute(ContractBroken):
    """A node named a next node that its declaration doesn't have."""


class NodeTimedOut(FencepostError):
    """A node took longer than it declares; the run is deferred and tries again."""

    code = "node_timed_out"
    retryable = True


async def run_node(name: str, node: Node, function: NodeFunction, state: State, step: Step) -> Patch:
    """The node's patch, checked. Raises ContractBroken, NodeTimedOut and what the node raises."""
    if node.inputs is None:
        patch = await function(state, step)
    else:
        given = cast(State, {key: state[key] for key in node.inputs if key in state})  # type: ignore[literal-required]
        async with _within(name, node.timeout_seconds):
            patch = await function(given, GuardedStep(name, node, step))
        _check(name, node, patch)
    if patch.get("route") not in node.edges:
        raise IllegalRoute(f"{name} -> {patch.get('route')}")
    return patch


@asynccontextmanager
async def _within(name: str, seconds: float | None) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise NodeTimedOut(f"{name} took longer than {seconds:g} s") from error


def _check(name: str, node: Node, patch: Patch) -> None:
    undeclared = sorted(patch.keys() - {*(node.outputs or ()), "route", BRANCHES})
    if undeclared:
        raise ContractBroken(f"{name} wrote {', '.join(undeclared)}, which it doesn't declare")
    failure = patch.get("failure")
    if failure and str(failure["reason"]) not in (node.errors or ()):
        raise ContractBroken(f"{name} ended the run for {failure['reason']}, which it doesn't declare")


def branches_of(
    definition: GraphDefinition, node: str, patch: Patch, state: State
) -> tuple[str, list[State]] | None:
    """Where a patch fans out to, and each branch's state: what the branch's node declares, and its batch.

    None where it goes on as one. Raises ContractBroken for more branches than declared, or none.
    """
    given = patch.get(BRANCHES)
    if given is None:
        return None
    target = definition.nodes[patch["route"]]
    if target.fan_out is None or not 0 < len(given) <= target.fan_out.most:
        raise ContractBroken(f"{node} sent {len(given)} branches to {patch['route']}")
    known = {**state, **patch}
    base = {key: known[key] for key in target.inputs or () if key in known}
    return patch["route"], [cast(State, {**base, "batch": dict(batch)}) for batch in given]


def kept(patch: Patch) -> Patch:
    """The part of a patch that becomes state."""
    return {name: value for name, value in patch.items() if name != BRANCHES}


class GuardedStep:
    """A node's step that has only the ports it declares. Implements flow.step.Step."""

    __slots__ = ("_name", "_node", "_step")

    def __init__(self, name: str, node: Node, step: Step) -> None:
        self._name, self._node, self._step = name, node, step

    def _need(self, port: str) -> Step:
        if port not in self._node.ports:
            raise ContractBroken(f"{self._name} called {port}, a port it doesn't declare")
        return self._step

    @property
    def facts(self) -> Facts:
        return self._step.facts

    @property
    def siblings(self) -> Siblings:
        return self._step.siblings

    def new_id(self) -> UUID:
        return self._step.new_id()

    async def ask_model(
        self, context: ModelContext, messages: Sequence[Message], tools: Sequence[ToolSpec], message_id: str
    ) -> Answer:
        return await self._need("model").ask_model(context, messages, tools, message_id)

    async def ask_role(
        self,
        role: str,
        context: ModelContext,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        message_id: str = "",
    ) -> Answer:
        return await self._need("model").ask_role(role, context, messages, tools, message_id)

    async def history(self) -> tuple[Message, ...]:
        return await self._need("history").history()

    async def conversation_state(self, *, acted: bool) -> Mapping[str, Any]:
        return await self._need("state").conversation_state(acted=acted)

    async def prepare(self, calls: Sequence[PrepareCall]) -> PrepareAnswer:
        return await self._need("gateway").prepare(calls)

    async def commit(self, index: int, n: int, token_id: UUID) -> CommitAnswer:
        if not self._node.side_effects:
            raise ContractBroken(f"{self._name} committed, and declares no side effect")
        return await self._need("gateway").commit(index, n, token_id)

    async def note_refusals(self, refusals: Sequence[Mapping[str, Any]]) -> None:
        if refusals:
            self._may_append(Ev.TOOL_REFUSED)
            await self._need("log").note_refusals(refusals)

    async def note(self, kind: Ev, place: str, payload: Mapping[str, Any]) -> None:
        self._may_append(kind)
        await self._need("log").note(kind, place, payload)

    def _may_append(self, kind: Ev) -> None:
        if str(kind) not in (self._node.events or ()):
            raise ContractBroken(f"{self._name} appended {kind}, which it doesn't declare")

    def pause(self, question: Question) -> Mapping[str, Any]:
        return self._need("person").pause(question)
