# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""The slots of reminders: which of the times is the reminder's own, and what is its title."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from fencepost_intents.intent import guards
from fencepost_intents.intent.languages import attendees
from fencepost_intents.intent.reading import Located, Reading, complete_each_other, joined
from fencepost_intents.intent.reminder_titles import is_event, title_of
from fencepost_intents.intent.requests import Request
from fencepost_intents.patterns import lazy
from fencepost_intents.result import SlotValue, TimeResult

_ALARM: Final = lazy(
    r"闹钟|闹铃|倒计时|计时器?|定时器|起床|叫醒|\balarms?\b|\btimers?\b|\bwake (?:me|us)\b|\bcountdown\b"
)
# What may stand between a cue and the reminder's own time.
_BETWEEN: Final = frozenset(
    ("", "on", "at", "for", "the", "to", "my", "this", "about", "要", "在", "去", "我", "一下")
)
_PERIODS: Final = frozenset(("named_month", "named_year", "month", "week", "year", "quarter"))
_AT_END: Final = lazy(r"[\s,.!?。吧哦呢啊]|please|thanks|thank you|谢谢")
_TIMER: Final = lazy(r"倒计时|计时|定时器|\btimers?\b|\bcountdown\b")
_UNTIL: Final = lazy(r"until|till?\b|直到|一直到")
_JOINED: Final = lazy(
    r"(?:和|以及|还有|跟|、)$|\band (?:again )?(?:at |on |by )?$|\band to [\w ]{1,40} (?:at|on|by) $|\band [\w ]{1,24} at $"
)
_JOINS: Final = lazy(r"\s*(?:and (?:to )?\w|和|以及)")
_ADVANCE_BEFORE: Final = lazy(r"(?:提前|提早|前|早)\s*$")
_ADVANCE_AFTER: Final = lazy(
    r"^\s*(?:before(?:hand)?\b|in advance\b|ahead\b|early\b|earlier\b|prior\b|之前|以前|前)"
)


@dataclass(frozen=True, slots=True)
class OwnTime:
    """The reminder's time: the expression, the pieces of text it was said in, and what it reads as."""

    located: Located
    pieces: tuple[Located, ...]
    result: TimeResult


def create_slots(
    reading: Reading, request: Request
) -> tuple[dict[str, Any], tuple[str, ...], OwnTime | None]:
    """Slots, what is missing, and the time used."""
    window = (request.start, request.end)
    own = _own(reading, request)
    slots: dict[str, Any] = {}
    if own is not None:
        slots["time"] = own.result if own.located.expr.clock is None else _start_of(own.result)
    title = title_of(reading, request, list(own.pieces) if own else [])
    if title is None and (alarm := _ALARM.search(reading.masked, *window)):
        title = SlotValue(reading.text[alarm.start() : alarm.end()], alarm.span())
    if title is not None:
        slots["title"] = title
    if is_event(reading, request):
        people = attendees(reading.text, reading.norm, window, reading.zh)
        slots |= {"attendees": people} if people is not None else {}
    missing = [] if title else ["title"]
    if own is None or not is_settled(slots["time"], own.located):
        missing.append("time")
    return slots, tuple(missing), own


def _own(reading: Reading, request: Request) -> OwnTime | None:
    """The time put together of its pieces, brought forward where the words say so, and resolved."""
    window = (request.start, request.end)
    pieces = own_time(reading, request, bool(_TIMER.search(reading.masked, *window)))
    ahead = _advance(reading, request)
    pieces = [one for one in pieces if one is not ahead]
    if not pieces:
        return None
    located = pieces[0]
    for other in pieces[1:]:
        located = joined(located, other)
    if _second_time(reading, request, pieces):
        located = Located(replace(located.expr, leftover=True), located.start, located.end)
    if ahead is not None:
        located, pieces = _brought_forward(located, ahead), [*pieces, ahead]
    return OwnTime(located, tuple(pieces), reading.resolve(located, reading.setting(1, window)))


def _second_time(reading: Reading, request: Request, pieces: list[Located]) -> bool:
    """Whether another time of day stands beside the one taken: "call mom at 5 and to pick up the kids at 6"."""
    taken = [(piece.start, piece.end) for piece in pieces]
    for one in reading.times_in((request.start, request.end)):
        if (one.start, one.end) in taken or one.expr.clock is None or one.expr.mode == "tail":
            continue
        if guards.CORRECTED.search(reading.masked, one.end, request.end):
            continue
        before_both = max(one.end, *(end for _, end in taken)) <= request.cue.start
        if before_both or _JOINED.search(reading.norm[request.start : one.start]):
            return True
        if _JOINS.match(reading.norm[one.end : request.end]):
            return True
    return False


def _start_of(found: TimeResult) -> TimeResult:
    """A reminder of something that lasts is due when it begins; `times` keeps the whole span."""
    if found.kind == "ambiguous":
        return replace(found, candidates=tuple(_start_of(one) for one in found.candidates))
    if found.kind != "span" or found.start is None:
        return found
    note = f"reminds at the beginning; it ends at {found.end}"
    return replace(
        found, kind="instant", value=found.start, start=None, end=None, inferred=(*found.inferred, note)
    )


def _advance(reading: Reading, request: Request) -> Located | None:
    """提前15分钟, "10 minutes before": a length that brings the reminder forward from its event."""
    for one in reading.times_in((request.start, request.end)):
        if one.expr.duration is None or one.expr.clock is not None or one.expr.mode not in ("", "ago"):
            continue
        before, after = reading.norm[request.start : one.start], reading.norm[one.end : request.end]
        if one.expr.mode == "ago" or _ADVANCE_BEFORE.search(before) or _ADVANCE_AFTER.search(after):
            return one
    return None


def _brought_forward(located: Located, ahead: Located) -> Located:
    expr, length = located.expr, ahead.expr.duration
    if expr.date and not expr.clock and length and not length.has_clock and len(length.units) == 1:
        unit, count = length.units[0]
        return Located(
            replace(expr, date=("shifted", expr.date, -abs(int(count)), unit)), located.start, located.end
        )
    if expr.clock is None or expr.recurrence is not None:
        # Forward from a whole day, or of each of many: what hour that is must be asked.
        return Located(replace(expr, leftover=True), located.start, located.end)
    return Located(replace(expr, duration=ahead.expr.duration, mode="before"), located.start, located.end)


def is_settled(found: TimeResult, located: Located | None) -> bool:
    """Whether a reminder can be set by it: one reading, with a time of day, ahead."""
    if found.kind in ("ambiguous", "duration", "date") or "already past" in found.inferred:
        return False
    if found.kind == "span" and located is not None and located.expr.clock is None:
        return False
    return found.has_clock


def own_time(reading: Reading, request: Request, is_timer: bool = False) -> list[Located]:
    """The reminder's own time, and the expression that completes it; other times stay in the title."""
    candidates = [
        one for one in reading.times_in((request.start, request.end)) if is_timer or not one.is_length
    ]
    candidates = _after_correction(reading, request, candidates)
    if not candidates:
        return []
    best = max(candidates, key=lambda one: (_weight(reading, request, one), -one.start))
    if _weight(reading, request, best) < 0:
        return []
    if is_timer and best.is_length:
        best.expr.mode = "after"
        return [best]
    used = [best]
    whole = best
    for other in candidates:
        if (
            other is best
            or _weight(reading, request, other) < 0
            or not complete_each_other(whole.expr, other.expr)
        ):
            continue
        if other.expr.deadline and whole.expr.recurrence and other.expr.date and not other.expr.clock:
            other.expr.until, other.expr.date, other.expr.deadline, other.expr.mode = (
                other.expr.date,
                None,
                False,
                "tail",
            )
        if whole.expr.recurrence and other.expr.clock and _UNTIL.match(reading.norm, other.start):
            whole.expr.leftover = True  # every 30 minutes until 5pm: no rule of ours ends within a day
            used.append(other)
            continue
        whole = joined(whole, other)
        used.append(other)
    return used


def _after_correction(reading: Reading, request: Request, candidates: list[Located]) -> list[Located]:
    """ "at 9, no wait, at 10": what stood before a correction is dropped when something stands behind it."""
    for found in guards.CORRECTED.finditer(reading.masked, request.start, request.end):
        later = [one for one in candidates if one.start >= found.start()]
        if later:
            earlier = [one for one in candidates if one.end <= found.start()]
            _inherit(later[0], earlier)
            return [one for one in earlier if complete_each_other(one.expr, later[0].expr)] + later
    return candidates


def _inherit(later: Located, earlier: list[Located]) -> None:
    """明天早上八点，不对，九点: the day and the part of day stay."""
    if later.expr.clock is None or later.expr.date is not None or not earlier:
        return
    said = earlier[-1].expr
    later.expr.date = said.date
    if later.expr.part is None and later.expr.clock.half is None and not later.expr.clock.exact:
        later.expr.part = said.part
        if said.clock is not None and said.clock.half:
            later.expr.clock = replace(later.expr.clock, half=said.clock.half)


def _weight(reading: Reading, request: Request, one: Located) -> int:
    """How likely a time is the reminder's own; below zero it is part of the title."""
    if one.expr.mode == "tail":
        return 0
    norm, cue = reading.norm, request.cue
    weight = 3 if one.expr.recurrence else 2 if one.has_clock else 0
    behind = one.start >= cue.end
    near = not behind or norm[cue.end : one.start].strip(" ,:") in _BETWEEN
    at_end = behind and not _AT_END.sub("", norm[one.end : request.end])
    weight += 3 if near else 2 if at_end else 0
    if norm[one.end : one.end + 1] == "的" and not near and not is_event(reading, request):
        weight -= 3  # 发下周一的安排
    if norm[one.start : one.end].endswith("'s") or norm[one.end : one.end + 2] == "'s":
        weight -= 4  # tomorrow's meeting
    if one.expr.date and one.expr.date[0] in _PERIODS and not near and not at_end:
        weight -= 2  # the March report
    return weight
