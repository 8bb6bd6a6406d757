"""Conversation state around calls: who may call what when, and what results write (design 02 §9)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fencepost_domain.state import Change, Operation
from fencepost_store.state import lock_state, present_state, write_state

from tests.support.gateway import REMINDER, Served, code, module_folder, serving
from tests.support.lives import TENANT, Lives

CALLS = 200
CONTRACT = """\
version: "1"
agent_name: probe
allowed_tools:
  - name: probe.review
    description: Review a candidate.
    risk: low
    effect_class: local
    timeout_seconds: 2
    input_schema:
      type: object
      additionalProperties: false
      required: [candidate]
      properties: {candidate: {type: string}}
    output_schema: {type: object, required: [score], properties: {score: {type: integer}}}
    state_writes:
      - {key: step, value: "result.score > 5 ? 'offer' : 'reject'"}
      - {key: candidates, operation: put, member: arguments.candidate, value: "{'score': result.score}"}
      - {key: reviews, operation: increment, value: "1"}
      - {key: notes, operation: append, value: "arguments.candidate", when: "result.score > 90"}
  - name: probe.offer
    description: Send an offer.
    risk: medium
    effect_class: local
    timeout_seconds: 2
    input_schema:
      type: object
      additionalProperties: false
      required: [candidate]
      properties: {candidate: {type: string}}
    output_schema: {type: object}
    state_bindings: {candidate: candidates}
  - name: probe.close
    description: Close the case.
    risk: low
    effect_class: local
    timeout_seconds: 2
    input_schema: {type: object, additionalProperties: false}
    output_schema: {type: object}
    only_when: {condition: "state.reviews >= 2", otherwise: "review two candidates first: probe.review"}
  - name: probe.spoil
    description: Writes what can't be written.
    risk: low
    effect_class: local
    timeout_seconds: 2
    input_schema: {type: object, additionalProperties: false}
    output_schema: {type: object}
    state_writes:
      - {key: step, value: "'spoilt'"}
      - {key: missing, value: "result.nothing"}
  - name: probe.count
    description: Count one.
    risk: low
    effect_class: none
    timeout_seconds: 2
    input_schema: {type: object, additionalProperties: false}
    output_schema: {type: object}
    state_writes: [{key: reviews, operation: increment, value: "1"}]
state_rules:
  - {when: "state.step == 'offer'", tools: [probe.offer], otherwise: "review first: probe.review"}
...
"""
CODE = """\
from fencepost import tool

@tool("probe.review")
async def review(args, ctx):
    return {"score": int(args["candidate"].split("_")[1])}

@tool("probe.offer")
async def offer(args, ctx):
    return {}

@tool("probe.close")
async def close(args, ctx):
    return {}

@tool("probe.spoil")
async def spoil(args, ctx):
    return {}

@tool("probe.count")
async def count(args, ctx):
    return {}
"""


@pytest.fixture
async def probe(lives: Lives) -> AsyncIterator[Served]:
    async with serving(lives, dirs=[module_folder(CONTRACT, CODE)]) as served:
        yield served


async def state_of(served: Served, conversation: Any) -> dict[str, Any]:
    async with served.lives.api.transaction(TENANT) as tx:
        return dict((await present_state(tx, conversation)).values)


async def done(
    served: Served, held: Any, tool: str, arguments: dict[str, Any], index: int = 0
) -> httpx.Response:
    action = await served.prepared(held, tool, arguments, index=index)
    return await served.commit(held, action)


async def test_a_result_writes_the_state_in_its_completing_transaction(probe: Served) -> None:
    held = await probe.bound(module="probe")
    action = await probe.prepared(held, "probe.review", {"candidate": "cand_9"})
    assert await state_of(probe, held.run.conversation_id) == {}  # prepare writes nothing
    assert (await probe.commit(held, action)).status_code == 200
    wanted = {"step": "offer", "candidates": {"cand_9": {"score": 9}}, "reviews": 1}
    assert await state_of(probe, held.run.conversation_id) == wanted
    again = await probe.commit(held, action)
    assert again.json()["replayed"] and await state_of(probe, held.run.conversation_id) == wanted
    [told] = await probe.lives.sql(
        "SELECT convert_from(p.payload, 'UTF8')::jsonb -> 'changes' AS changes FROM agent.run_events e"
        " JOIN agent.run_event_payloads p USING (run_id, seq) WHERE e.type = 'state.changed'"
    )
    changes = told["changes"]
    assert [(one["seq"], one["key"]) for one in changes] == [(1, "step"), (2, "candidates"), (3, "reviews")]
    rows = await probe.lives.sql("SELECT event_id, run_id, source FROM agent.state_events ORDER BY seq")
    assert [str(row["event_id"]) for row in rows] == [one["event_id"] for one in changes]
    assert {(row["run_id"], row["source"]) for row in rows} == {(held.run.id, "tool:probe.review")}
    assert await probe.lives.violations() == []


async def test_a_write_that_cannot_be_made_undoes_a_local_call(probe: Served) -> None:
    held = await probe.bound(module="probe")
    answer = (await done(probe, held, "probe.spoil", {})).json()
    assert (answer["state"], answer["error"]["code"]) == ("failed", "state_refused")
    assert await state_of(probe, held.run.conversation_id) == {}
    assert await probe.lives.violations() == []


async def test_a_rule_switches_a_tool_on_and_says_the_way_there(probe: Served) -> None:
    held = await probe.bound(module="probe")
    [off] = (await probe.prepare(held, "probe.offer", {"candidate": "cand_9"})).json()["refusals"]
    assert off["code"] == "state_binding" and "probe.review" in off["detail"]
    await done(probe, held, "probe.review", {"candidate": "cand_9"})
    [other] = (await probe.prepare(held, "probe.offer", {"candidate": "cand_3"}, index=1)).json()["refusals"]
    assert (other["code"], other["pointer"]) == ("state_binding", "/candidate")
    assert (await probe.prepare(held, "probe.offer", {"candidate": "cand_9"}, index=1)).status_code == 200


async def test_a_tool_is_called_only_in_its_state(probe: Served) -> None:
    held = await probe.bound(module="probe")
    [first] = (await probe.prepare(held, "probe.close", {})).json()["refusals"]
    assert first["code"] == "state_binding" and "review two candidates first" in first["detail"]
    for index in (0, 1):
        await done(probe, held, "probe.review", {"candidate": f"cand_{index}"}, index=index)
    assert (await done(probe, held, "probe.close", {}, index=2)).status_code == 200


async def test_what_was_approved_is_not_done_when_its_state_is_gone(probe: Served) -> None:
    """The state is judged again at commit, under its lock; prepared anew the model hears the way out."""
    held = await probe.bound(module="probe")
    await done(probe, held, "probe.review", {"candidate": "cand_9"})
    action = await probe.prepared(held, "probe.offer", {"candidate": "cand_9"}, index=1)
    await probe.decided(await probe.asked(held, [action]), {"decision": "approve"})
    again = await probe.again(held.run.id, module="probe")
    async with probe.lives.gateway.transaction(TENANT) as tx:
        head = await lock_state(tx, held.run.conversation_id, TENANT)
        change = Change("step", Operation.SET, "closed")
        await write_state(tx, head, [change], source="test", run_id=None, trace_id=None)
    refused = await probe.commit(again, action)
    assert (refused.status_code, code(refused)) == (409, "precondition_changed")
    [effects] = await probe.lives.sql("SELECT count(*) AS n FROM agent.effects WHERE tool = 'probe.offer'")
    assert effects["n"] == 0


async def test_200_calls_at_once_of_one_conversation_lose_no_update(probe: Served) -> None:
    """Each a run of its own in one conversation, all committed at once over HTTP."""
    conversation = probe.lives.ids.uuid7()
    held = []
    for _ in range(CALLS):
        one = await probe.bound(module="probe", conversation_id=conversation)
        await probe.lives.sql("UPDATE agent.conversations SET holder_run_id = NULL")
        held.append(one)
    actions = [await probe.prepared(one, "probe.count", {}) for one in held]

    async def commit(place: int) -> None:
        for _ in range(20):  # a busy database is asked again under the same key, as the worker does
            answer = await probe.commit(held[place], actions[place])
            if answer.status_code != 503:
                assert answer.status_code == 200, answer.text
                return
        raise AssertionError("busy all the time")

    await asyncio.gather(*(commit(place) for place in range(CALLS)))
    assert (await state_of(probe, conversation))["reviews"] == CALLS
    rows = await probe.lives.sql("SELECT seq, new_value FROM agent.state_events ORDER BY seq")
    assert [(row["seq"], row["new_value"]) for row in rows] == [(n, n) for n in range(1, CALLS + 1)]
    await probe.lives.sql(
        "UPDATE agent.conversations SET holder_run_id = %s WHERE id = %s", held[0].run.id, conversation
    )
    state_faults = [v for v in await probe.lives.violations() if "state" in v.check]
    assert state_faults == []


async def test_the_life_module_remembers_its_last_reminder(served: Served) -> None:
    held, action = await served.ready("life.create_reminder", REMINDER)
    assert (await served.commit(held, action)).status_code == 200
    state = await state_of(served, held.run.conversation_id)
    assert state["last_reminder"]["title"] == REMINDER["title"]


async def test_a_refused_contract_keeps_the_old_one_and_is_told(probe: Served) -> None:
    """CP-4: the gateway goes on with what was in force; readiness says which file, line and key."""
    before = probe.catalogs.now("probe").fingerprint
    folder = next(m.folder for m in probe.catalogs._modules.values() if m.folder.name == "probe")
    text = folder.contract.read_text()
    folder.contract.write_text(text.replace("state.step == 'offer'", "stat.step == 'offer'"))
    assert await probe.catalogs.reload(probe.lives.gateway) == 0
    ready = (await probe.client.get("/readyz")).json()
    assert ready["status"] == "degraded"
    [why] = ready["contracts_refused"]["probe"]
    assert "state_rules.0.when" in why and "stat" in why
    assert probe.catalogs.now("probe").fingerprint == before
    folder.contract.write_text(text.replace("state.reviews >= 2", "state.reviews >= 1"))
    assert await probe.catalogs.reload(probe.lives.gateway) == 1
    assert (await probe.client.get("/readyz")).json()["status"] == "ok"
    assert probe.catalogs.now("probe").fingerprint != before
