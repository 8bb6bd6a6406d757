"""Simulations with substitutes on the real worker, by the provider's and the gateway's own logs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
from fencepost_contracts.evidence.trajectory import READ, difference, trajectory
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.vocabulary import Ev, RunMode
from fencepost_store.event_log import log_of
from fencepost_store.lineage import create_derived, source_run
from fencepost_store.record import record
from fencepost_store.runs import NewRun, Origin, lock_run

from tests.services.worker.agentic import planned
from tests.services.worker.bench import Bench, benches
from tests.support.postgres import Database
from tests.support.scripted_gateway import ScriptedGateway
from tests.support.scripted_model import text_answer, tool_answer
from tests.support.worker_runs import TENANT, USER

REMIND = {"title": "report", "at": "2026-12-01T09:00:00+08:00"}
PREPARED = ("index", "n", "tool", "arguments", "risk", "effect_class", "approval", "status")
LATER = {"title": "report", "at": "2026-12-02T10:00:00+08:00"}


@pytest.fixture
async def bench(database: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    """The gateway tells the log, as the real one does: simulations live on what it says."""
    handle = ScriptedGateway.handle
    async with benches(database) as one:

        async def told(gateway: Any, path: str, headers: dict[str, str], body: bytes) -> Any:
            answer = await handle(gateway, path, headers, body)
            assert answer is not None
            run_id = UUID(headers["fencepost-fence"].partition("/")[0])
            await _append(one, run_id, _events(gateway, path, json.loads(body), answer[1]))
            return answer

        monkeypatch.setattr(ScriptedGateway, "handle", told)
        yield one


def _events(gateway: Any, path: str, request: Any, answer: Any) -> list[tuple[Ev, dict[str, Any]]]:
    if path.endswith("/prepare"):
        return [(Ev.ACTION_PREPARED, {name: a[name] for name in PREPARED}) for a in answer["actions"]]
    place = {name: request[name] for name in ("index", "n")}
    tool = next(
        call["tool"]
        for prepared in gateway.prepared
        for call in prepared["calls"]
        if {name: call[name] for name in place} == place
    )
    done = {**place, "tool": tool, "attempt": 1}
    return [(Ev.ACTION_STARTED, done), (Ev.ACTION_COMMITTED, {**done, "result": answer["result"]})]


async def _append(bench: Bench, run_id: UUID, told: list[tuple[Ev, dict[str, Any]]]) -> None:
    events = tuple(NewEvent(bench.runs.ids.uuid7(), kind, payload, "gateway") for kind, payload in told)
    async with bench.runs.api.transaction(TENANT) as tx:
        await record(tx, (await lock_run(tx, run_id)).run, Decision(None, events=events))


async def simulated(bench: Bench, run_id: UUID, **substitutes: str) -> tuple[str, dict[str, Any]]:
    """How a simulation of a run ended, and the difference of the two paths."""
    new_id = bench.runs.ids.uuid7()
    async with bench.runs.api.transaction(TENANT) as tx:
        source = await source_run(tx, run_id, USER)
        bound = (source["graph_version"], source["manifest_fp"], source["catalog_fp"])
        told = {**substitutes, "history_of": str(run_id)}
        origin = Origin(
            "simulation", run_id, substitutes=told, reference_at=source["reference_at"], bound=bound
        )
        new = NewRun(
            id=new_id, tenant_id=TENANT, user_id=USER, roles=("user",), module=source["module"],
            conversation_id=bench.runs.ids.uuid7(), input=source["input"], locale=source["locale"],
            zone=source["zone"], currency=source["currency"], route="POST simulations",
            idempotency_key=str(new_id), request_hash="0" * 64, mode=RunMode.SIMULATION, origin=origin,
        )  # fmt: skip
        await create_derived(tx, new)
    status = await bench.ended(new_id)
    async with bench.runs.api.transaction(TENANT) as tx:
        paths = [trajectory(await log_of(tx, one, 10_000, only=READ)) for one in (run_id, new_id)]
    # An ending's words are made of previews, which this gateway doesn't store; tests/e2e compares those too.
    return status, difference(*([s for s in path if s["step"] != "message"] for path in paths))


def wanted(found: dict[str, Any]) -> Any:
    """What a diverged simulation looked for."""
    [told] = [s for c in found["changes"] for s in c["after"] if s["step"] == "diverged"]
    return told["wanted"]


async def reminded(bench: Bench) -> UUID:
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    run_id = await bench.runs.queued("remind me")
    asked = await bench.asked(run_id)
    await bench.resolve(run_id, asked["id"], {"decision": "approve"})
    assert await bench.ended(run_id) == "succeeded"
    return run_id


async def test_only_a_substituted_model_is_asked_and_nothing_is_ever_done(bench: Bench) -> None:
    async with bench.working():
        run_id = await reminded(bench)
        before = (len(bench.gateway.prepared), len(bench.gateway.committed), dict(bench.gateway.effects))
        assert len(bench.model.requests) == 1

        status, found = await simulated(bench, run_id)
        assert (status, found["changes"]) == ("succeeded", [])
        assert len(bench.model.requests) == 1, "on frozen results nobody is asked"

        bench.model.answer(tool_answer("life.create_reminder", REMIND))
        status, found = await simulated(bench, run_id, model="scripted-2")
        assert (status, found["same"]) == ("succeeded", True)
        assert [r["model"] for r in bench.model.requests] == ["scripted", "scripted-2"]

        bench.model.answer(tool_answer("life.create_reminder", LATER))
        status, found = await simulated(bench, run_id, model="scripted-2")
        assert (status, found["first"]) == ("blocked", 0)
        assert wanted(found)["tool"] == "life.create_reminder", "other arguments have no frozen result"
        assert wanted(found)["arguments"]["at"] == LATER["at"]

        bench.model.answer(text_answer("I would rather not."))
        status, found = await simulated(bench, run_id, prompt="Refuse whatever you are asked.")
        assert not found["same"]
        first = bench.model.requests[-1]["messages"][0]
        assert (first["role"], first["content"]) == ("system", "Refuse whatever you are asked.")
        assert bench.model.requests[-1]["model"] == "scripted"
    now = (len(bench.gateway.prepared), len(bench.gateway.committed), dict(bench.gateway.effects))
    assert now == before, "the gateway was never called"
    assert await bench.violations() == []


async def test_another_prompt_is_the_modules_and_other_roles_answer_from_the_log(bench: Bench) -> None:
    """An agentic run: planner and composer are asked nothing while their questions stay the same."""
    roles = await planned(bench)
    async with bench.working():
        run_id = await bench.runs.queued("make a report")
        assert await bench.ended(run_id) == "succeeded"
        asked = len(bench.model.requests)
        effects = dict(bench.gateway.effects)
        assert asked >= 3, "module, planner, composer"

        status, found = await simulated(bench, run_id)
        assert (status, found["same"], len(bench.model.requests)) == ("succeeded", True, asked)

        roles.module = [("life.make_report", {"objective": "a report"})]
        status, found = await simulated(bench, run_id, prompt="You write reports.")
        assert (status, found["same"]) == ("succeeded", True), found["changes"]
        prompts = [json.dumps(r["messages"][0]) for r in bench.model.requests[asked:]]
        assert len(prompts) == 1 and "You write reports." in prompts[0]
    assert bench.gateway.effects == effects
    assert await bench.violations() == []
