"""Ports of a run that goes on from another's log: a fork inherits what was done, a simulation does nothing.

Every inherited result is an event of its own (`fact.inherited`) before it is used, under an id made of its
place, so that a step that runs again inherits the same. A fork asks what the log doesn't know for real; a
simulation asks nobody: what is neither in the log nor among its substitutes ends it as `diverged`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from fencepost_contracts.evidence.frozen import FrozenAction, node_of
from fencepost_contracts.evidence.trajectory import chosen
from fencepost_contracts.tools import (
    Change,
    CommitAnswer,
    PrepareAnswer,
    PrepareCall,
    PreparedAction,
    Preview,
    ToolError,
)
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import Conflict
from fencepost_domain.fence import FenceKind
from fencepost_domain.run import check_fence
from fencepost_domain.vocabulary import Ev, Risk
from fencepost_runtime.failpoints import ahit
from fencepost_store.event_log import log_of
from fencepost_store.lineage import Inheritance
from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.state import state_at
from fencepost_store.storable import loggable

from fencepost_worker.engine.port import Diverged, What, id_of
from fencepost_worker.flow.step import Question
from fencepost_worker.history import SHARE, read_past
from fencepost_worker.models.ledger import request_hash
from fencepost_worker.models.port import Answer, Message, Model, ModelContext, ToolSpec
from fencepost_worker.ports import ROLE, RunPorts

_INHERITED: Final = 0xF0  # first byte of an inherited action's token: no UUIDv7 begins so for centuries
ANSWERED: Final = (str(Ev.FACT_INHERITED), str(Ev.MODEL_CALLED))
FIELDS: Final = ("index", "n", "tool", "arguments", "effect_key", "result", "error")


@dataclass(slots=True)
class InheritingPorts:
    """Around a run's own ports. Its fence, ledger and log stay the run's own."""

    live: RunPorts
    inherited: Inheritance
    substitute: Model | None = None
    _asked: dict[str, list[str]] = field(default_factory=dict)  # keys of a node's calls, in order
    _has_parted: bool = False  # under another prompt the module said something else than the log

    @property
    def simulated(self) -> bool:
        return self.inherited.kind == "simulation"

    async def boundary(self, node: str) -> None:
        await self.live.boundary(node)

    def new_id(self) -> UUID:
        return self.live.new_id()

    # ── models ──────────────────────────────────────────────────────────────────────────────────────

    async def ask_model(
        self,
        key: str,
        context: ModelContext,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        message_id: str,
        role: str = "module",
    ) -> Answer:
        self.live.held.usage = None
        if self._is_asked(role):
            return await self._ask_substitute(key, context, messages, tools, message_id, role)
        request = self.live.request(key, context, messages, tools, role)
        hashed = request_hash(request)
        node, place = self._place(key)
        reply = self.inherited.frozen.reply_to(hashed)
        if reply is None and self.simulated and not self._has_parted:
            reply = self.inherited.frozen.reply_at(node, place)
        if reply is not None:
            body = dict(reply.body)
            await self._inherit(key, "model", reply.seq, request_hash=hashed, reply=body)
            return Answer.from_json(body)
        if self.simulated and not self._has_parted:
            raise Diverged({"kind": "model", "node": node, "place": place, "request_hash": hashed})
        return await self.live.ask_model(key, context, messages, tools, message_id, role)

    @property
    def _prompt(self) -> str | None:
        prompt = self.inherited.substitutes.get("prompt") if self.simulated else None
        return str(prompt) if prompt else None

    def _is_asked(self, role: str) -> bool:
        """For real, whatever the log says: another model in every role, another prompt in the module's.

        What other roles are asked follows from what the module said: while that is what the log says, so are
        their answers; after that the log's answer counts for the same question only.
        """
        if not self.simulated:
            return False
        return bool(self.inherited.substitutes.get("model")) or (self._prompt is not None and role == ROLE)

    async def _ask_substitute(
        self,
        key: str,
        context: ModelContext,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        message_id: str,
        role: str = "module",
    ) -> Answer:
        """For real, through the simulation's own ledger: another model, or another prompt."""
        changed = self.inherited.substitutes
        if changed.get("model"):
            if self.substitute is None:
                raise Diverged({"kind": "model", "model": changed["model"], "detail": "no worker serves it"})
            self.live.model = self.substitute
            self.live.model_name = changed["model"]
        if self._prompt is not None and role == ROLE:
            messages = [
                replace(m, text=self._prompt) if m.role == "system" and place == 0 else m
                for place, m in enumerate(messages)
            ]
        answer = await self.live.ask_model(key, context, messages, tools, message_id, role)
        self._compare(key, answer.to_json())
        return answer

    def _compare(self, key: str, body: Mapping[str, Any]) -> None:
        """Note whether the module said under another prompt what the log says at the same place."""
        if self._prompt is not None:
            then = self.inherited.frozen.reply_at(*self._place(key))
            self._has_parted = self._has_parted or then is None or chosen(then.body) != chosen(body)

    def _place(self, key: str) -> tuple[str, int]:
        """A call's node, and which of its calls this is, from 0: the same again when a step runs again."""
        node = node_of(key)
        keys = self._asked.setdefault(node, [])
        if key not in keys:
            keys.append(key)
        return node, keys.index(key)

    async def recall(self) -> None:
        """Go on where another claim of this run left: which calls of each node were answered before."""
        run = self.live.held.claim.run
        async with self.live.store.transaction() as tx:
            told = await log_of(tx, run.id, run.event_seq, only=ANSWERED)
        for event in told:
            p = event.payload or {}
            if event.type == Ev.MODEL_CALLED:
                self._compare(p["key"], p.get("reply") or {})
            elif p.get("kind") == "model":
                self._place(p["place"])

    async def history(self) -> tuple[Message, ...]:
        """As the origin read it: before its words, in its conversation, with what was committed until then;
        nothing is shortened anew."""
        run = replace(
            self.live.held.claim.run,
            id=self.inherited.history_of,
            conversation_id=self.inherited.conversation_id,
        )
        share = self.live.manifest.of("module").history_tokens or SHARE
        return (await read_past(self.live.store, run)).messages(share)

    async def conversation_state(self, *, acted: bool) -> Mapping[str, Any]:
        """As it was when the origin began; a fork that goes on for real reads today's."""
        if not self.simulated and acted:
            return await self.live.conversation_state(acted=acted)
        async with self.live.store.transaction() as tx:
            found = await state_at(tx, self.inherited.conversation_id, self.inherited.state_at)
        return found.values

    # ── actions ─────────────────────────────────────────────────────────────────────────────────────

    async def prepare(self, calls: Sequence[PrepareCall]) -> PrepareAnswer:
        self.live.held.usage = None
        mine: list[PreparedAction] = []
        others: list[PrepareCall] = []
        for call in calls:
            known = self.inherited.frozen.action_for(call.index, call.n, call.tool, call.arguments)
            if known is not None and (self.simulated or known.outcome == "completed"):
                mine.append(self._prepared(call, known))
            else:
                others.append(call)
        if others and self.simulated:
            first = others[0]
            raise Diverged({"kind": "action", "tool": first.tool, "arguments": dict(first.arguments)})
        if others:
            answer = await self.live.prepare(others)
            mine += answer.actions
        return PrepareAnswer(actions=tuple(sorted(mine, key=lambda one: one.index)))

    def _prepared(self, call: PrepareCall, known: FrozenAction) -> PreparedAction:
        """A fork's inherited action needs no yes: it was done. A simulation's is judged by its contract."""
        catalog = self.live.catalog
        tool = catalog.tool(call.tool) if catalog is not None and self.simulated else None
        risk = Risk(tool.risk if tool is not None else known.risk)
        edited = call.edited_by is not None
        preview, change = self.inherited.previews.get((known.index, known.n), ({}, {}))
        asked = tool.approval if tool is not None else known.approval
        approval = self.simulated and asked and not edited
        return PreparedAction(
            index=call.index,
            n=call.n,
            tool=call.tool,
            tool_version=tool.version if tool is not None else "",
            arguments=dict(known.arguments),
            arguments_hash="",
            risk=risk,
            effect_class=tool.effect_class if tool is not None else known.effect_class,
            approval=approval,
            status="prepared" if approval else "approved",
            preview=Preview.model_validate(preview) if preview else Preview(title=call.tool, text=call.tool),
            change=Change.model_validate(change) if change else Change(summary=call.tool),
            token_id=UUID(int=_INHERITED << 120 | self.inherited.frozen.actions.index(known)),
            expires_at=None,
        )

    async def commit(self, index: int, n: int, token_id: UUID) -> CommitAnswer:
        if token_id.int >> 120 != _INHERITED:
            return await self.live.commit(index, n, token_id)
        known = self.inherited.frozen.actions[token_id.int & 0xFFFF_FFFF]
        if known.outcome is None:
            raise Diverged({"kind": "outcome", "index": index, "tool": known.tool})
        place = f"{self.live.held.fence.run_id}:action:{index}:{n}"
        told = {name: getattr(known, name) for name in FIELDS} | {"index": index, "n": n}
        await self._inherit(place, "action", known.seq, **told)
        if known.outcome == "failed":
            error = known.error if isinstance(known.error, Mapping) else {}
            told_error = ToolError(
                code=str(error.get("code", "tool_failed")), detail=str(error.get("detail", ""))
            )
            return CommitAnswer(state="failed", error=told_error, replayed=True)
        return CommitAnswer(
            state="completed", result=known.result, replayed=True, result_invalid=known.result_invalid
        )

    async def note_refusals(self, key: str, refusals: Sequence[Mapping[str, Any]]) -> None:
        await self.live.note_refusals(key, refusals)

    async def note(self, key: str, kind: Ev, payload: Mapping[str, Any]) -> None:
        await self.live.note(key, kind, payload)

    async def number(self, what: What, place: str, count: int) -> list[int]:
        return await self.live.number(what, place, count)

    async def rejected(self) -> Sequence[tuple[int, str, str]]:
        return await self.live.rejected()

    # ── people ──────────────────────────────────────────────────────────────────────────────────────

    async def answer_to(self, question: Question) -> Mapping[str, Any] | None:
        """What the person said then. In a fork only to questions; a yes to an action is asked anew."""
        if self.simulated or question.kind == "input":
            said = self.inherited.frozen.answer_to(str(question.kind), question.index, question.n)
            if said is not None:
                place = f"{self.live.held.fence.run_id}:{question.kind}:{question.index}:{question.n}"
                told = {"index": question.index, "n": question.n, "question": question.text}
                await self._inherit(place, "answer", said.seq, resolution=dict(said.resolution), **told)
                own = str(self.live.held.fence.run_id)
                return {"status": "resolved", "interrupt_id": own, "resolution": dict(said.resolution)}
        if self.simulated:
            raise Diverged({"kind": "answer", "question": question.text, "asked": str(question.kind)})
        return await self.live.answer_to(question)

    async def _inherit(self, place: str, kind: str, from_seq: int, **told: Any) -> None:
        payload = {
            "kind": kind,
            "from_run_id": str(self.inherited.run_id),
            "from_seq": from_seq,
            "place": place,
            **loggable(told),
        }
        event = NewEvent(id_of(f"{place}:inherited"), Ev.FACT_INHERITED, payload, "worker")
        fence = self.live.held.fence
        with suppress(Conflict):  # event_exists: it was inherited before this step was interrupted
            async with self.live.store.transaction() as tx:
                locked = await lock_run(tx, fence.run_id)
                check_fence(locked.run, fence, FenceKind.RECORD, locked.now)
                decision = Decision(None, events=(event,), fence=fence, fence_kind=FenceKind.RECORD)
                await record(tx, locked.run, decision)
                await ahit("worker.inherit.before_commit")
        await ahit("worker.inherit.after_commit")
