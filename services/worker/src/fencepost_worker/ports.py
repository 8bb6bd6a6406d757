"""One run's ports, under its fence: what engine.port.Ports promises, on real store, models, gateway."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from fencepost_contracts.graphs import Manifest
from fencepost_contracts.tools import Catalog, CommitAnswer, PrepareAnswer, PrepareCall
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import Conflict
from fencepost_domain.fence import FenceKind
from fencepost_domain.ports import Ids
from fencepost_domain.run import check_fence
from fencepost_domain.vocabulary import Ev, InterruptStatus
from fencepost_runtime.failpoints import ahit
from fencepost_store import bindings
from fencepost_store.numbering import number, rejected
from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.state import present_state
from fencepost_store.storable import loggable
from fencepost_store.transaction import Store

from fencepost_worker.compacting import compacted
from fencepost_worker.deltas import DeltaSender
from fencepost_worker.engine.port import PauseAsked, What, id_of
from fencepost_worker.flow.step import Question
from fencepost_worker.gateway_client import RunGateway
from fencepost_worker.history import SHARE, handed_over, read_past
from fencepost_worker.holding import Held
from fencepost_worker.models.ledger import ModelLedger
from fencepost_worker.models.port import (
    Answer,
    Message,
    Model,
    ModelContext,
    ModelFailed,
    ModelRequest,
    ToolSpec,
)
from fencepost_worker.models.respond_stream import RespondStream

ROLE: Final = "module"
SHOWN: Final = frozenset({ROLE, "responder"})  # whose words the user sees as they come


@dataclass(slots=True)
class RunPorts:
    held: Held
    store: Store
    ids: Ids
    ledger: ModelLedger
    model: Model
    manifest: Manifest
    gateway: RunGateway
    deltas: DeltaSender
    model_timeout_seconds: float
    catalog: Catalog | None = None
    models: Callable[[Manifest, str], Model | None] | None = None  # a role's own; None: one serves all
    model_name: str | None = None  # asked for instead of the manifest's, in a simulation

    @property
    def simulated(self) -> bool:
        return False

    async def boundary(self, node: str) -> None:
        """A safe place to leave: nothing of this node has begun."""
        await ahit("worker.node.before_start")
        await self.held.trusted()
        if self.held.is_pausing:
            raise PauseAsked(f"before {node}")

    def new_id(self) -> UUID:
        return self.ids.uuid7()

    async def ask_model(
        self,
        key: str,
        context: ModelContext,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        message_id: str,
        role: str = ROLE,
    ) -> Answer:
        await self.held.trusted()
        request = self.request(key, context, messages, tools, role)
        run, model = self.held.claim.run, self._model(role)
        writer = self.deltas.writer(run.id, run.tenant_id, message_id, self.held.fence.revision)
        said = RespondStream(writer.text)
        is_shown = role in SHOWN
        usage, self.held.usage = self.held.usage, None  # until it is known how the call ended
        answer = await self.ledger.ask(
            model,
            request,
            run,
            calls_limit=self.manifest.of(role).calls,
            on_delta=said.feed if is_shown else None,
            on_reset=writer.reset if is_shown else None,
            told=self.held.told,
        )
        if usage is not None:
            self.held.usage = self.ledger.meter.counted(usage, model, answer)
        self.deltas.moved(run.id)
        await self.held.trusted()
        return answer

    def _model(self, role: str) -> Model:
        """Raises ModelFailed where this worker has no access to a role's model."""
        if role == ROLE or self.model_name is not None or self.models is None:
            return self.model
        model = self.models(self.manifest, role)
        if model is None:
            raise ModelFailed("model_not_served", f"{role}: {self.manifest.of(role).model}")
        return model

    def request(
        self,
        key: str,
        context: ModelContext,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        role: str = ROLE,
    ) -> ModelRequest:
        """What a role's model is to be asked."""
        mapped = self.manifest.of(role)
        return ModelRequest(
            key,
            role,
            self.model_name or mapped.model,
            context,
            tuple(messages),
            tuple(tools),
            mapped.output_tokens,
            self.model_timeout_seconds,
        )

    async def history(self) -> tuple[Message, ...]:
        """What was said before, its older part shortened once it is over the role's share; not looked for
        where only the request itself was said."""
        brief = self.held.claim.input.get("continues")
        before = (handed_over(brief),) if isinstance(brief, Mapping) else ()
        if self.held.claim.said <= 1:
            return before
        share = self.manifest.of(ROLE).history_tokens or SHARE
        past = await read_past(self.store, self.held.claim.run)
        return (*before, *(await compacted(self, past, share)).messages(share))

    async def conversation_state(self, *, acted: bool) -> Mapping[str, Any]:
        """Not looked for where only the request was said: the first run's calls write the first state."""
        if self.held.claim.said <= 1 and not acted:
            return {}
        async with self.store.transaction() as tx:
            return (await present_state(tx, self.held.claim.run.conversation_id)).values

    async def prepare(self, calls: Sequence[PrepareCall]) -> PrepareAnswer:
        self.held.usage = None
        return await self.gateway.prepare(calls)

    async def commit(self, index: int, n: int, token_id: UUID) -> CommitAnswer:
        self.held.usage = None
        answer = await self.gateway.commit(index, n, token_id)
        await ahit("worker.commit.after_answer")
        return answer

    async def note_refusals(self, key: str, refusals: Sequence[Mapping[str, Any]]) -> None:
        """Append `tool.refused` events; ids are made of the key, so that a node run again adds none."""
        events = tuple(
            NewEvent(id_of(f"{key}:refused:{place}"), Ev.TOOL_REFUSED, _told(refusal), "worker")
            for place, refusal in enumerate(refusals)
        )
        await self._append(events)

    async def note(self, key: str, kind: Ev, payload: Mapping[str, Any]) -> None:
        await self._append((NewEvent(id_of(key), kind, loggable(dict(payload)), "worker"),))

    async def _append(self, events: tuple[NewEvent, ...]) -> None:
        with suppress(Conflict):  # event_exists: this node noted them before it was interrupted
            async with self.store.transaction() as tx:
                locked = await lock_run(tx, self.held.fence.run_id)
                check_fence(locked.run, self.held.fence, FenceKind.RECORD, locked.now)
                decision = Decision(None, events=events, fence=self.held.fence, fence_kind=FenceKind.RECORD)
                await record(tx, locked.run, decision)
                await ahit("worker.refusals.before_commit")
            await ahit("worker.refusals.after_commit")

    async def number(self, what: What, place: str, count: int) -> list[int]:
        async with self.store.transaction() as tx:
            return await number(tx, self.held.fence, what=what, place=place, count=count)

    async def rejected(self) -> Sequence[tuple[int, str, str]]:
        async with self.store.transaction() as tx:
            return await rejected(tx, self.held.fence.run_id)

    async def answer_to(self, question: Question) -> Mapping[str, Any] | None:
        async with self.store.transaction() as tx:
            row = await bindings.asked(
                tx, self.held.fence.run_id, str(question.kind), question.index, question.n
            )
        if row is None or row["status"] == InterruptStatus.OPEN:
            return None
        return {
            "status": row["status"],
            "interrupt_id": str(row["id"]),
            "resolution": row["resolution"] or {},
        }


def _told(refusal: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: refusal[name] for name in ("code", "tool", "pointer", "detail", "allowed") if name in refusal
    }
