"""One claimed run, as a pipeline over one value: bind, execute, record. No failure is swallowed: it ends as a
deferral, a finalization, or (when the database itself is gone) as a lease that runs out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from fencepost_contracts.graphs import Manifest
from fencepost_domain.errors import FenceLost, FencepostError
from fencepost_domain.ports import Ids
from fencepost_domain.vocabulary import RunMode
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.logging import get_logger, log_context
from fencepost_store.lineage import Inheritance, inheritance
from fencepost_store.transaction import Store

from fencepost_worker.binding import Binder, Bound
from fencepost_worker.deltas import DeltaSender
from fencepost_worker.draining import Drain
from fencepost_worker.engine.port import (
    Broken,
    Deferred,
    Diverged,
    Engine,
    Lost,
    Outcome,
    Parked,
    Rerouted,
    Task,
)
from fencepost_worker.flow.step import Facts
from fencepost_worker.gateway_client import GatewayClient
from fencepost_worker.holding import Held, Holding, Leaving
from fencepost_worker.inheriting import InheritingPorts
from fencepost_worker.models.ledger import ModelLedger
from fencepost_worker.models.port import Model
from fencepost_worker.outcome import Recorder
from fencepost_worker.ports import ROLE, RunPorts
from fencepost_worker.recovery import NOT_SERVED_SECONDS, Gate

log = get_logger(__name__)


class Models(Protocol):
    """A manifest's model for a role; None when this worker has no access to it."""

    def __call__(self, manifest: Manifest, name: str = ROLE) -> Model | None: ...


@dataclass(frozen=True, slots=True)
class Executor:
    """What executing needs; built once in main. models: a manifest's model, None if not served here."""

    store: Store
    ids: Ids
    holding: Holding
    binder: Binder
    gate: Gate
    engine: Engine
    recorder: Recorder
    drain: Drain
    ledger: ModelLedger
    gateway: GatewayClient
    models: Models
    deltas: DeltaSender
    model_timeout_seconds: float
    substitute: Callable[[str], Model | None] = lambda _: None  # another model by name, for simulations

    def start(self, held: Held) -> None:
        """Execute a held run in a task of its own; its slot is free again when the task ends."""
        held.task = asyncio.create_task(self._guarded(held), name=f"run-{held.fence.run_id}")

    async def _guarded(self, held: Held) -> None:
        with log_context(run_id=str(held.fence.run_id), revision=held.fence.revision):
            try:
                await self._execute(held)
            except FenceLost as error:
                log.info("run.dropped", why=str(error))
            except FencepostError as error:
                log.warning("run.left_to_its_lease", error=str(error))
            except Exception:
                log.exception("run.left_to_its_lease")
            finally:
                self.holding.drop(held)

    async def _execute(self, held: Held) -> None:
        try:
            await ahit("worker.claim.after_commit")
            self.deltas.moved(held.fence.run_id)
            try:
                outcome = await self._outcome(held)
                if not isinstance(outcome, Lost):
                    await self.recorder.outcome(held, outcome)
                    self.deltas.moved(held.fence.run_id)
            except FenceLost as error:
                outcome = Lost(str(error))
            if isinstance(outcome, Lost):
                await self._lost(held, outcome)
        except asyncio.CancelledError:
            await self._left(held)
        log.info("run.left", leaving=held.leaving and str(held.leaving))

    async def _outcome(self, held: Held) -> Outcome:
        bound = await self.binder.bind(held.claim, held.stored)
        if isinstance(bound, Deferred):
            return bound
        model = self.models(bound.manifest) if isinstance(bound, Bound) else None
        missing = bound.manifest.roles[ROLE].model if isinstance(bound, Bound) and model is None else None
        stopped = await self.gate.stop_at(held, bound, model=missing)
        if stopped is not None:
            return stopped
        if isinstance(bound, Broken):
            return bound
        if model is None:
            return Deferred("model_not_served", missing or "", NOT_SERVED_SECONDS, counts=False)
        task = Task(facts_of(held, bound), held.fence, fresh=held.claim.run.progress == 0)
        try:
            inherited = await self._inheritance(held)
            if inherited is not None:
                return await self._go_on_from(inherited, task, self._ports(held, bound, model))
            return await self.engine.execute(task, self._ports(held, bound, model))
        except FencepostError:
            raise
        except Exception as error:  # a fault of ours in the engine: the run is deferred, and the log says why
            log.exception("engine.failed")
            return Deferred("engine_failed", type(error).__name__)

    async def _inheritance(self, held: Held) -> Inheritance | None:
        """Asked for only where there may be one: a simulation, or a run in a lineage of another's."""
        run = held.claim.run
        if run.mode is RunMode.LIVE and held.claim.root_run_id == run.id:
            return None
        async with self.store.transaction() as tx:
            return await inheritance(tx, run.id)

    async def _go_on_from(self, inherited: Inheritance, task: Task, live: RunPorts) -> Outcome:
        """A fork or a simulation. Questions that the log knows an answer to are answered on the spot."""
        name = inherited.substitutes.get("model")
        ports = InheritingPorts(live, inherited, self.substitute(name) if name else None)
        if not task.fresh:
            await ports.recall()
        reference = inherited.reference_at or task.facts.reference
        task = replace(task, facts=replace(task.facts, reference=reference))
        try:
            outcome = await self.engine.execute(task, ports)
            while isinstance(outcome, Parked) and await ports.answer_to(outcome.question) is not None:
                outcome = await self.engine.execute(replace(task, fresh=False), ports)
        except Diverged as diverged:
            return diverged.ending()
        if ports.simulated and isinstance(outcome, Rerouted):
            return Diverged({"kind": "hand_over", "module": outcome.module}).ending()
        return outcome

    def _ports(self, held: Held, bound: Bound, model: Model) -> RunPorts:
        gateway = self.gateway.of(held.fence, held.claim.traceparent, held.trusted)
        return RunPorts(
            held,
            self.store,
            self.ids,
            self.ledger,
            model,
            bound.manifest,
            gateway,
            self.deltas,
            self.model_timeout_seconds,
            bound.catalog,
            self.models,
        )

    async def _lost(self, held: Held, lost: Lost) -> None:
        """A refused fence: another's run, or one being stopped. The next beat tells, and cancels this.

        Nothing is written or tried again meanwhile.
        """
        log.info("run.fence_refused", detail=lost.detail)
        await asyncio.sleep(self.holding.lease.total_seconds())

    async def _left(self, held: Held) -> None:
        """The execution was cancelled: what follows depends on why."""
        current = asyncio.current_task()
        if held.leaving is None or current is None:
            raise asyncio.CancelledError
        current.uncancel()
        match held.leaving:
            case Leaving.STOP:
                await self.drain(held)
            case Leaving.DRAIN:
                await self.recorder.outcome(held, Deferred("worker_stopping", "", 0.0, counts=False))
            case Leaving.TAKEN:
                log.info("run.taken_away")


def facts_of(held: Held, bound: Bound) -> Facts:
    claim = held.claim
    run = claim.run
    return Facts(
        run_id=run.id,
        module=run.module,
        text=str(claim.input.get("text", "")),
        locale=run.locale,
        zone=run.zone,
        currency=claim.currency,
        reference=claim.created_at,
        definition=bound.definition,
        manifest=bound.manifest,
        catalog=bound.catalog,
        modules=bound.modules,
        rerouted=run.rerouted,
        budget=claim.budget,
        attachments=tuple(str(one) for one in claim.input.get("attachments") or ()),
        ordered=claim.input.get("ordered"),
    )
