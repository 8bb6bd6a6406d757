"""One worker for a file's tests, each a scene of one run: what a model says, what the gateway answers.

`acting` puts one tool into either mode, so that a scene of the nodes that act is played in both.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from fencepost_contracts.loader import load_contract
from fencepost_contracts.modules import ModuleFolder
from fencepost_domain.vocabulary import EffectClass, Risk
from fencepost_domain.waits import decide_wake
from fencepost_store.interrupts import expire, lock_interrupt
from fencepost_store.record import record
from fencepost_store.runs import lock_run

from tests.services.worker.agentic import MAKE, PLAN, READ, composed, make_tool, read_tool, records
from tests.services.worker.bench import Bench
from tests.support.scripted_gateway import LIFE_TOOLS, life_catalog, tool
from tests.support.scripted_roles import ScriptedRoles

NOTE: Final = "life.note_down"  # done at once
SEND: Final = "life.send_note"  # asks first
TASK: Final = (202, {"state": "in_progress", "retry_after_seconds": 0.0, "is_task": True})
CATALOG: Final = life_catalog(
    "stage",
    (
        *LIFE_TOOLS,
        read_tool(),
        make_tool(),
        tool(NOTE, Risk.LOW, EffectClass.LOCAL, ["title"]),
        tool(SEND, Risk.MEDIUM, EffectClass.LOCAL, ["title"]),
    ),
)
_FOLDER: Final = Path(__file__).parents[3] / "modules" / "work"
_, WORK = load_contract(ModuleFolder("work", _FOLDER, _FOLDER / "contract.yaml", None))
WORKER: Final[dict[str, Any]] = {
    "lease_seconds": 5.0,
    "beat_seconds": 0.5,
    "worker_modules": ("life", "work", "companion"),
}


def step(name: str, called: str | None, *needs: str, **more: Any) -> dict[str, Any]:
    """A step of a plan, as its planner says it."""
    tool_of = {"tool": called} if called is not None else {}
    return {"id": name, "title": name, **tool_of, "needs": list(needs), "observable": name, **more}


def plan_of(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"objective": "what was asked", "steps": list(steps), "success_criteria": ["it is done"]}


def call_of(**arguments: Any) -> dict[str, Any]:
    """What a composer answers with."""
    return {"arguments": arguments, "used_locators": []}


def unknown_outcome(attempts: int = 1) -> tuple[int, dict[str, Any]]:
    """The gateway's 409 where only a person can say what became of an effect."""
    effect = {"effect_key": "k", "run_id": "r", "state": "needs_human", "attempts": attempts}
    return 409, {"status": 409, "code": "reconcile", "detail": "nobody knows", "effect": effect}


def refused(code: str = "arguments_invalid", called: str = NOTE, index: int = 0) -> tuple[int, Any]:
    """The gateway's 422 for one call."""
    one = {"index": index, "code": code, "tool": called, "pointer": "/title", "detail": "not so"}
    return 422, {"status": 422, "code": "calls_refused", "detail": "", "refusals": [one]}


@dataclass(slots=True)
class Stage:
    bench: Bench
    roles: ScriptedRoles = field(default_factory=lambda: ScriptedRoles(module=[]))

    def clear(self) -> None:
        gateway = self.bench.gateway
        for log in (gateway.prepared, gateway.committed, gateway.prepare_script, gateway.commit_script):
            log.clear()  # type: ignore[attr-defined]
        gateway.effects.clear()
        gateway.stands.clear()
        gateway.results.clear()
        gateway.results.update({READ: {"records": records(3)}, MAKE: {"text": "The report is made."}})
        gateway.catalog = CATALOG
        self.bench.model.requests.clear()

    def plays(self, **script: Any) -> ScriptedRoles:
        """The roles' answers; what isn't said is the usual report: read, then make."""
        usual: dict[str, Any] = {
            "module": [(MAKE, {"objective": "a report"})],
            "planner": [PLAN],
            "composer": [composed],
        }
        self.roles = ScriptedRoles(**{**usual, **script})
        self.bench.model.script = self.roles  # type: ignore[assignment]
        return self.roles

    def acting(self, mode: str, called: str = NOTE, **script: Any) -> ScriptedRoles:
        """One tool, as the module's own call or as the only step of a plan."""
        if mode == "single_action":
            return self.plays(**{"module": [(called, {"title": "one"})], **script})
        alone = {"planner": [plan_of(step("go", called))], "composer": [call_of(title="one")]}
        return self.plays(**{**alone, **script})

    async def begins(self, text: str = "please do it", **more: Any) -> UUID:
        return await self.bench.runs.queued(text, **more)

    async def ends(self, text: str = "please do it", **more: Any) -> tuple[str, str, str | None]:
        """Status, reason and code of a run of these words."""
        return await self.ending(await self.begins(text, **more))

    async def ending(self, run_id: UUID) -> tuple[str, str, str | None]:
        await self.bench.ended(run_id)
        ((status, reason, code),) = await self.bench.runs.fetch(
            "SELECT status, reason, code FROM agent.finalizations WHERE run_id = %s", run_id
        )
        return status, reason, code

    async def answers(self, run_id: UUID, resolution: Mapping[str, Any], kind: str = "approval") -> UUID:
        """A person's answer to what the run asks next."""
        asked = await self.bench.asked(run_id)
        assert asked["kind"] == kind, asked
        await self.bench.resolve(run_id, asked["id"], resolution)
        return UUID(str(asked["id"]))

    async def lets_it_expire(self, run_id: UUID) -> None:
        """As the reconciler's sweep does when the time to answer is over."""
        asked = await self.bench.asked(run_id)
        await self.bench.runs.run(
            "UPDATE agent.interrupts SET expires_at = clock_timestamp() WHERE id = %s", asked["id"]
        )
        async with self.bench.reconciler() as store, store.transaction() as tx:
            locked = await lock_run(tx, run_id)
            interrupt, _ = await lock_interrupt(tx, asked["id"])
            assert await expire(tx, locked.run, locked.now, interrupt) is not None

    async def task_ends(self, run_id: UUID) -> None:
        """The run waits for a tool; its task's end wakes it, as the reconciler does."""
        await self.bench.reaches(run_id, "waiting")
        ((on,),) = await self.bench.runs.fetch("SELECT waiting_on FROM agent.runs WHERE id = %s", run_id)
        assert on == "tool"
        async with self.bench.reconciler() as store, store.transaction() as tx:
            locked = await lock_run(tx, run_id)
            decision = decide_wake(locked.run, tx.ids.uuid7(), cause="tool_over", now=locked.now)
            assert decision is not None
            await record(tx, locked.run, decision)

    async def said(self, run_id: UUID) -> str:
        """The run's one final message."""
        (message,) = await self.bench.final_messages(run_id)
        return message

    async def moves(self, run_id: UUID) -> list[tuple[str, str]]:
        """(step, status) as the plan moved."""
        rows = await self.bench.runs.fetch(
            "SELECT convert_from(p.payload, 'UTF8')::jsonb FROM agent.run_events e"
            " JOIN agent.run_event_payloads p USING (run_id, seq)"
            " WHERE e.run_id = %s AND e.type = 'plan.advanced' ORDER BY e.seq",
            run_id,
        )
        return [(row["step"], row["status"]) for (row,) in rows]


@asynccontextmanager
async def opened(bench: Bench) -> AsyncIterator[Stage]:
    await bench.runs.run("UPDATE agent.catalogs SET revoked_at = clock_timestamp()")
    bench.gateway.catalog = CATALOG
    await bench.publish(CATALOG)
    await bench.publish(WORK)
    await bench.publish(life_catalog("stage", (), module="companion"))
    async with bench.working(**WORKER):
        yield Stage(bench)
