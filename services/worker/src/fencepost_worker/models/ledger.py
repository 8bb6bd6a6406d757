"""Asking a model through the ledger: an attempt is written before it is sent, its answer before it is used.

A resumed node asks for its key first and gets the stored answer (I15). A failed attempt that may be tried
again is one more row; the number of attempts in one step is bounded, further ones are the run's deferral.
Each attempt's worst case is reserved as it is opened (I23), and what it used is charged as it is settled.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from fencepost_contracts import canonical
from fencepost_domain.budget import BudgetExhausted
from fencepost_domain.errors import FenceLost, FencepostError
from fencepost_domain.ports import Ids
from fencepost_domain.run import Run
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.logging import get_logger
from fencepost_runtime.secrets import mask_registered
from fencepost_store.model_calls import NewCall, Outcome, open_call, settle_call, settle_late
from fencepost_store.transaction import Store

from fencepost_worker.models.assembler import Assembler
from fencepost_worker.models.fences import without_nonces
from fencepost_worker.models.meter import SHIPPED, Meter
from fencepost_worker.models.pairing import is_paired
from fencepost_worker.models.port import Answer, Model, ModelDelta, ModelFailed, ModelRequest
from fencepost_worker.models.state_summary import tokens

ATTEMPTS: Final = 2  # in one step; more is the run's business, with its backoff
RETRY_SECONDS: Final = 0.5
MOST_PARTS: Final = 400  # named in one event; a batch has at most 60 records, a history 20 turns
OVERTIME: Final = timedelta(seconds=5)  # after its own timeout an attempt is certainly over

log = get_logger(__name__)
OnDelta = Callable[[ModelDelta], None]


@dataclass(frozen=True, slots=True)
class ModelLedger:
    """One per process. `ask` is all that nodes see of models."""

    store: Store
    ids: Ids
    meter: Meter = SHIPPED

    async def ask(
        self,
        model: Model,
        request: ModelRequest,
        run: Run,
        *,
        calls_limit: int,
        on_delta: OnDelta | None = None,
        on_reset: Callable[[], None] | None = None,
        told: set[str] | None = None,
    ) -> Answer:
        """The complete answer. run: as claimed. on_delta: pieces to show; on_reset: they were for nothing.

        told: hashes of messages that the run's log holds already; those of this call are added.

        Raises ModelFailed, BudgetExhausted, FenceLost.
        """
        if not is_paired(request.messages):
            raise ModelFailed("protocol_error", "an unpaired call would be sent", retryable=False)
        for remaining in reversed(range(ATTEMPTS)):
            call = self._call(model, request, calls_limit, told or set())
            async with self.store.transaction() as tx:
                opened = await open_call(tx, run.fence(), call)
            if opened.answer is not None:
                return Answer.from_json(opened.answer)
            if opened.attempt is None:
                raise BudgetExhausted(opened.reached or "model_calls")
            await ahit("worker.model.before_send")
            try:
                answer = await self._attempt(model, request, run, call, opened.attempt, on_delta)
                if told is not None:
                    told.update(call.input)
                return answer
            except ModelFailed as error:
                log.warning("model.failed", key=request.key, code=error.code, retryable=error.retryable)
                if on_reset is not None:
                    on_reset()
                if not error.retryable or not remaining:
                    raise
                await asyncio.sleep(error.retry_after or RETRY_SECONDS)
        raise AssertionError("unreachable")

    async def _attempt(
        self,
        model: Model,
        request: ModelRequest,
        run: Run,
        call: NewCall,
        attempt: int,
        on_delta: OnDelta | None,
    ) -> Answer:
        assembler = Assembler()
        try:
            async for delta in model.stream(request):
                assembler.feed(delta)
                if on_delta is not None:
                    on_delta(delta)
            # A provider may echo its key; nothing the secrets port gave out is stored or acted on (I28).
            answer = Answer.from_json(mask_registered(assembler.finish().to_json()))
            answer = self.meter.told(call, answer)
        except ModelFailed as error:
            error.partial = mask_registered(error.partial or assembler.shown)
            error.detail = mask_registered(error.detail)
            spent = self.meter.spent(call, assembler, error)
            await self._settle(run, call, attempt, replace(spent, error=error.to_json()))
            raise
        except asyncio.CancelledError:
            partial = {"code": "aborted", "detail": "the run was stopped", "partial": assembler.shown}
            outcome = replace(self.meter.spent(call, assembler), error=partial)
            await asyncio.shield(self._settle_quietly(run, call, attempt, outcome))
            raise
        outcome = self.meter.settled(call, answer)
        await ahit("worker.model.before_settle")
        await self._settle_whatever_comes(run, call, attempt, outcome)
        await ahit("worker.model.after_answer")
        return answer

    async def _settle_whatever_comes(self, run: Run, call: NewCall, attempt: int, outcome: Outcome) -> None:
        """As _settle; a cancel waits until the answer is written. It was paid for, whoever the run is now."""
        writing = asyncio.ensure_future(self._settle(run, call, attempt, outcome))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            with suppress(FencepostError):
                await writing
            raise

    async def _settle(self, run: Run, call: NewCall, attempt: int, outcome: Outcome) -> None:
        """Raises FenceLost for an outcome that came late; it is kept all the same."""
        outcome = replace(outcome, error=mask_registered(outcome.error))
        try:
            async with self.store.transaction() as tx:
                await settle_call(tx, run, call, attempt, outcome)
        except FenceLost:
            async with self.store.transaction() as tx:
                await settle_late(tx, run.id, call, attempt, outcome)
            raise

    async def _settle_quietly(self, run: Run, call: NewCall, attempt: int, outcome: Outcome) -> None:
        """For an aborted stream: that it was aborted is worth a row, not a second failure."""
        try:
            await self._settle(run, call, attempt, outcome)
        except FenceLost:
            return
        except FencepostError as error:
            log.info("model.abort_not_noted", key=call.key, error=str(error))

    def _call(self, model: Model, request: ModelRequest, calls_limit: int, told: Collection[str]) -> NewCall:
        sent = sent_messages(request)
        return NewCall(
            id=self.ids.uuid7(),
            key=request.key,
            role=request.role,
            provider=model.provider,
            model=model.name,
            request_hash=request_hash(request),
            within=timedelta(seconds=request.timeout_seconds) + OVERTIME,
            calls_limit=calls_limit,
            input=[name for name, _ in sent],
            bodies={name: body for name, body in sent if name not in told},
            reserve=self.meter.estimate(model.provider, model.name, request),
            built=built_of(request, sent),
        )


def sent_messages(request: ModelRequest) -> list[tuple[str, dict[str, Any]]]:
    """(hash, message) of what is sent, as the log keeps it: without anything the secrets port gave out."""
    found: list[tuple[str, dict[str, Any]]] = []
    for message in _hashed(request)["messages"]:
        body = mask_registered(message)
        text = json.dumps(body, sort_keys=True, ensure_ascii=True)
        found.append((hashlib.sha256(text.encode()).hexdigest()[:32], body))
    return found


def built_of(request: ModelRequest, sent: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """The payload of `context.built`: what the context says it was made of, else the messages by hash."""
    costs = [tokens(message.text) for message in request.messages]
    said = request.context.built if request.context is not None else None
    messages = [
        {"kind": "message", "id": f"{place}:{body['role']}", "hash": name, "tokens": cost}
        for place, ((name, body), cost) in enumerate(zip(sent, costs, strict=True))
    ]
    return {
        "prompt": (said or {}).get("prompt"),
        "tokens": sum(costs),
        "tools": [tool.name for tool in request.tools],
        "parts": list((said or {}).get("parts") or messages)[:MOST_PARTS],
    }


def request_hash(request: ModelRequest) -> str:
    """Of all that a provider would see but the fences' nonces, which are each run's own: the same request is
    the same question, asked by a run or by one that is made from it."""
    body = _hashed(request)
    texts = [{**m, "text": without_nonces(m["text"])} for m in body["messages"]]
    return canonical.digest({**body, "messages": texts})


def _hashed(request: ModelRequest) -> dict[str, Any]:
    return {
        "model": request.model,
        "messages": [
            {
                "role": m.role,
                "text": m.text,
                "calls": [{"id": c.id, "name": c.name, "arguments": dict(c.arguments)} for c in m.calls],
                "call_id": m.call_id,
            }
            for m in request.messages
        ],
        "tools": [tool.name for tool in request.tools],
    }
