# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Repetitions in words: what they fall on, the time of day, the end, the exceptions and the next
occurrence.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from fencepost_intents import naming
from fencepost_intents.patterns import lazy
from fencepost_intents.result import TimeResult

_ORDINALS: Final = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last"}
_UNITS: Final[Mapping[str, tuple[str, str]]] = {
    "SECONDLY": ("秒", "second"), "MINUTELY": ("分钟", "minute"), "HOURLY": ("小时", "hour"), "DAILY": ("天", "day"),
    "WEEKLY": ("周", "week"), "MONTHLY": ("月", "month"), "YEARLY": ("年", "year"),
}  # fmt: skip
_DAY: Final = lazy(r"(-?\d)?([A-Z]{2})")


def say_rule(found: TimeResult, locale: str | None, zone: str | None) -> str:
    """The repetition of a result, in Chinese or English."""
    zh = naming.is_zh(locale)
    rule = dict(part.split("=", 1) for part in (found.rrule or "").split(";"))
    said = _zh_rule(rule) if zh else _en_rule(rule)
    said += _clock(found, rule, zh)
    said += _end(rule, locale, zone, zh)
    if found.exdates:
        days = [naming.say_date(datetime.fromisoformat(one).date(), locale) for one in found.exdates]
        said += f"，除了{'、'.join(days)}" if zh else f", except {', '.join(days)}"
    return said + _next(found, locale, zone, zh) + _short_months(rule, zh)


def _zh_rule(rule: Mapping[str, str]) -> str:
    freq, interval = rule["FREQ"], int(rule.get("INTERVAL", "1"))
    unit = _UNITS[freq][0]
    every = f"每{unit}" if interval == 1 else f"每{interval}{'个' if unit in '月小时' else ''}{unit}"
    if "BYDAY" in rule:
        days = [_zh_day(one) for one in rule["BYDAY"].split(",")]
        if freq == "WEEKLY" and interval == 1:
            return "每" + "、".join(days)
        return f"{every}的{'、'.join(days)}"
    if "BYMONTHDAY" in rule:
        month = f"{rule['BYMONTH']}月" if "BYMONTH" in rule else ""
        days = ["最后一天" if one == "-1" else f"{one}日" for one in rule["BYMONTHDAY"].split(",")]
        return f"{every}{month}{'、'.join(days)}"
    return every


def _zh_day(day: str) -> str:
    found = _DAY.match(day)
    assert found is not None
    name = naming.ZH_DAYS[naming.RRULE_DAYS.index(found.group(2))]
    if not found.group(1):
        return name
    number = int(found.group(1))
    return f"最后一个{name}" if number < 0 else f"第{'一二三四五'[number - 1]}个{name}"


def _en_rule(rule: Mapping[str, str]) -> str:
    freq, interval = rule["FREQ"], int(rule.get("INTERVAL", "1"))
    unit = _UNITS[freq][1]
    every = f"every {unit}" if interval == 1 else f"every {interval} {unit}s"
    if "BYDAY" in rule:
        days = _listed([_en_day(one) for one in rule["BYDAY"].split(",")])
        if freq == "WEEKLY" and interval == 1:
            return f"every {days}"
        return f"{every} on {days}"
    if "BYMONTHDAY" in rule:
        days = _listed(
            ["the last day" if one == "-1" else f"day {one}" for one in rule["BYMONTHDAY"].split(",")]
        )
        month = f" of {naming.EN_MONTHS[int(rule['BYMONTH']) - 1]}" if "BYMONTH" in rule else ""
        return f"{every} on {days}{month}"
    return every


def _en_day(day: str) -> str:
    found = _DAY.match(day)
    assert found is not None
    name = naming.EN_DAYS[naming.RRULE_DAYS.index(found.group(2))]
    return f"the {_ORDINALS[int(found.group(1))]} {name}" if found.group(1) else name


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _clock(found: TimeResult, rule: Mapping[str, str], zh: bool) -> str:
    if not found.dtstart or "T" not in found.dtstart or rule["FREQ"] in ("HOURLY", "MINUTELY", "SECONDLY"):
        return ""
    at = datetime.fromisoformat(found.dtstart)
    hours = [int(one) for one in rule["BYHOUR"].split(",")] if "BYHOUR" in rule else [at.hour]
    clocks = [f"{hour:02}:{at.minute:02}" for hour in hours]
    return f" {'、'.join(clocks)}" if zh else f" at {_listed(clocks)}"


def _end(rule: Mapping[str, str], locale: str | None, zone: str | None, zh: bool) -> str:
    if "UNTIL" in rule:
        last = datetime.strptime(rule["UNTIL"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        shown = naming.say_date(naming.on_zone(last, zone).date(), locale)
        return f"，到{shown}为止" if zh else f", until {shown}"
    if "COUNT" in rule:
        return f"，共{rule['COUNT']}次" if zh else f", {rule['COUNT']} times"
    return ""


def _next(found: TimeResult, locale: str | None, zone: str | None, zh: bool) -> str:
    if not found.next:
        return ""
    said = naming.say_moment(found.next, zone, locale)
    return f"；下一次：{said}" if zh else f"; next: {said}"


def _short_months(rule: Mapping[str, str], zh: bool) -> str:
    """What happens in months that lack the day is said before anything is saved."""
    days = [int(one) for one in rule.get("BYMONTHDAY", "0").split(",")]
    if rule["FREQ"] != "MONTHLY" or max(days) < 29:
        return ""
    return f"（没有{max(days)}日的月份跳过）" if zh else f" (months without a day {max(days)} are skipped)"
