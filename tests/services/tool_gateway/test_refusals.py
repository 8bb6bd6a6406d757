"""Which calls are refused, and how it is told (I14, CP-1); one bad call refuses all."""

import json
from typing import Any

from fencepost_domain.state import Change, Operation
from fencepost_domain.vocabulary import EffectClass
from fencepost_store.claims import Claim
from fencepost_store.state import lock_state, write_state

from tests.support.gateway import ENTRY, REMINDER, Served, code, module_folder, serving
from tests.support.lives import Lives

CREATE, ADD = "life.create_reminder", "life.add_ledger_entry"


async def refused(served: Served, held: Claim, tool: str, raw: str) -> list[dict[str, Any]]:
    """The refusals of one call whose arguments are `raw`; nothing was prepared, and the run's log says so."""
    told = await served.lives.event_types(held.run.id)
    name = json.dumps(tool)
    body = f'{{"calls": [{{"index": 0, "n": 1, "tool": {name}, "arguments": {raw}}}]}}'
    answer = await served.post("prepare", held.fence, body.encode())
    assert (answer.status_code, code(answer)) == (422, "calls_refused"), (raw, answer.text)
    assert await served.count("agent.actions") == 0
    types = await served.lives.event_types(held.run.id)
    assert set(types[len(told) :]) == {"tool.refused"}
    return list(answer.json()["refusals"])


NAMES = (
    "life.create_reminders",
    "life.сreate_reminder",  # Cyrillic
    "Life.create_reminder",
    "life.create_reminder ",
    "life.create_reminder\u200b",
    "ｌife.create_reminder",
    "1ife.create_reminder",
    "companion.chat",
    "work.draft_email",
    "create_reminder",
    "life.",
    "../life.create_reminder",
)


async def test_i14_only_exact_names_of_the_modules_catalog_are_called(served: Served) -> None:
    held = await served.bound()
    for name in NAMES:
        [refusal] = await refused(served, held, name, json.dumps(REMINDER))
        assert refusal["code"] == "tool_not_allowed" and CREATE in refusal["allowed"], name
    alike = await refused(served, held, NAMES[1], json.dumps(REMINDER))
    assert "looks like" in alike[0]["detail"]


async def test_i14_identity_in_arguments_is_refused_by_name(served: Served) -> None:
    held = await served.bound()
    for key in ("tenant_id", "user_id", "userId", "ROLE", "ｔｅｎａｎｔ", "conversation_id", "usеr"):
        found = await refused(served, held, CREATE, json.dumps({**REMINDER, key: "x"}))
        assert [(one["code"], one["pointer"]) for one in found] == [("identity_argument", f"/{key}")]


BAD_ENTRIES = (
    ('{"amount": NaN}', "/amount"),
    ('{"amount": 1e999}', "/amount"),
    ('{"amount": Infinity}', "/amount"),
    ('{"amount": "1", "amount": "1000"}', "/amount"),
    ('{"amount": "12", "description": "\\ud800"}', "/description"),
    ('{"amount": "12", "description": "\\u0000"}', "/description"),
    ('{"amount": 12}', "/amount"),
    ('{"amount": "1e3"}', "/amount"),
    ('{"amount": "-5"}', "/amount"),
    ('{"amount": "0"}', "/amount"),
    ('{"amount": "12", "currency": "usd"}', "/currency"),
    ('{"amount": "12", "currency": "XYZ"}', "/currency"),
    ('{"amount": "12", "date": "2026-02-30"}', "/date"),
    ('{"amount": "12", "kind": "loan"}', "/kind"),
    ('{"amount": "12", "note": "x"}', "/note"),
    ("{}", "/amount"),
    ('{"amount": "12", "category": "  "}', "/category"),
)


async def test_cp1_bad_arguments_are_refused_with_the_field_named(served: Served) -> None:
    held = await served.bound()
    for raw, place in BAD_ENTRIES:
        found = await refused(served, held, ADD, raw)
        assert (found[0]["code"], found[0]["pointer"]) == ("arguments_invalid", place), raw


BAD_REMINDERS = (
    ({"at": "not a date"}, "/at"),
    ({"at": "2026-02-30T09:00:00Z"}, "/at"),
    ({"at": "2031-03-05T09:00:00"}, "/at"),
    ({"at": "2020-03-05T09:00:00Z"}, "/at"),
    ({"at": "2931-03-05T09:00:00Z"}, "/at"),
    ({"title": " \t "}, "/title"),
    ({"title": "x" * 201}, "/title"),
    ({"zone": "Mars/Olympus"}, "/zone"),
    ({"zone": "../../etc/passwd"}, "/zone"),
    ({"rrule": "FREQ=SECONDLY"}, "/rrule"),
    ({"rrule": "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"}, "/rrule"),
    ({"rrule": "FREQ=DAILY\nDTSTART:20200101"}, "/rrule"),
)


async def test_reminders_times_are_read_strictly(served: Served) -> None:
    held = await served.bound()
    for change, place in BAD_REMINDERS:
        found = await refused(served, held, CREATE, json.dumps({**REMINDER, **change}))
        assert (found[0]["code"], found[0]["pointer"]) == ("arguments_invalid", place), change


async def test_one_bad_call_refuses_all_and_each_bad_one_is_named(served: Served) -> None:
    held = await served.bound()
    calls = [
        {"index": 0, "n": 1, "tool": CREATE, "arguments": REMINDER},
        {"index": 1, "n": 1, "tool": "life.fly", "arguments": {}},
        {"index": 2, "n": 1, "tool": ADD, "arguments": {**ENTRY, "amount": "x", "tenant": "y"}},
    ]
    answer = await served.post("prepare", held.fence, {"calls": calls})
    found = answer.json()["refusals"]
    told = [(one["index"], one["code"]) for one in found]
    assert told == [(1, "tool_not_allowed"), (2, "identity_argument")]
    assert await served.count("agent.actions") == 0


async def test_a_run_without_a_known_zone_asks_for_one(served: Served) -> None:
    held = await served.bound()
    await served.lives.sql("UPDATE agent.runs SET zone = NULL WHERE id = %s", held.run.id)
    answer = await served.prepare(held, CREATE, REMINDER)
    [refusal] = answer.json()["refusals"]
    assert refusal["pointer"] == "/zone" and "ask" in refusal["detail"]


async def test_i27_another_modules_run_may_not_call_this_modules_tools(served: Served) -> None:
    held = await served.bound(module="companion")
    answer = await served.prepare(held, CREATE, REMINDER)
    [refusal] = answer.json()["refusals"]
    assert refusal["code"] == "tool_not_allowed" and refusal["allowed"] == []


BOUND = """\
version: "1"
agent_name: probe
allowed_tools:
  - name: probe.greet
    description: Greet in the conversation's city.
    risk: low
    effect_class: none
    input_schema: {type: object, additionalProperties: false, properties: {city: {type: string}}}
    output_schema: {type: object}
    state_bindings: {city: city}
  - name: probe.audit
    description: For some only.
    risk: low
    effect_class: none
    roles: [operator, admin]
    input_schema: {type: object, additionalProperties: false}
    output_schema: {type: object}
  - name: probe.send
    description: Send something outside.
    risk: high
    effect_class: external_opaque
    input_schema: {type: object, additionalProperties: false}
    output_schema: {type: object}
...
"""
GREET = """\
from fencepost import tool

@tool("probe.greet")
async def greet(args, ctx):
    return {"said": args["city"]}

@tool("probe.audit")
async def audit(args, ctx):
    return {}
"""


async def test_arguments_bound_to_state_have_to_be_the_conversations(lives: Lives) -> None:
    async with serving(lives, dirs=[module_folder(BOUND, GREET)]) as served:
        held = await served.bound(module="probe")
        [missing] = (await served.prepare(held, "probe.greet", {"city": "Rome"})).json()["refusals"]
        assert (missing["code"], missing["pointer"]) == ("state_binding", "/city")
        for city in ("Oslo", "Rome"):
            async with lives.gateway.transaction(held.run.tenant_id) as tx:
                head = await lock_state(tx, held.run.conversation_id, held.run.tenant_id)
                await write_state(
                    tx, head, [Change("city", Operation.SET, city)], source="test", run_id=None, trace_id=None
                )
        [other] = (await served.prepare(held, "probe.greet", {"city": "Oslo"})).json()["refusals"]
        assert other["code"] == "state_binding"
        assert (await served.prepare(held, "probe.greet", {"city": "Rome"})).status_code == 200


async def test_an_effect_class_without_executor_is_refused_at_prepare(lives: Lives) -> None:
    async with serving(lives, dirs=[module_folder(BOUND, GREET)]) as served:
        tool = served.catalogs.now("probe").tool("probe.send")
        assert tool is not None and tool.effect_class is EffectClass.EXTERNAL_OPAQUE
        held = await served.bound(module="probe")
        [refusal] = (await served.prepare(held, "probe.send", {})).json()["refusals"]
        assert refusal["code"] == "effect_class_not_available"


async def test_a_tool_for_some_roles_is_refused_to_others(lives: Lives) -> None:
    async with serving(lives, dirs=[module_folder(BOUND, GREET)]) as served:
        held = await served.bound(module="probe")
        [refusal] = (await served.prepare(held, "probe.audit", {})).json()["refusals"]
        assert (refusal["code"], refusal["detail"]) == (
            "tool_not_allowed",
            "this needs the role operator or admin",
        )
        await lives.sql("UPDATE agent.principals SET roles = '{user,admin}'")  # the rights of today
        assert (await served.prepare(held, "probe.audit", {})).status_code == 200
