# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""The slots of requests about existing reminders: which are asked for, cancelled or changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any, Final

from fencepost_intents.intent.reading import Located, Reading, complete_each_other, joined
from fencepost_intents.intent.requests import Request
from fencepost_intents.intent.titles import cut
from fencepost_intents.numbers import EN_ONES
from fencepost_intents.patterns import lazy
from fencepost_intents.result import SlotValue, Span, TimeResult
from fencepost_intents.time.model import Clock, Expr

_ALL: Final = lazy(
    r"所有|全部|全都|一切|每个|\ball\b|\bevery\b|\beverything\b|\bentire\b|\bclear\b|\bwipe\b|清空|清除"
)
_NOUNS: Final = lazy(
    r"(?:从|在)?(?:我的?)?(?:提醒事项|提醒|闹钟|闹铃|待办事项|待办|备忘录?|日程表?|日历|行事历)(?:上|里|中)?的?|\b(?:reminders?|alarms?|timers?|calendar|schedule|agenda|events?|to[- ]?do(?: list)?|list)\b"
)
_ZH_CHANGE: Final = lazy(
    r"(?:往|向)(?:后|前)(?:推|挪|延|调|移)|(?:改|推迟|延后|延迟|提前|挪|调整?|推后|顺延|变更|移|延|换|更改|修改)(?:到|成|为|至|晚|早|在)?"
)
_EN_CHANGE: Final = lazy(r"\b(?:to|until|till|by|back|forward|for|from now)\b")
_TO_HOUR: Final = lazy(
    r"\b(?:to|until|till) (\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?: instead| please)?[ .!?]*$"
)
_EARLIER: Final = lazy(r"提前|早|往前|向前|\b(?:forward|earlier|sooner|ahead|up by)\b")
_VERBS: Final = lazy(
    r"(?:往|向)(?:后|前)(?:推|挪|延|调|移)|取消掉?|删除掉?|删掉|删了|删去|去掉|关掉|关闭|关了|移除|清空|清除|撤销|停掉|停止|不要了|把|将|掉|不用再?|别再?|不必再?|不需要再?|提醒我们?|我的|下一?个|一个|都|请|帮我|改(?:到|成|为|至|在)?|推迟(?:到)?|延后(?:到)?|提前(?:到)?|挪到?|调整?到?|修改|更改|一下|(?:的|了)$|"
    r"\b(?:cancel|delete|remove|clear|erase|drop|dismiss|turn off|turn|off|switch|shut|disable|take off|will you|stop reminding me|stop reminding|stop|move|change|push|reschedule|postpone|delay|shift|update|edit|bring|modify|switch|snooze|adjust|my|the|that|this|all|of|about|for|to|back|forward|by|from|on|at|please|can you|could you|reminding me|me|i have|clear|wipe|cross|take|whole|set|until|a|an|up|out|off)\b"
)


def find_slots(reading: Reading, request: Request) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Slots of `reminder.list`: the days asked about."""
    times = [one for one in reading.times_in((request.start, request.end)) if not one.is_length]
    if not times:
        return {}, ()
    located = times[0]
    for other in times[1:]:
        if complete_each_other(located.expr, other.expr):
            located = joined(located, other)
    return {"period": reading.resolve(located, reading.setting(0))}, ()


def cancel_slots(reading: Reading, request: Request) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Which reminder: by its time, its title, or all."""
    window = (request.start, request.end)
    times = [one for one in reading.times_in(window) if not one.is_length]
    slots: dict[str, Any] = {}
    located: Located | None = None
    if times:
        located = times[0]
        for other in times[1:]:
            if complete_each_other(located.expr, other.expr):
                located = joined(located, other)
        slots["time"] = reading.resolve(located, reading.setting(1))
    title = _target(reading, window, [(one.start, one.end) for one in times])
    if title is not None:
        slots["title"] = title
    if found := _ALL.search(reading.masked, *window):
        slots["payload"] = SlotValue("all", found.span())
    return slots, () if slots else ("title",)


def _target(reading: Reading, window: Span, removed: list[Span]) -> SlotValue | None:
    """The words that name an existing reminder."""
    norm = reading.norm
    removed = [*removed, *(found.span() for found in _NOUNS.finditer(norm, *window)), *(found.span() for found in _VERBS.finditer(norm, *window)),
               *(found.span() for found in _ALL.finditer(norm, *window))]  # fmt: skip
    return cut(reading.text, norm, window, removed, reading.zh)


def change_slots(reading: Reading, request: Request) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Which reminder, and its new time (or how far it moves: a duration, negative for earlier)."""
    window = (request.start, request.end)
    times = [piece for one in reading.times_in(window) for piece in _ends(one)]
    marker = _marker(reading, request, times)
    old = [one for one in times if one.end <= marker and not one.is_length]
    new = [one for one in times if one.start >= marker]
    if any(one.is_length for one in new) and not all(one.is_length for one in new):
        # 推迟明天的会议两个小时: the length is how far it moves, the day says which.
        old += [one for one in new if not one.is_length]
        new = [one for one in new if one.is_length]
    if bare := _bare_target(reading, request, times):
        old, new, times = [one for one in times if not one.is_length], [bare], [*times, bare]
    slots: dict[str, Any] = {}
    setting = reading.setting(1, window)
    if old:
        slots["period"] = reading.resolve(old[0], setting)
    if new:
        slots["time"] = _new_time(reading, request, _dated(old, slots.get("period")), new)
    title = _target(reading, window, [(one.start, one.end) for one in times])
    if title is not None:
        slots["title"] = title
    missing = [] if title or old else ["title"]
    found = slots.get("time")
    if (
        not isinstance(found, TimeResult)
        or found.kind == "ambiguous"
        or (found.kind == "span" and new[0].expr.clock is None)
    ):
        missing.append("time")
    return slots, tuple(missing)


def _bare_target(reading: Reading, request: Request, times: list[Located]) -> Located | None:
    """ "move my 3pm meeting to 4": an hour alone at the end, on the half of the day that the old time has."""
    found = _TO_HOUR.search(reading.masked, request.start, request.end)
    if found is None or any(one.end > found.start() for one in times):
        return None
    word = found.group(1)
    hour = int(word) if word.isdigit() else EN_ONES.get(word, 0)
    said = next((one.expr.clock for one in reversed(times) if one.expr.clock), None)
    if not 1 <= hour <= 12:
        return None
    half = said.half if said and said.half and hour % 12 >= said.hour % 12 else None
    expr = Expr(0, 0, clock=Clock(hour, half=half, written=word))
    return Located(expr, found.start(1), found.end(1))


def _dated(old: list[Located], found: Any) -> list[Located]:
    """The old time with the day it was read on, so that the new one falls on the same."""
    if not old or old[0].expr.date or not isinstance(found, TimeResult) or found.kind != "instant":
        return old
    day = date.fromisoformat((found.value or "")[:10])
    return [replace(old[0], expr=replace(old[0].expr, date=("ymd", day.year, day.month, day.day))), *old[1:]]


def _ends(located: Located) -> list[Located]:
    """ "from 6 to 7" names the old time and the new one, not a span."""
    expr = located.expr
    if not expr.ranged or (expr.date_end is None and expr.clock_end is None):
        return [located]
    old = replace(expr, date_end=None, clock_end=None)
    new = replace(expr, date=expr.date_end or expr.date, clock=expr.clock_end, date_end=None, clock_end=None)
    middle = (located.start + located.end) // 2
    return [Located(old, located.start, middle), Located(new, middle, located.end)]


def _new_time(reading: Reading, request: Request, old: list[Located], new: list[Located]) -> TimeResult:
    located = new[0]
    for other in new[1:]:
        if complete_each_other(located.expr, other.expr):
            located = joined(located, other)
    if located.is_length:
        found = reading.resolve(located, reading.setting(1))
        if _EARLIER.search(reading.norm, request.start, request.end):
            return replace(found, duration=f"-{found.duration}")
        return found
    if located.expr.clock and not located.expr.date and old and old[0].expr.date:
        # 把明天九点的提醒改到十点: the day stays.
        located = Located(
            replace(located.expr, date=old[0].expr.date, part=located.expr.part or old[0].expr.part),
            located.start,
            located.end,
        )
    return reading.resolve(located, reading.setting(1, (request.start, request.end)))


def _marker(reading: Reading, request: Request, times: list[Located]) -> int:
    """Where the new time begins: behind 改到, "to", "by"."""
    pattern = _ZH_CHANGE if reading.zh else _EN_CHANGE
    ends = [found.end() for found in pattern.finditer(reading.masked, request.start, request.end)]
    for end in ends:
        if any(0 <= one.start - end <= 12 for one in times):
            return min(end, *(one.start for one in times if one.start >= end - 4)) if times else end
    return times[-1].start if times else request.end
