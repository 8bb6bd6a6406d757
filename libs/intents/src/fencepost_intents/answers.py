# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Answers laid over a request: a choice's value or free text completes or replaces one slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from fencepost_intents.intent.languages import NAMES, target_language
from fencepost_intents.intent.reading import Located, Reading, joined, locate
from fencepost_intents.intent.reminders import is_settled
from fencepost_intents.language import normalize
from fencepost_intents.lexer import lex
from fencepost_intents.money.plain import plain_amounts
from fencepost_intents.money.reader import read_amounts
from fencepost_intents.patterns import lazy
from fencepost_intents.result import (
    AmountResult,
    Answer,
    IntentPart,
    Slot,
    SlotValue,
    TimeKind,
    TimeResult,
    moved,
    written,
)
from fencepost_intents.time.clocks import read_clock
from fencepost_intents.time.model import Expr, Unreadable
from fencepost_intents.time.reader import read_times
from fencepost_intents.time.zones import on_clock, proper_name, zone_info

_PICKS: Final = (
    lazy(r"^(?:第?一(?:个|种)?|前者|1|a|the first(?: one)?|first(?: one)?|former|the former|第1个)$"),
    lazy(r"^(?:第?二(?:个|种)?|后者|2|b|the second(?: one)?|second(?: one)?|latter|the latter|第2个)$"),
    lazy(r"^(?:第?三(?:个|种)?|3|c|the third(?: one)?|third(?: one)?|第3个)$"),
)
_HALVES: Final = {
    "am": "am",
    "a.m": "am",
    "in the morning": "am",
    "上午": "am",
    "早上": "am",
    "pm": "pm",
    "p.m": "pm",
    "下午": "pm",
}
_HOURS: Final = {
    "am": frozenset(f"{hour:02}" for hour in range(12)),
    "pm": frozenset(f"{hour:02}" for hour in range(12, 24)),
}
_CITIES: Final = {
    "北京": "Asia/Shanghai", "上海": "Asia/Shanghai", "广州": "Asia/Shanghai", "深圳": "Asia/Shanghai", "中国": "Asia/Shanghai", "成都": "Asia/Shanghai",
    "杭州": "Asia/Shanghai", "香港": "Asia/Hong_Kong", "台北": "Asia/Taipei", "台湾": "Asia/Taipei", "东京": "Asia/Tokyo", "日本": "Asia/Tokyo",
    "首尔": "Asia/Seoul", "新加坡": "Asia/Singapore", "伦敦": "Europe/London", "巴黎": "Europe/Paris", "柏林": "Europe/Berlin", "悉尼": "Australia/Sydney",
    "纽约": "America/New_York", "洛杉矶": "America/Los_Angeles", "旧金山": "America/Los_Angeles", "芝加哥": "America/Chicago", "西雅图": "America/Los_Angeles",
    "beijing": "Asia/Shanghai", "shanghai": "Asia/Shanghai", "china": "Asia/Shanghai", "shenzhen": "Asia/Shanghai", "hong kong": "Asia/Hong_Kong",
    "taipei": "Asia/Taipei", "tokyo": "Asia/Tokyo", "japan": "Asia/Tokyo", "seoul": "Asia/Seoul", "singapore": "Asia/Singapore", "london": "Europe/London",
    "uk": "Europe/London", "paris": "Europe/Paris", "berlin": "Europe/Berlin", "sydney": "Australia/Sydney", "new york": "America/New_York",
    "nyc": "America/New_York", "boston": "America/New_York", "los angeles": "America/Los_Angeles", "la": "America/Los_Angeles",
    "san francisco": "America/Los_Angeles", "seattle": "America/Los_Angeles", "chicago": "America/Chicago", "toronto": "America/Toronto",
    "vancouver": "America/Vancouver", "mumbai": "Asia/Kolkata", "india": "Asia/Kolkata", "dubai": "Asia/Dubai", "moscow": "Europe/Moscow",
}  # fmt: skip


def zone_of(answers: Sequence[Answer]) -> str | None:
    """The zone that an answer names: an IANA name, a city, an offset, or 北京时间. None when it isn't
    understood.
    """
    for answer in answers:
        if answer.slot != "zone":
            continue
        said = normalize(answer.said).strip(" .。!")
        if said in _CITIES:
            return _CITIES[said]
        tokens = lex(said)
        if "Z" in tokens.kinds:
            return proper_name(tokens.values[tokens.kinds.index("Z")])
        for city, zone in _CITIES.items():
            if (len(city) > 2 and city in said) or (not city.isascii() and city in said):
                return zone
        try:
            zone_info(answer.said.strip())
        except Unreadable:
            continue
        return proper_name(answer.said.strip())
    return None


def with_answers(
    reading: Reading, part: IntentPart, used: Located | None, answers: Sequence[Answer], index: int
) -> IntentPart:
    """The part with the answers about it applied in order."""
    for answer in answers:
        if answer.intent_index == index and answer.slot not in ("zone", "currency"):
            part = _answered(reading, part, used, answer)
    return part


def _answered(reading: Reading, part: IntentPart, used: Located | None, answer: Answer) -> IntentPart:
    slots: dict[str, Any] = dict(part.slots)
    value: Slot | None
    match answer.slot:
        case "time":
            time = value = _time(reading, part, used, answer)
            done = time is not None and (part.intent != "reminder.create" or is_settled(time, None))
        case "amount":
            amount = value = _amount(reading, part, answer)
            done = amount is not None and amount.value is not None
            if amount is not None and amount.currency is not None:
                part = replace(
                    part, required_slots=tuple(one for one in part.required_slots if one != "currency")
                )
        case "target_language":
            value = _language(answer)
            done = value is not None
        case _:
            value, done = SlotValue(answer.said.strip(), None), bool(answer.said.strip())
    if value is None:
        return part
    slots[answer.slot] = value
    left = tuple(slot for slot in part.required_slots if slot != answer.slot or not done)
    if not done and answer.slot not in left:
        left = (*left, answer.slot)
    return replace(part, slots=slots, required_slots=left)


def _language(answer: Answer) -> SlotValue | None:
    said = normalize(answer.said).strip()
    if said in NAMES.values() or said in ("zh-hant", "zh-hans"):
        return SlotValue({"zh-hant": "zh-Hant", "zh-hans": "zh-Hans"}.get(said, said), None)
    found = target_language(said, (0, len(said)))
    return None if found is None else SlotValue(found.value, None)


def _amount(reading: Reading, part: IntentPart, answer: Answer) -> AmountResult | None:
    asked = part.slots.get("amount")
    asked = asked if isinstance(asked, AmountResult) else None
    said = normalize(answer.said).strip()
    currency = asked.currency if asked else reading.place.own
    span = asked.span if asked else (0, 0)
    text = asked.text if asked else ""
    picked = _pick(said, len(asked.candidates)) if asked else None
    if asked and picked is not None:
        return replace(asked, value=asked.candidates[picked], candidates=())
    for one in asked.candidates if asked else ():
        if said in (written(one, currency), str(one)):
            return replace(asked, value=one, candidates=()) if asked else None
    if answer.value is not None:
        try:
            value = Decimal(answer.value)
        except InvalidOperation:
            return None
        return AmountResult(value, currency, bool(asked and asked.currency_written), text, span)
    tokens = lex(said)
    place = replace(reading.place, currency=currency or reading.place.currency)
    found = read_amounts(tokens, said, answer.said, place)
    if not found:
        found = plain_amounts(tokens, said, answer.said, (), (0, len(said)), place)
    if not found:
        return None
    result = found[0].amount
    return replace(result, span=span, text=text or result.text)


def _pick(said: str, count: int) -> int | None:
    for index, pattern in enumerate(_PICKS[:count]):
        if pattern.match(said):
            return index
    return None


def _time(reading: Reading, part: IntentPart, used: Located | None, answer: Answer) -> TimeResult | None:
    asked = part.slots.get("time")
    asked = asked if isinstance(asked, TimeResult) else None
    candidates = asked.candidates if asked else ()
    said = normalize(answer.said).strip(" .。!,")
    span = asked.span if asked else (0, 0)
    for one in candidates:
        if answer.said.strip() == one.choice_value:
            return one
    picked = _pick(said, len(candidates))
    if picked is not None:
        return candidates[picked]
    if (half := _HALVES.get(said)) and candidates:
        fitting = [one for one in candidates if (one.value or one.dtstart or "")[11:13] in _HOURS[half]]
        return fitting[0] if len(fitting) == 1 else asked
    if (exact := _iso(reading, answer.said.strip(), asked)) is not None:
        return moved(exact, span, asked.text if asked else "")
    located = _spoken(said)
    if located is None:
        return None
    if candidates and (chosen := _among(reading, candidates, located)):
        return chosen
    if used is not None and asked is not None and not candidates and _completes(used.expr, located.expr):
        located = joined(
            Located(replace(used.expr, part=located.expr.part or used.expr.part), used.start, used.end),
            located,
        )
    setting = reading.setting(1, part.span)
    whole = Located(located.expr, 0, len(said))
    found = _as_chosen(reading.resolve(whole, setting), asked)
    return moved(found, span, asked.text if asked else answer.said)


def _as_chosen(found: TimeResult, asked: TimeResult | None) -> TimeResult:
    """A reading chosen before stays chosen when its time of day is added."""
    if asked is None or asked.kind == "ambiguous" or found.kind != "ambiguous":
        return found
    same = [
        one
        for one in found.candidates
        if (one.rrule and one.rrule == asked.rrule) or (one.value and one.value[:10] == asked.value)
    ]
    return same[0] if len(same) == 1 else found


def _completes(asked: Expr, said: Expr) -> bool:
    """A clock for the day asked about, or a day for its clock."""
    if said.duration or said.recurrence:
        return False
    return (said.date is None and asked.clock is None) or (said.clock is None and asked.date is None)


def _spoken(said: str) -> Located | None:
    tokens = lex(said)
    found = read_times(tokens, said)
    if found:
        return locate(found[0], tokens)
    if tokens.kinds[:1] == "n" and (clock := read_clock(tokens, 0, bare=True)):
        return Located(Expr(0, 1, clock=clock[0]), 0, len(said))
    return None


def _iso(reading: Reading, said: str, asked: TimeResult | None) -> TimeResult | None:
    """A typed value: RFC 3339 (without offset: on the user's clock), a day, or HH:MM for the day asked
    about.
    """
    try:
        if len(said) == 10:
            return TimeResult("date", (0, 0), "", date.fromisoformat(said).isoformat())
        if len(said) < 16 or said[4:5] != "-":
            return None
        at = datetime.fromisoformat(said)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = on_clock(at, reading.setting(1).tz)[-1]
    kind: TimeKind = "deadline" if asked is not None and asked.kind == "deadline" else "instant"
    return TimeResult(kind, (0, 0), "", at.isoformat())


def _among(reading: Reading, candidates: tuple[TimeResult, ...], located: Located) -> TimeResult | None:
    """The one candidate that fits what was said: its day, its clock, or its half of the day."""
    found = reading.resolve(located, reading.setting(1))
    readings = found.candidates or (found,)
    fitting = [one for one in candidates if any(_fits(one, said, located.expr) for said in readings)]
    return fitting[0] if len(fitting) == 1 else None


def _fits(candidate: TimeResult, said: TimeResult, expr: Expr) -> bool:
    shown = candidate.value or candidate.start or candidate.dtstart or ""
    value = said.value or said.start or ""
    if said.kind == "span" and said.start and "T" not in said.start:
        return said.start <= shown[:10] <= (said.end or said.start)
    if expr.clock is None and expr.part is None and expr.date is not None:
        return shown[:10] == value[:10]
    if expr.part is not None and expr.clock is None and "T" in shown:
        start, end = said.start or "", said.end or ""
        hour = shown[11:16]
        in_part = bool(start) and start[11:16] <= hour and (hour < end[11:16] or end[11:16] == "00:00")
        return in_part and (expr.date is None or shown[:10] == start[:10])
    if expr.date is None and expr.clock is not None:
        return shown[11:16] == value[11:16]
    return shown == value
