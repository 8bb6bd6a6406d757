# ruff: noqa: E501 - strange words stand as they are
"""Requests nobody thought of: mutated at random from good ones (seeded), never a 500, never half a run."""

from __future__ import annotations

import asyncio
import copy
import json
import random
from typing import Any, Final

import pytest
from fencepost_contracts.http_views import Problem

from tests.support.api import Served, a_key
from tests.support.lives import Lives

SEED: Final = 20_261_130
GOOD: Final[dict[str, Any]] = {
    "module": "life",
    "conversation_id": "01970000-0000-7000-8000-000000000001",
    "on_busy": "enqueue",
    "input": {"text": "明早九点提醒我交周报", "locale": "zh-CN", "zone": "Asia/Shanghai", "attachments": []},
    "metadata": {"job": "7"},
    "deadline_seconds": 60,
    "budget": {"model_calls": 3, "cost": "0.10"},
}
STRANGE: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1.5, 1e308, 2**53, 2**70, "", " ", "\x00", "\ud800", "\udc00", "é", "e\u0301", "\u202e",
    "👩‍👩‍👧‍👦", "a" * 40_000, "../..", "'; DROP TABLE agent.runs; --", "%s%n", "{{7*7}}", "${jndi:ldap://x}", "\r\nX: y",
    "null", "NaN", "01970000-0000-7000-8000-000000000001", "00000000-0000-0000-0000-000000000000", [], [[]], {},
    {"": ""}, {"a": {"b": {"c": []}}}, ["x"] * 300, {str(n): n for n in range(300)},
)  # fmt: skip
WORDS: Final = [
    "明早",
    "今晚",
    "后天",
    "下下周三",
    "月底",
    "大年初一",
    "九点",
    "半",
    "刻",
    "三十五块五",
    "一万二",
    "¥1,234.50",
    "-5",
    "0",
    "元",
    "每周五",
    "工作日",
    "提醒我",
    "别忘了",
    "记一笔",
    "打车",
    "翻译",
    "tomorrow",
    "next",
    "Friday",
    "at",
    "25:61",
    "noon",
    "31",
    "February",
    "9999",
    "in",
    "1e9",
    "years",
    "every",
    "0",
    "days",
    "remind",
    "me",
    "to",
    "paid",
    "$",
    "12.345,67",
    "EUR",
    "don't",
    "\u2028",
    "�",
    "😀",
    "0x41",
    "١٢٣",
    "Ⅻ",
    "½",
    "十百千万亿兆",
    "\u200b",
]


NAMES: Final = ("x", "input", "text", "__class__", "a/b", "\x00", "note")


def strange(dice: random.Random) -> Any:
    return copy.deepcopy(dice.choice(STRANGE))


def mutated(dice: random.Random) -> Any:
    """A good request with one to three strange places."""
    body = copy.deepcopy(GOOD)
    for _ in range(dice.randint(1, 3)):
        holder: Any = body
        while True:
            key = dice.choice(list(holder)) if holder else None
            if key is None or not isinstance(holder[key], dict) or dice.random() < 0.4:
                break
            holder = holder[key]
        match dice.randint(0, 3):
            case 0 if key is not None:
                del holder[key]
            case 1:
                holder[dice.choice(NAMES)] = strange(dice)
            case _ if key is not None:
                holder[key] = strange(dice)
    return body


def spoilt(dice: random.Random, body: bytes) -> bytes:
    """Some bytes lost, doubled or changed."""
    if dice.random() < 0.7 or not body:
        return body
    at = dice.randrange(len(body))
    return dice.choice(
        (body[:at], body[at:], body[:at] + body, body[:at] + bytes([dice.randrange(256)]) + body[at + 1 :])
    )


async def test_mutated_requests_are_taken_or_refused(served: Served, lives: Lives) -> None:
    dice = random.Random(SEED)
    ann = served.as_()
    made: set[str] = set()
    for _ in range(150):
        body = spoilt(dice, json.dumps(mutated(dice)).encode())
        headers = {**a_key(), "Content-Type": "application/json"}
        answer = await ann.post("/v1/runs", content=body, headers=headers)
        assert answer.status_code < 500, body
        if answer.status_code == 201:
            made.add(answer.json()["id"])
        else:
            assert Problem.model_validate(answer.json()).code, body
    assert made
    rows = await lives.sql("SELECT id FROM agent.runs")
    assert {str(row["id"]) for row in rows} == made
    assert await lives.violations() == []


async def test_mutated_decisions_are_taken_or_refused(served: Served, lives: Lives) -> None:
    dice = random.Random(SEED + 1)
    _, interrupt = await lives.waiting()
    names = (
        "decision",
        "decisions",
        "arguments",
        "note",
        "remember",
        "choice",
        "value",
        "text",
        "index",
        "x",
    )
    for _ in range(80):
        body: Any = {dice.choice(names): strange(dice) for _ in range(dice.randint(0, 3))}
        if dice.random() < 0.3:
            body = {"decisions": [body, *([body] if dice.random() < 0.3 else [])]}
        answer = await served.as_().post(
            f"/v1/interrupts/{interrupt}/resolution",
            content=json.dumps(body).encode(),
            headers={**a_key(), "Content-Type": "application/json"},
        )
        assert answer.status_code == 422 or answer.status_code == 400, (body, answer.text)
    [row] = await lives.sql("SELECT status FROM agent.interrupts WHERE id = %s", interrupt)
    assert row["status"] == "open"


@pytest.mark.parametrize(
    "path",
    ["/v1/runs", "/v1/interrupts", "/v1/approvals", "/v1/conversations", "/v1/reminders", "/v1/ledger-entries",
     "/v1/ledger-entries/summary", "/v1/modules", "/v1/settings", "/v1/feed"],
)  # fmt: skip
async def test_strange_queries_are_answered_or_refused(served: Served, path: str) -> None:
    dice = random.Random(SEED + 2)
    ann = served.as_()
    names = ("limit", "cursor", "status", "user", "module", "from", "to", "kind", "conversation_id",
             "created_after", "metadata.a", "category", "currency", "after", "ticket", "\x00")  # fmt: skip
    values = [str(value)[:1_000].encode("utf-8", "replace").decode() for value in STRANGE] + [
        "2026-03-04", "2026-03-04T10:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "\x00",
    ]  # fmt: skip
    for _ in range(25):
        asked = {dice.choice(names): dice.choice(values) for _ in range(dice.randint(1, 3))}
        async with ann.stream("GET", path, params=asked) as answer:
            assert answer.status_code in (200, 401, 414, 422), asked


async def test_the_rules_layer_reads_any_words(served: Served) -> None:
    dice = random.Random(SEED + 3)
    ann = served.as_()
    texts = [" ".join(dice.choices(WORDS, k=dice.randint(1, 9))) for _ in range(120)]
    texts += ["".join(dice.choices(WORDS, k=dice.randint(1, 9))) for _ in range(120)]

    async def ask(text: str) -> None:
        zone = dice.choice(("Asia/Shanghai", "America/New_York", "Pacific/Kiritimati"))
        answer = await ann.post("/v1/intents/detect", json={"text": text, "zone": zone})
        assert answer.status_code in (200, 422), text

    for part in range(0, len(texts), 20):
        await asyncio.gather(*(ask(text) for text in texts[part : part + 20] if text.strip()))
