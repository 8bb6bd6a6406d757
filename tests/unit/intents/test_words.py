# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""What a preview must say: weekday, date, time and zone; amount and currency; the whole repetition."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest
from fencepost_intents import detect, words

REFERENCE = datetime.fromisoformat("2026-03-04T10:00:00+08:00")
ZONE = "Asia/Shanghai"


def said(text: str, locale: str) -> str:
    (found,) = detect(text, reference=REFERENCE, zone=ZONE).times
    return words.say_time(found, locale, ZONE)


@pytest.mark.parametrize(
    ("text", "zh", "en"),
    [
        ("明早九点", "2026年3月5日（周四）上午09:00（北京时间，UTC+08:00）", "Thursday, 5 March 2026 at 09:00 (Asia/Shanghai, UTC+08:00)"),
        ("月底前", "2026年3月31日（周二）之前（含）", "by Tuesday, 31 March 2026"),
        ("下周", "2026年3月9日（周一）至2026年3月15日（周日）", "from Monday, 9 March 2026 to Sunday, 15 March 2026"),
        ("一个半小时", "1小时30分钟", "1 hour 30 minutes"),
        ("半年", "6个月", "6 months"),
    ],
)  # fmt: skip
def test_times_are_said_in_both_languages(text: str, zh: str, en: str) -> None:
    assert said(text, "zh-CN") == zh
    assert said(text, "en-US") == en


def test_a_named_zone_is_the_one_that_is_said() -> None:
    assert (
        said("9:30 a.m. EST on Friday", "en") == "Friday, 6 March 2026 at 09:30 (America/New_York, UTC-05:00)"
    )


def test_an_ambiguous_time_says_every_reading() -> None:
    assert said("next Friday", "en") == "Friday, 6 March 2026, or Friday, 13 March 2026"


@pytest.mark.parametrize(
    ("text", "zh", "en"),
    [
        ("每周一三五晚上七点", "每周一、周三、周五 19:00；下一次：2026年3月4日（周三）晚上19:00（北京时间，UTC+08:00）",
         "every Monday, Wednesday and Friday at 19:00; next: Wednesday, 4 March 2026 at 19:00 (Asia/Shanghai, UTC+08:00)"),
        ("the last Friday of every month at 4pm", "每月的最后一个周五 16:00；下一次：2026年3月27日（周五）下午16:00（北京时间，UTC+08:00）",
         "every month on the last Friday at 16:00; next: Friday, 27 March 2026 at 16:00 (Asia/Shanghai, UTC+08:00)"),
        ("每天晚上十点，直到月底", "每天 22:00，到2026年3月31日（周二）为止；下一次：2026年3月4日（周三）晚上22:00（北京时间，UTC+08:00）",
         "every day at 22:00, until Tuesday, 31 March 2026; next: Wednesday, 4 March 2026 at 22:00 (Asia/Shanghai, UTC+08:00)"),
        ("每隔两小时", "每2个小时；下一次：2026年3月4日（周三）中午12:00（北京时间，UTC+08:00）",
         "every 2 hours; next: Wednesday, 4 March 2026 at 12:00 (Asia/Shanghai, UTC+08:00)"),
    ],
)  # fmt: skip
def test_repetitions_are_said_with_their_days_end_and_next_time(text: str, zh: str, en: str) -> None:
    assert said(text, "zh") == zh
    assert said(text, "en") == en


def test_short_months_are_said_before_anything_is_saved() -> None:
    assert "没有31日的月份跳过" in said("每月31号上午9点", "zh")
    assert "months without a day 31 are skipped" in said("每月31号上午9点", "en")


@pytest.mark.parametrize(
    ("value", "currency", "zh", "en"),
    [
        ("1234.5", "USD", "1,234.50 美元（USD）", "1,234.50 US dollars (USD)"),
        ("35.50", "CNY", "35.50 元人民币（CNY）", "35.50 Chinese yuan (CNY)"),
        ("1200", "JPY", "1,200 日元（JPY）", "1,200 Japanese yen (JPY)"),
        ("-0.5", "EUR", "-0.50 欧元（EUR）", "-0.50 euros (EUR)"),
        ("20", None, "20.00（币种未定）", "20.00 (currency not known)"),
    ],
)
def test_amounts_are_said_with_their_currency(value: str, currency: str | None, zh: str, en: str) -> None:
    assert words.say_amount(Decimal(value), currency, "zh") == zh
    assert words.say_amount(Decimal(value), currency, "en") == en


def test_an_instant_is_said_on_the_clock_of_its_zone() -> None:
    at = datetime.fromisoformat("2026-03-05T01:00:00+00:00")

    assert words.say_instant(at, ZONE, "zh").startswith("2026年3月5日（周四）上午09:00")
    assert words.say_instant(at, None, "en").endswith("(zone not known, UTC+00:00)")
