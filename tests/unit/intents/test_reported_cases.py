"""The reported cases of area IN: each replay, and the right answer."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest
from fencepost_intents import IntentResult, detect

WEDNESDAY = "2026-03-04T10:00:00+08:00"
SUNDAY = "2026-03-08T10:00:00+08:00"
MONDAY = "2026-03-09T10:00:00+08:00"


def said(text: str, reference: str = WEDNESDAY) -> IntentResult:
    return detect(text, reference=datetime.fromisoformat(reference), zone="Asia/Shanghai")


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("半小时后", "10:30"),
        ("一个半小时后", "11:30"),
        ("两个半小时后", "12:30"),
        ("三刻钟后", "10:45"),
        ("in half an hour", "10:30"),
        ("in an hour and a half", "11:30"),
        ("in 1.5 hours", "11:30"),
        ("in 1h30m", "11:30"),
    ],
)
def test_in1_fractions_of_hours_are_lengths_of_time(text: str, clock: str) -> None:
    for words in (text, f"提醒我{text}喝水", f"remind me {text} to drink"):
        (found,) = said(words).times

        assert (found.kind, found.value) == ("instant", f"2026-03-04T{clock}:00+08:00")


def test_in1_a_phrase_with_a_piece_left_over_is_asked() -> None:
    (found,) = said("提醒我三点五交表").times

    assert found.kind == "ambiguous"
    assert "time" in said("提醒我三点五交表").required_slots


@pytest.mark.parametrize(
    ("reference", "text", "day"),
    [
        (WEDNESDAY, "下周一", "2026-03-09"),
        (WEDNESDAY, "这周三", "2026-03-04"),
        (WEDNESDAY, "本周日", "2026-03-08"),
        (WEDNESDAY, "下周日", "2026-03-15"),
        (WEDNESDAY, "下下周二", "2026-03-17"),
        (WEDNESDAY, "this Friday", "2026-03-06"),
        (WEDNESDAY, "Friday", "2026-03-06"),
        (SUNDAY, "下周一", "2026-03-09"),
        (SUNDAY, "本周日", "2026-03-08"),
        (SUNDAY, "下周日", "2026-03-15"),
        (MONDAY, "下周一", "2026-03-16"),
        ("2026-02-10T10:00:00+08:00", "月底", "2026-02-28"),
        ("2028-02-10T10:00:00+08:00", "月底", "2028-02-29"),
    ],
)
def test_in3_weekdays_and_month_ends(reference: str, text: str, day: str) -> None:
    (found,) = said(text, reference).times

    assert (found.kind, found.value) == ("date", day)


def test_in3_next_friday_is_asked_where_speakers_differ() -> None:
    (found,) = said("next Friday").times

    assert found.kind == "ambiguous"
    assert [one.value for one in found.candidates] == ["2026-03-06", "2026-03-13"]


def test_in3_every_31st_says_what_happens_in_short_months() -> None:
    (found,) = said("每月31号").times

    assert [one.rrule for one in found.candidates] == [
        "FREQ=MONTHLY;BYMONTHDAY=31",
        "FREQ=MONTHLY;BYMONTHDAY=-1",
    ]
    assert all(one.inferred for one in found.candidates)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3万5", "35000"),
        ("13万2", "132000"),
        ("三万零五", "30005"),
        ("一千五", "1500"),
        ("一千零五", "1005"),
        ("两百五", "250"),
        ("五十万零五千", "505000"),
        ("3万4000", "34000"),
        ("25万6千", "256000"),
        ("1,100万", "11000000"),
    ],
)
def test_in5_spoken_short_forms_keep_their_powers_of_ten(text: str, value: str) -> None:
    for words in (f"{text}元", f"记一笔买设备{text}块", f"买设备花了{text}"):
        (found,) = said(words).amounts

        assert found.value == Decimal(value)


@pytest.mark.parametrize(
    ("text", "value", "currency"),
    [
        ("十五块八", "15.80", "CNY"),
        ("十二块五毛", "12.50", "CNY"),
        ("¥1,234.50", "1234.50", "CNY"),
        ("￥１，２３４．５０", "1234.50", "CNY"),
        ("1.234,50 €", "1234.50", "EUR"),
    ],
)
def test_in5_separators_widths_and_currencies(text: str, value: str, currency: str) -> None:
    (found,) = said(text).amounts

    assert (found.value, found.currency, found.currency_written) == (Decimal(value), currency, True)


def test_in5_an_amount_with_two_readings_is_asked() -> None:
    result = said("spent 3.350 on lunch")

    assert result.required_slots == ("amount",)
    assert result.amounts[0].candidates == (Decimal("3.350"), Decimal("3350"))


def test_in7_a_reminder_with_a_message_in_its_title_is_one_reminder() -> None:
    result = said("remind me in 1 minute: DM verified")

    (part,) = result.intents
    assert part.intent == "reminder.create"
    assert part.slots["title"].to_json()["value"] == "DM verified"


@pytest.mark.parametrize("text", ["Remind me at 9, actually don't", "Don't forget: never remind me at 9"])
def test_in7_a_refused_or_withdrawn_wish_creates_nothing(text: str) -> None:
    result = said(text)

    assert [one.intent for one in result.intents] == ["chat"]
    assert result.slots == {}


def test_in7_a_payload_to_translate_is_only_translated() -> None:
    result = said("Translate into Chinese: 'remind me to pay $500 tomorrow'")

    assert [one.intent for one in result.intents] == ["translate"]
    assert result.slots["target_language"].to_json()["value"] == "zh"
    assert result.slots["payload"].to_json()["value"] == "remind me to pay $500 tomorrow"
    assert (result.times, result.amounts) == ((), ())


def test_in7_a_repetition_denied_is_a_single_time() -> None:
    for text in (
        "just tomorrow at 9, it won't be daily",
        "remind me just tomorrow at 9 to sign, it won't be daily",
    ):
        (found,) = said(text).times

        assert (found.kind, found.value) == ("instant", "2026-03-05T09:00:00+08:00")
