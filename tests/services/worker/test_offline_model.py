"""The offline model through the real port: chunked calls that fit the contract of `life`, never a guess."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from fencepost_contracts.loader import load_module
from fencepost_contracts.modules import discover_modules, module_dirs
from fencepost_worker.models.assembler import Assembler
from fencepost_worker.models.control import control_specs
from fencepost_worker.models.guard import check_calls
from fencepost_worker.models.offline import CHUNK, OfflineModel
from fencepost_worker.models.port import (
    Answer,
    Answered,
    Call,
    CallDelta,
    Message,
    ModelContext,
    ModelRequest,
    ToolSpec,
)

REFERENCE = datetime.fromisoformat("2026-11-30T14:00:00+08:00")


@pytest.fixture(scope="module")
def tools() -> tuple[ToolSpec, ...]:
    [folder] = [f for f in discover_modules(module_dirs(None)) if f.name == "life"]
    catalog = load_module(folder).catalog
    specs = tuple(ToolSpec(t.name, t.description, t.input_schema) for t in catalog.tools)
    return (*specs, *control_specs(modules=("companion", "work"), may_hand_over=True))


async def answer(
    text: str,
    tools: tuple[ToolSpec, ...],
    locale: str = "en",
    zone: str | None = "Asia/Shanghai",
    turns: tuple[Message, ...] = (),
    **more: Any,
) -> tuple[Answer, list[Any]]:
    context = ModelContext(
        text=text,
        reference=REFERENCE,
        zone=zone,
        locale=locale,
        currency="CNY",
        module="life",
        modules=("companion", "life", "work"),
        may_hand_over=True,
        **more,
    )
    request = ModelRequest("k", "module", "offline", context, (Message("user", text), *turns), tools)
    assembler, deltas = Assembler(), []
    async for delta in OfflineModel().stream(request):
        deltas.append(delta)
        assembler.feed(delta)
    return assembler.finish(), deltas


@pytest.mark.parametrize(
    ("text", "locale", "tool", "arguments"),
    [
        (
            "明早九点提醒我交周报",
            "zh-CN",
            "life.create_reminder",
            {"title": "交周报", "at": "2026-12-01T09:00:00+08:00"},
        ),
        (
            "paid $1,234.50 for the hotel",
            "en",
            "life.add_ledger_entry",
            {"amount": "1234.50", "currency": "USD", "category": "lodging", "description": "the hotel"},
        ),
        (
            "每周五下午五点提醒我写周报",
            "zh-CN",
            "life.create_reminder",
            {"title": "写周报", "at": "2026-12-04T17:00:00+08:00", "rrule": "FREQ=WEEKLY;BYDAY=FR"},
        ),
        ("这个月花了多少", "zh-CN", "life.summarize_ledger", {"from": "2026-11-01", "to": "2026-11-30"}),
        ("今天有什么安排", "zh-CN", "life.plan_day", {}),
        (
            "把交周报的提醒改到后天上午十点",
            "zh-CN",
            "life.change_reminder",
            {"match": "交周报", "at": "2026-12-02T10:00:00+08:00"},
        ),
        ("取消交周报的提醒", "zh-CN", "life.cancel_reminder", {"match": "交周报"}),
        ("show my reminders", "en", "life.list_reminders", {}),
        (
            "list my ledger this week",
            "en",
            "life.list_ledger_entries",
            {"from": "2026-11-30", "to": "2026-12-06"},
        ),
    ],
)
async def test_a_request_becomes_one_call_that_the_contract_allows(
    tools: tuple[ToolSpec, ...], text: str, locale: str, tool: str, arguments: dict[str, Any]
) -> None:
    made, deltas = await answer(text, tools, locale)
    assert [(c.name, dict(c.arguments)) for c in made.calls] == [(tool, arguments)]
    assert check_calls(made.calls, tools) == []
    pieces = [d.arguments for d in deltas if isinstance(d, CallDelta) and d.arguments]
    assert all(isinstance(piece, str) and len(piece) <= CHUNK for piece in pieces)


async def test_two_actions_of_the_module_are_two_calls(tools: tuple[ToolSpec, ...]) -> None:
    made, _ = await answer("打车35块5，明天九点提醒我开会", tools, "zh-CN")
    assert [c.name for c in made.calls] == ["life.add_ledger_entry", "life.create_reminder"]


async def test_another_modules_part_is_left_undone_and_named(tools: tuple[ToolSpec, ...]) -> None:
    made, _ = await answer("明早九点提醒我交周报，再给张三写封邮件", tools, "zh-CN")
    assert [c.name for c in made.calls] == ["life.create_reminder", "respond"]
    assert made.calls[1].arguments["left_undone"] == ["再给张三写封邮件"]


async def test_a_missing_time_is_asked_for_and_its_answer_completes_the_request(
    tools: tuple[ToolSpec, ...],
) -> None:
    made, _ = await answer("明天提醒我交房租", tools, "zh-CN")
    [call] = made.calls
    assert call.name == "ask"
    assert len(call.arguments["candidates"]) == 3
    assert check_calls(made.calls, tools) == []
    said = Answered("time", call.arguments["question"], call.arguments["candidates"][0]["value"])
    made, _ = await answer("明天提醒我交房租", tools, "zh-CN", answers=(said,))
    assert dict(made.calls[0].arguments) == {"title": "交房租", "at": "2026-12-01T09:00:00+08:00"}


async def test_an_unknown_zone_is_asked_for(tools: tuple[ToolSpec, ...]) -> None:
    made, _ = await answer("remind me tomorrow at 9 to call mom", tools, zone=None)
    assert made.calls[0].arguments["slot"] == "zone"
    said = Answered("zone", "Which?", "Europe/Berlin")
    made, _ = await answer("remind me tomorrow at 9 to call mom", tools, zone=None, answers=(said,))
    assert dict(made.calls[0].arguments) == {
        "title": "call mom",
        "at": "2026-12-01T09:00:00+01:00",
        "zone": "Europe/Berlin",
    }


async def test_anothers_whole_request_is_handed_over(tools: tuple[ToolSpec, ...]) -> None:
    made, _ = await answer("translate this to French: good morning", tools)
    assert [(c.name, dict(c.arguments)) for c in made.calls] == [("hand_over", {"module": "companion"})]


async def test_what_the_rules_do_not_know_is_said_in_words_and_by_name(tools: tuple[ToolSpec, ...]) -> None:
    made, _ = await answer("the theory of relativity in ten volumes", tools)
    [call] = made.calls
    assert call.name == "respond"
    assert "offline model" in call.arguments["text"]


@pytest.mark.parametrize(("text", "locale"), [("delete all my reminders", "en"), ("取消所有提醒", "zh-CN")])
async def test_all_reminders_are_not_cancelled_at_once_and_that_is_said(
    tools: tuple[ToolSpec, ...], text: str, locale: str
) -> None:
    made, _ = await answer(text, tools, locale)
    [call] = made.calls
    assert call.name == "respond"
    assert ("one by one" if locale == "en" else "一条一条") in call.arguments["text"]


@pytest.mark.parametrize(
    ("locale", "said"), [("en", "Nothing was changed: none fits."), ("zh-CN", "没有做任何改动")]
)
async def test_words_that_name_no_reminder_are_said_and_not_tried_again(
    tools: tuple[ToolSpec, ...], locale: str, said: str
) -> None:
    asked = Message("assistant", "", (Call("c", "life.cancel_reminder", {"match": "buy milk"}),))
    reason = {"code": "arguments_invalid", "pointer": "/match", "detail": "none fits"}
    refused = Message("tool", json.dumps({"status": "refused", "reasons": [reason]}), call_id="c")
    made, _ = await answer("cancel my reminder to buy milk", tools, locale, turns=(asked, refused))
    assert [c.name for c in made.calls] == ["respond"]
    assert said in made.calls[0].arguments["text"]
