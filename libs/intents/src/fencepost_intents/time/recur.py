"""Repetitions as RFC 5545 rules, with their first occurrence.

`dtstart` is the first occurrence after the reference and `next` the same; both on the wall clock of the zone,
moved on where the clocks skip it. Days that short months lack are said or asked, never skipped in silence.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import Final

from dateutil.rrule import rrule, rruleset, rrulestr

from fencepost_intents.result import TimeResult
from fencepost_intents.time.dates import days_of, shift_day
from fencepost_intents.time.durations import whole_units
from fencepost_intents.time.halves import hours_of
from fencepost_intents.time.model import Expr, Recurrence, Setting, Unreadable
from fencepost_intents.time.recur_rules import DAYS
from fencepost_intents.time.spans import end_day
from fencepost_intents.time.zones import on_clock

_SUB_DAILY: Final = {"HOURLY": 3600, "MINUTELY": 60, "SECONDLY": 1}
_HORIZON: Final = 400  # occurrences looked through for the first one that is ahead


def resolve_recurrence(expr: Expr, setting: Setting, blank: TimeResult) -> TimeResult:
    """One rule; or all that are open, where speakers differ or a day it needs is not said.

    Raises Unreadable.
    """
    assert expr.recurrence is not None
    rule, start = _merged(expr, expr.recurrence, setting)
    if expr.date is not None and expr.date_end is not None and rule.freq == "DAILY" and expr.until is None:
        last = end_day(expr.date_end, start, setting)
        expr = replace(expr, until=("ymd", last.year, last.month, last.day))  # 下周一至周五每天
    elif expr.date is not None and not days_of(expr.date, setting)[0].is_day and expr.until is None:
        expr = replace(expr, until=expr.date)  # 这个月每天: to the end of the month
    if rule.count is not None:
        expr = replace(expr, count=rule.count)
    readings = tuple(_result(one, expr, start, setting, blank, notes) for one, notes in _readings(rule))
    doubt = _doubt(expr, rule, setting)
    if len(readings) == 1 and doubt is None:
        return readings[0]
    inferred = () if doubt is None else (doubt,)
    return replace(blank, kind="ambiguous", candidates=readings, inferred=inferred, confidence=0.5)


def _readings(rule: Recurrence) -> tuple[tuple[Recurrence, tuple[str, ...]], ...]:
    """The rules that the words allow, each with what it takes for granted."""
    if rule.other_interval is not None:
        one, two = (
            replace(rule, other_interval=None),
            replace(rule, interval=rule.other_interval, other_interval=None),
        )
        return (one, ()), (two, ())
    if rule.freq != "MONTHLY":
        return ((rule, ()),)
    if 31 in rule.by_month_day:
        # Silent skipping of February is what people report as a lost reminder.
        last = replace(rule, by_month_day=tuple(-1 if day == 31 else day for day in rule.by_month_day))
        return (rule, ("months without a 31st are skipped",)), (last, ("the last day of every month",))
    if any(day in (29, 30) for day in rule.by_month_day):
        return ((rule, (f"months without a {max(rule.by_month_day)}th are skipped",)),)
    return ((rule, ()),)


def _doubt(expr: Expr, rule: Recurrence, setting: Setting) -> str | None:
    """What must be asked before the rule can be taken as meant."""
    if ("holidays",) in expr.except_dates and not setting.holidays.off:
        return "public holidays are not known here, so they can't be taken out"
    if rule.times > 1 and expr.clock is not None and rule.times != 1 + len(expr.more_clocks):
        return f"{rule.times} times a day, but not as many times of day are said"
    named = rule.by_day or rule.by_month_day or rule.by_month or expr.date or expr.starts
    if expr.clock is not None and rule.freq in ("WEEKLY", "MONTHLY", "YEARLY") and not named:
        return "which day is not said"
    return None


def _merged(expr: Expr, rule: Recurrence, setting: Setting) -> tuple[Recurrence, date]:
    """The rule with the day said beside it ("monthly on the 1st", 周一到周五每天), and the first day it
    may begin.
    """
    start = setting.today
    spec = expr.date
    if spec is not None:
        match spec[0]:
            case "weekday" if rule.freq == "WEEKLY" and not rule.by_day:
                rule = replace(rule, by_day=(DAYS[spec[1]],))
            case "weekday" if rule.freq == "DAILY" and expr.date_end and expr.date_end[0] == "weekday":
                days = [(spec[1] + step) % 7 for step in range((expr.date_end[1] - spec[1]) % 7 + 1)]
                rule = replace(rule, freq="WEEKLY", by_day=tuple(DAYS[day] for day in sorted(days)))
            case "dom" if rule.freq == "MONTHLY" and not rule.by_month_day:
                rule = replace(rule, by_month_day=(spec[1],))
            case "ymd" if rule.freq == "YEARLY" and not rule.by_month:
                rule = replace(rule, by_month=(spec[2],), by_month_day=(spec[3],))
            case "lunar" | "holiday" if rule.freq == "YEARLY":
                # Rules of RFC 5545 know no lunar calendar and no nth weekday by a holiday's name.
                raise Unreadable("a holiday that no rule can repeat")
            case "edge" if rule.freq == "MONTHLY":
                rule = replace(rule, by_month_day=(-1 if spec[2] == "end" else 1,))
            case _:
                start = days_of(spec, setting)[0].first
    if expr.starts is not None:
        start = max(start, days_of(expr.starts, setting)[0].first)
    if expr.except_days:
        rule = _without(rule, expr.except_days)
    return rule, start


def _without(rule: Recurrence, excepted: tuple[int, ...]) -> Recurrence:
    if rule.freq not in ("DAILY", "WEEKLY") or rule.interval != 1:
        raise Unreadable("weekdays taken out of a rule that has none")
    days = rule.by_day or DAYS
    left = tuple(day for day in days if DAYS.index(day) not in excepted)
    if not left:
        raise Unreadable("nothing left of the repetition")
    return replace(rule, freq="WEEKLY", by_day=left)


def _times(expr: Expr, setting: Setting) -> tuple[list[time], int, tuple[str, ...]]:
    """Times of day, days to add (晚上12点 is the next day's midnight), and what was inferred."""
    clocks = [clock for clock in (expr.clock, *expr.more_clocks) if clock is not None]
    found: list[time] = []
    notes: list[str] = []
    carry = 0
    if expr.part == "both" and len(clocks) == 1 and clocks[0].hour < 12:
        clocks = [replace(clocks[0], half=half) for half in ("am", "pm")]
    for clock in clocks:
        hour, note = hours_of(clock, expr.part, setting.hint)[0]
        carry = max(carry, hour // 24)
        found.append(time(hour % 24, clock.minute, clock.second))
        notes += [note] if note else []
    if len({one.minute for one in found}) > 1:
        raise Unreadable("times of day that no single rule can hold")
    return found, carry, tuple(notes)


def _result(
    rule: Recurrence, expr: Expr, start: date, setting: Setting, blank: TimeResult, notes: tuple[str, ...]
) -> TimeResult:
    if rule.freq in _SUB_DAILY:
        return _sub_daily(rule, expr, start, setting, blank, notes)
    times, carry, clock_notes = _times(expr, setting)
    if carry and rule.by_day and rule.freq == "WEEKLY":
        rule = replace(rule, by_day=tuple(DAYS[(DAYS.index(day) + 1) % 7] for day in rule.by_day))
    text = _rule_text(rule, times)
    # The first occurrence is the nearest that fits; "every 2 weeks" is counted from it, not from today's
    # week.
    nearest = _rule_text(replace(rule, interval=1), times)
    occurs = rrulestr(nearest, dtstart=datetime.combine(start, times[0] if times else time(0)))
    first = _first(occurs, times, expr, start, setting)
    until = _until(expr, first, setting)
    if until:
        text += until
    elif expr.count:
        text += f";COUNT={expr.count}"
    exdates = _exdates(expr, first, setting)
    shown = anchor = first.date().isoformat()
    if times:
        at = on_clock(first, setting.tz)[-1]
        shown = anchor = at.isoformat()
        if at.replace(tzinfo=None, fold=0) != first:
            # The clocks skip the first one: it comes later that day, and the rule keeps its own time of day.
            notes = (*notes, f"the clocks skip {first:%H:%M} on {first.date()}, so it is {at:%H:%M} then")
            following = occurs.after(first) or first
            anchor = on_clock(following, setting.tz)[-1].isoformat()
    if expr.clock_end is not None:
        ends = hours_of(expr.clock_end, expr.clock_end.part or expr.part, setting.hint)[0][0] % 24
        notes = (*notes, f"each time until {ends:02}:{expr.clock_end.minute:02}")
    workday_note = (
        ("working days are Monday to Friday; public holidays are not taken out",) if rule.workdays else ()
    )
    return replace(
        blank, kind="recurrence", rrule=text, dtstart=anchor, next=shown, exdates=exdates,
        inferred=(*notes, *clock_notes, *workday_note), confidence=0.95,
    )  # fmt: skip


def _first(
    occurs: rrule | rruleset, times: list[time], expr: Expr, start: date, setting: Setting
) -> datetime:
    """The first occurrence ahead. Without a time of day, today counts."""
    now = setting.reference.replace(tzinfo=None)
    for one in islice(occurs, _HORIZON):
        if one > now or (not times and one.date() >= now.date()):
            return one
    raise Unreadable("a repetition that never comes")


def _sub_daily(
    rule: Recurrence, expr: Expr, start: date, setting: Setting, blank: TimeResult, notes: tuple[str, ...]
) -> TimeResult:
    step = timedelta(seconds=_SUB_DAILY[rule.freq] * rule.interval)
    first = datetime.fromtimestamp((setting.reference + step).timestamp(), setting.tz)
    if expr.clock_end is not None:
        raise Unreadable("a repetition within the day that ends each day")
    if expr.clock is not None:
        times, _, more = _times(expr, setting)
        day = (
            start
            if datetime.combine(start, times[0]) > setting.reference.replace(tzinfo=None)
            else start + timedelta(1)
        )
        first, notes = on_clock(datetime.combine(day, times[0]), setting.tz)[-1], (*notes, *more)
    elif start > setting.today:
        raise Unreadable("no time of day for its first occurrence")
    text = _rule_text(rule, [])
    if expr.count:
        text += f";COUNT={expr.count}"
    text += _until(expr, first, setting)
    shown = first.isoformat()
    return replace(
        blank, kind="recurrence", rrule=text, dtstart=shown, next=shown, inferred=notes, confidence=0.95
    )


def _rule_text(rule: Recurrence, times: list[time]) -> str:
    parts = [f"FREQ={rule.freq}"]
    if rule.interval != 1:
        parts.append(f"INTERVAL={rule.interval}")
    for name, values in (
        ("BYMONTH", rule.by_month),
        ("BYMONTHDAY", rule.by_month_day),
        ("BYDAY", rule.by_day),
    ):
        if values:
            parts.append(f"{name}={','.join(map(str, values))}")
    if rule.set_pos is not None:
        parts.append(f"BYSETPOS={rule.set_pos}")
    if len(times) > 1:
        parts.append(f"BYHOUR={','.join(str(one.hour) for one in sorted(times))}")
    return ";".join(parts)


def _until(expr: Expr, first: datetime, setting: Setting) -> str:
    last: date | None = None
    if expr.until is not None:
        last = days_of(expr.until, setting)[-1].last
    elif expr.lasts is not None:
        last = first.date()
        for unit, count in whole_units(expr.lasts):
            last = shift_day(last, count, unit, setting)
        last -= timedelta(days=1)
    if last is None:
        return ""
    if last < first.date():
        raise Unreadable("a repetition that ends before it begins")
    end = on_clock(datetime.combine(last, time(23, 59, 59)), setting.tz)[-1].astimezone(UTC)
    return f";UNTIL={end:%Y%m%dT%H%M%SZ}"


def _exdates(expr: Expr, first: datetime, setting: Setting) -> tuple[str, ...]:
    found: list[str] = []
    for spec in expr.except_dates:
        if spec == ("holidays",):
            days = sorted(day for day in setting.holidays.off if day >= first.date())
        else:
            one = days_of(spec, setting)[0]
            days = [one.first + timedelta(days=step) for step in range((one.last - one.first).days + 1)]
        for day in days:
            found.append(on_clock(datetime.combine(day, first.time()), setting.tz)[-1].isoformat())
    return tuple(found)
