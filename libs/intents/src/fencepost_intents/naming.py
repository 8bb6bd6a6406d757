# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Names of days, months, currencies and zones, and an instant, a day or an amount said with them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, tzinfo
from decimal import Decimal
from typing import Final

from fencepost_intents.result import written
from fencepost_intents.time.zones import zone_info

ZH_DAYS: Final = ("周一", "周二", "周三", "周四", "周五", "周六", "周日")
EN_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
EN_MONTHS: Final = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
                    "October", "November", "December")  # fmt: skip
RRULE_DAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
ZH_CURRENCIES: Final[Mapping[str, str]] = {
    "CNY": "元人民币", "USD": "美元", "EUR": "欧元", "GBP": "英镑", "JPY": "日元", "HKD": "港元", "TWD": "新台币",
    "KRW": "韩元", "AUD": "澳元", "CAD": "加元", "SGD": "新加坡元", "CHF": "瑞士法郎", "THB": "泰铢", "INR": "印度卢比",
    "MYR": "马来西亚林吉特", "RUB": "卢布", "VND": "越南盾", "MOP": "澳门元", "NZD": "新西兰元",
}  # fmt: skip
EN_CURRENCIES: Final[Mapping[str, str]] = {
    "CNY": "Chinese yuan", "USD": "US dollars", "EUR": "euros", "GBP": "pounds sterling", "JPY": "Japanese yen",
    "HKD": "Hong Kong dollars", "TWD": "New Taiwan dollars", "KRW": "Korean won", "AUD": "Australian dollars",
    "CAD": "Canadian dollars", "SGD": "Singapore dollars", "CHF": "Swiss francs", "THB": "Thai baht",
    "INR": "Indian rupees", "MYR": "Malaysian ringgit", "RUB": "Russian roubles", "VND": "Vietnamese dong",
    "MOP": "Macanese patacas", "NZD": "New Zealand dollars",
}  # fmt: skip
ZH_ZONES: Final[Mapping[str, str]] = {
    "Asia/Shanghai": "北京时间", "Asia/Hong_Kong": "香港时间", "Asia/Taipei": "台北时间", "Asia/Tokyo": "东京时间",
    "Asia/Singapore": "新加坡时间", "Asia/Seoul": "首尔时间", "America/New_York": "纽约时间",
    "America/Los_Angeles": "洛杉矶时间", "America/Chicago": "芝加哥时间", "Europe/London": "伦敦时间",
    "Europe/Paris": "巴黎时间", "Europe/Berlin": "柏林时间", "Australia/Sydney": "悉尼时间", "UTC": "协调世界时",
}  # fmt: skip
_ZH_PARTS: Final = ((5, "凌晨"), (8, "早上"), (12, "上午"), (13, "中午"), (18, "下午"), (24, "晚上"))


def is_zh(locale: str | None) -> bool:
    """Whether words for this locale are Chinese; anything else is said in English."""
    return (locale or "").lower().startswith("zh")


def say_instant(at: datetime, zone: str | None, locale: str | None) -> str:
    """Weekday, date, time and zone in words.

    at: aware. Shown on the clock of `zone`; with None, on its own offset.
    """
    local = on_zone(at, zone)
    return f"{say_date(local.date(), locale)}{_gap(locale)}{_clock(local, locale)}{_zone_words(local, zone, locale)}"


def say_date(day: date, locale: str | None) -> str:
    """`2026年3月5日（周四）` or `Thursday, 5 March 2026`."""
    if is_zh(locale):
        return f"{day.year}年{day.month}月{day.day}日（{ZH_DAYS[day.weekday()]}）"
    return f"{EN_DAYS[day.weekday()]}, {day.day} {EN_MONTHS[day.month - 1]} {day.year}"


def say_amount(value: Decimal, currency: str | None, locale: str | None) -> str:
    """`1,234.50 美元（USD）` or `1,234.50 US dollars (USD)`; an unknown currency is said to be unknown."""
    number = _grouped(written(value, currency))
    zh = is_zh(locale)
    if currency is None:
        return f"{number}（币种未定）" if zh else f"{number} (currency not known)"
    if zh:
        return f"{number} {ZH_CURRENCIES.get(currency, currency)}（{currency}）"
    return f"{number} {EN_CURRENCIES.get(currency, currency)} ({currency})"


def on_zone(at: datetime, zone: str | None) -> datetime:
    """The instant on the clock of a zone (on its own, without one)."""
    return at.astimezone(_zone(zone)) if zone else at


def say_moment(value: str | None, zone: str | None, locale: str | None) -> str:
    """An RFC 3339 instant or a `YYYY-MM-DD` day in words."""
    if not value:
        return ""
    if "T" not in value:
        return say_date(date.fromisoformat(value), locale)
    return say_instant(datetime.fromisoformat(value), zone, locale)


def _clock(local: datetime, locale: str | None) -> str:
    seconds = f":{local.second:02}" if local.second else ""
    clock = f"{local.hour:02}:{local.minute:02}{seconds}"
    if is_zh(locale):
        return f"{next(name for end, name in _ZH_PARTS if local.hour < end)}{clock}"
    return f"at {clock}"


def _zone_words(local: datetime, zone: str | None, locale: str | None) -> str:
    offset = f"UTC{local:%z}"
    offset = f"{offset[:6]}:{offset[6:8]}"
    if is_zh(locale):
        return f"（{ZH_ZONES.get(zone or '', zone or '时区未定')}，{offset}）"
    return f" ({zone or 'zone not known'}, {offset})"


def _grouped(number: str) -> str:
    whole, dot, rest = number.partition(".")
    sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    return f"{sign}{int(digits):,}{dot}{rest}"


def _gap(locale: str | None) -> str:
    return "" if is_zh(locale) else " "


def _zone(name: str) -> tzinfo:
    return zone_info(name)
