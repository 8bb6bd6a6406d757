"""What an attempt is charged: by the provider's count, else by what had come until it ended."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest
from fencepost_domain.errors import Invalid
from fencepost_domain.vocabulary import CallState
from fencepost_runtime.settings import SettingsError, WorkerSettings
from fencepost_store.model_calls import NewCall
from fencepost_worker.main import meter_of
from fencepost_worker.models.assembler import Assembler
from fencepost_worker.models.meter import Meter, tokens_of
from fencepost_worker.models.port import (
    Answer,
    CallDelta,
    Message,
    ModelContext,
    ModelFailed,
    ModelRequest,
    TextDelta,
    UsageDelta,
)

CONTEXT = ModelContext("hi", datetime(2026, 12, 1, tzinfo=UTC), "UTC", "en", "USD", "life")


def a_request(*texts: str, made: int = 100) -> ModelRequest:
    messages = tuple(Message("user", text) for text in texts)
    return ModelRequest("k", "module", "m", CONTEXT, messages, (), made)


def a_call(meter: Meter, *texts: str) -> NewCall:
    reserve = meter.estimate("p", "m", a_request(*texts))
    within = timedelta(minutes=1)
    return NewCall(UUID(int=1), "k", "module", "p", "m", "0" * 64, within, 9, reserve=reserve)


def test_the_worst_case_is_all_that_is_sent_and_all_that_may_come() -> None:
    found = Meter().estimate("p", "m", a_request("a" * 300, "你好", made=50))

    assert (found.input_tokens, found.output_tokens) == (100 + 3 + 16, 50)
    assert found.cost == (Decimal(15) * 119 + Decimal(75) * 50) / 1_000_000
    assert (found.currency, found.prices) == ("USD", "shipped-2026-12-01")
    assert Meter().estimate("offline", "rules", a_request("hi")).cost == 0


@pytest.mark.parametrize(
    ("text", "really"),  # about what common tokenizers make of them; none is at hand here
    [
        ("The quick brown fox jumps over the lazy dog.", 10),
        ("明早九点提醒我交周报，别忘了带上合同。", 20),
        ('{"title": "Q3", "rows": [1, 2, 3]}', 18),
        ("def total(x):\n    return sum(x) / len(x)\n", 17),
    ],
)
def test_the_estimate_is_above_what_a_provider_counts(text: str, really: int) -> None:
    assert really <= tokens_of(text) + 8 <= 3 * really + 8


def test_a_provider_that_tells_nothing_is_charged_by_our_count() -> None:
    meter = Meter()
    call = a_call(meter, "hello there")

    silent = meter.told(call, Answer("hello back", (), "stop"))
    told = meter.told(call, Answer("x", (), "stop", 7, 5))

    assert silent.input_tokens == call.reserve.input_tokens and silent.output_tokens > 0
    assert (told.input_tokens, told.output_tokens) == (7, 5)
    assert meter.settled(call, told).cost == (Decimal(15) * 7 + Decimal(75) * 5) / 1_000_000


def test_a_stream_that_ends_early_is_charged_for_what_had_come() -> None:
    meter, assembler = Meter(), Assembler()
    call = a_call(meter, "hello there")
    assembler.feed(TextDelta("abc" * 10))
    assembler.feed(CallDelta(0, "c1", "life.x", '{"a": 1'))

    broken = meter.spent(call, assembler, ModelFailed("unreachable", "reset"))
    assert broken.state is CallState.FAILED
    assert broken.input_tokens == call.reserve.input_tokens
    assert 10 < broken.output_tokens < call.reserve.output_tokens and broken.cost > 0

    assembler.feed(UsageDelta(9, 4))
    assert replace(meter.spent(call, assembler), cost=Decimal(0)).input_tokens == 9


@pytest.mark.parametrize(
    ("error", "is_paid"),
    [
        (ModelFailed("unreachable", "no route"), False),
        (ModelFailed("secret_missing", "no key"), False),
        (ModelFailed("provider_error", "HTTP 429", provider_code="429"), False),
        (ModelFailed("provider_error", "HTTP 500", provider_code="500"), True),
        (ModelFailed("timeout", "silence"), True),
        (None, True),
    ],
)
def test_what_was_refused_at_the_door_costs_nothing(error: ModelFailed | None, is_paid: bool) -> None:
    meter = Meter()
    call = a_call(meter, "hello there")

    spent = meter.spent(call, Assembler(), error)

    assert (spent.input_tokens > 0, spent.output_tokens) == (is_paid, 0)


def test_an_operators_table_is_read_once_and_a_bad_one_says_where(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    file.write_text(json.dumps({"version": "v", "currency": "EUR", "unknown": {"input": "1", "output": "x"}}))

    with pytest.raises(Invalid) as refused:
        _ = Meter(file).prices
    assert f"{file}/unknown/output" in str(refused.value)
    with pytest.raises(Invalid, match=r"prices\.json"):
        _ = Meter(tmp_path / "absent" / "prices.json").prices


def test_a_worker_names_the_setting_of_a_table_that_is_not_there(tmp_path: Path) -> None:
    settings = WorkerSettings(
        database_url="postgresql://x",
        worker_slot="s",
        service_secret_file=tmp_path / "secret",
        model_prices_file=tmp_path / "prices.json",
    )
    with pytest.raises(SettingsError, match=r"^FENCEPOST_MODEL_PRICES_FILE: .*prices\.json"):
        meter_of(settings)
