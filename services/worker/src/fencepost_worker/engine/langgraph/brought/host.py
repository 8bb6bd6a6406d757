"""A run as its brought graph sees it: tools through the gateway, models through the ledger, under the fence.

One per execution. What is asked for is keyed by its place in the graph (checkpoint, task, how many-eth), so
a node that runs again from its first line asks for the same.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from fencepost.graphs import RunInput, ToolCall, ToolOutcome
from fencepost_contracts import canonical
from fencepost_domain.budget import BudgetExhausted
from fencepost_domain.vocabulary import Reason
from langgraph.errors import GraphInterrupt
from langgraph.runtime import ExecutionInfo, get_runtime

from fencepost_worker.engine.langgraph.registry import Left
from fencepost_worker.engine.port import Ports, model_key
from fencepost_worker.flow.state import DONE, FAILED, REJECTED, UNSETTLED
from fencepost_worker.flow.step import Facts
from fencepost_worker.models.guard import check_calls
from fencepost_worker.models.pairing import OUTCOME_UNKNOWN
from fencepost_worker.models.port import Answer, Call, Message, ModelContext, ModelFailed, ToolSpec

NEVER: Final = 1_000_001  # above every index
UNKNOWN: Final = json.loads(OUTCOME_UNKNOWN)["status"]


class ApprovalExpired(Exception):
    """Nobody decided in time: the run is over, nothing was done."""


@dataclass(slots=True)
class RunHost:
    """Implements fencepost.graphs.Host. failed: why the run must stop, also where a node caught it.

    failing: the node that failed last. asked: tasks that paused for a question, and which tool asked.
    """

    facts: Facts
    ports: Ports
    message_id: str
    history: tuple[Message, ...]
    loop: asyncio.AbstractEventLoop
    act: Any  # tools.Act: carries prepared calls through approval and commit
    failed: Exception | None = None
    failing: str = ""
    asked: dict[str, str] = field(default_factory=dict)
    _counts: dict[tuple[str, int, str], int] = field(default_factory=dict)
    _turns: dict[str, asyncio.Lock] = field(default_factory=dict)

    # ── tools ───────────────────────────────────────────────────────────────────────────────────────

    async def call_tools(self, calls: Sequence[ToolCall]) -> Sequence[ToolOutcome]:
        """All checked before any is prepared; then prepared, approved and committed, in their order.

        Calls that one task makes side by side go one after the other, as they were begun: LangGraph tells a
        task's subgraphs apart by their order, which must be the same when its node runs again.
        """
        info = self._info("tool_node")
        place = f"{info.checkpoint_ns}/{self._next(info, 'tools')}"
        async with self._turns.setdefault(info.task_id, asyncio.Lock()):
            return await self._carry_out(info, place, calls)

    async def _carry_out(
        self, info: ExecutionInfo, place: str, calls: Sequence[ToolCall]
    ) -> Sequence[ToolOutcome]:
        try:
            refused = await self._refused(place, calls)
            if refused is not None:
                return refused
            indexes = await self.ports.number("action", place, len(calls))
            if max(indexes) >= self._action_limit():
                raise BudgetExhausted("actions")
            again = await self._said_no_before(indexes, calls)
            if again is not None:
                return again
        except Exception as error:
            self.leave(error)
        proposed = [
            {
                "index": index,
                "n": 1,
                "tool": call.name,
                "arguments": dict(call.arguments),
                "call_id": call.id,
                "status": "proposed",
            }
            for index, call in zip(indexes, calls, strict=True)
        ]
        try:
            state = await self.act(proposed)
        except GraphInterrupt:
            self.asked[info.task_id] = calls[0].name
            raise
        self._stop_where_it_must(state)
        return [_outcome(one, state) for one in proposed]

    async def _refused(self, place: str, calls: Sequence[ToolCall]) -> list[ToolOutcome] | None:
        """One bad call refuses all: nothing of an answer that is half wrong is done."""
        specs = self.specs()
        found = check_calls([Call(str(n), c.name, c.arguments) for n, c in enumerate(calls)], specs)
        if not found:
            return None
        await self.ports.note_refusals(f"{self.facts.run_id}:{place}", [r.to_json() for r in found])
        outcomes = []
        for n, call in enumerate(calls):
            mine = [r.to_json() for r in found if r.call_id == str(n)]
            other = {"code": "not_executed", "detail": "another call of the same answer was refused"}
            outcomes.append(ToolOutcome(call.id, call.name, "refused", reasons=mine or [other]))
        return outcomes

    async def _said_no_before(
        self, indexes: Sequence[int], calls: Sequence[ToolCall]
    ) -> list[ToolOutcome] | None:
        """What a person said no to earlier in the run is not put before them again (02 §4)."""
        known = {(tool, digest): index for index, tool, digest in await self.ports.rejected()}
        earlier = [known.get((c.name, canonical.digest(dict(c.arguments))), NEVER) for c in calls]
        if all(index <= was for index, was in zip(indexes, earlier, strict=True)):
            return None
        told = {"code": "rejected_before", "detail": "a person said no to this call, with these arguments"}
        other = {"code": "not_executed", "detail": "another call of the same answer was refused"}
        return [
            ToolOutcome(call.id, call.name, "refused", reasons=[told if was < index else other])
            for index, was, call in zip(indexes, earlier, calls, strict=True)
        ]

    def _action_limit(self) -> int:
        asked = (self.facts.budget or {}).get("actions")
        limit = self.facts.definition.limits.actions
        return min(limit, asked) if isinstance(asked, int) else limit

    def _stop_where_it_must(self, state: Mapping[str, Any]) -> None:
        if state["approval_expired"]:
            self.leave(ApprovalExpired("nobody decided in time"))
        failure = state["failure"]
        if failure and failure["reason"] == Reason.BUDGET_EXHAUSTED:
            self.leave(BudgetExhausted(failure["code"]))

    def specs(self) -> tuple[ToolSpec, ...]:
        """The exact catalog of the bound fingerprint."""
        catalog = self.facts.catalog
        tools = catalog.tools if catalog is not None else ()
        return tuple(ToolSpec(tool.name, tool.description, tool.input_schema) for tool in tools)

    def tools(self) -> Sequence[Mapping[str, Any]]:
        return [
            {"name": spec.name, "description": spec.description, "parameters": spec.schema}
            for spec in self.specs()
        ]

    def run_input(self) -> RunInput:
        facts = self.facts
        history = [_turn(message) for message in self.history]
        return RunInput(
            facts.text,
            facts.locale,
            facts.zone,
            facts.currency,
            facts.reference,
            history,
            self.ports.simulated,
            facts.attachments,
        )

    # ── models ──────────────────────────────────────────────────────────────────────────────────────

    async def ask_model(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> tuple[str, Answer]:
        """A name for the answer, and it. Raises ModelFailed, which a node may handle.

        The name is made of what was asked and where, not of the run: a fork asks the same under it.
        """
        info = self._info("chat_model")
        node = info.checkpoint_ns.rsplit("|", 1)[-1].partition(":")[0]
        n = self._next(info, "model")
        key = model_key(self.facts.run_id, info.checkpoint_id, node, info.task_id, n)
        try:
            answer = await self.ports.ask_model(key, self._context(), messages, tools, self.message_id)
        except ModelFailed:
            raise
        except Exception as error:
            self.leave(error)
        asked = [(m.role, m.text, [c.id for c in m.calls], m.call_id) for m in messages]
        name = json.dumps([node, n, asked], ensure_ascii=True)
        return hashlib.sha256(name.encode()).hexdigest()[:16], answer

    def _context(self) -> ModelContext:
        facts = self.facts
        return ModelContext(
            facts.text, facts.reference, facts.zone, facts.locale, facts.currency, facts.module, facts.modules
        )

    # ── places ──────────────────────────────────────────────────────────────────────────────────────

    def _info(self, what: str) -> ExecutionInfo:
        """Where in the graph this is. Raises RuntimeError outside of a node."""
        try:
            info = get_runtime().execution_info
        except (KeyError, RuntimeError, AttributeError) as error:
            raise RuntimeError(f"fencepost.{what} is called outside of a node of the graph") from error
        if info is None:
            raise RuntimeError(f"fencepost.{what} is called outside of a node of the graph")
        return info

    def _next(self, info: ExecutionInfo, what: str) -> int:
        """The how many-eth of its kind in this try of the task: counted anew when LangGraph retries it."""
        key = (info.task_id, info.node_attempt, what)
        self._counts[key] = self._counts.get(key, -1) + 1
        return self._counts[key]

    def leave(self, error: Exception) -> NoReturn:
        """Out of the node, past whatever catches exceptions there: `failed` says it again to the engine."""
        self.failed = self.failed or error
        raise Left(error) from error


def _turn(message: Message) -> dict[str, Any]:
    turn: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.calls:
        turn["tool_calls"] = [
            {"id": c.id, "name": c.name, "args": dict(c.arguments), "type": "tool_call"}
            for c in message.calls
        ]
    if message.call_id is not None:
        turn["tool_call_id"] = message.call_id
    return turn


def _outcome(proposed: Mapping[str, Any], state: Mapping[str, Any]) -> ToolOutcome:
    """What became of a call, from what the steps of the tool node left."""
    call_id, index, tool = proposed["call_id"], proposed["index"], proposed["tool"]
    refused = [r for r in state["refused"] if r.get("call_id") == call_id]
    action = next((a for a in state["actions"] if a["index"] == index), None)
    if action is None:
        other = {"code": "not_executed", "detail": "another call of the same answer was refused"}
        reasons = [{k: v for k, v in one.items() if k != "call_id"} for one in refused]
        return ToolOutcome(call_id, tool, "refused", reasons=reasons or [other])
    match action["status"]:
        case s if s == DONE:
            return ToolOutcome(call_id, tool, "completed", result=action["result"], index=index)
        case s if s == REJECTED:
            return ToolOutcome(call_id, tool, "rejected", note=action.get("note"), index=index)
        case s if s == UNSETTLED:
            return ToolOutcome(call_id, tool, UNKNOWN, index=index)
        case s if s == FAILED:
            return ToolOutcome(call_id, tool, "failed", error=action["error"], index=index)
    failure = state["failure"] or {"code": "not_executed", "detail": ""}
    told = {"code": failure["code"], "detail": failure.get("detail", "")}
    return ToolOutcome(call_id, tool, "failed", error=told, index=index)
