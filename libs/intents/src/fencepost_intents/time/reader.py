"""Whole time expressions: days, times of day, parts, zones, repetitions and durations put together as said.

`read_times` walks the tokens once; at each token that may begin a time it reads the longest expression there.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Final

from fencepost_intents.lexer import Tokens
from fencepost_intents.numbers import Number
from fencepost_intents.patterns import lazy
from fencepost_intents.time.clocks import read_clock
from fencepost_intents.time.day_rules import read_day
from fencepost_intents.time.durations import read_duration
from fencepost_intents.time.model import Clock, Duration, Expr
from fencepost_intents.time.recur_rules import DAYS, read_recurrence

_STARTS: Final = frozenset("LDWVMUEHXPTSQRrqpnaholjbBtFIk@^~s#xZwe4u")
_NEGATED: Final = lazy(r"(?:\bnot|n't|\bno need|\bwithout|不是|不用|不要|不必|不需要|别|非)(?: (?:be|a|an|repeat|to))*\s*$")
_COUNTED: Final = frozenset("人件份位名张本杯次条只台辆套天")
_LEFT_OVER: Final = frozenset("cmyuTfLk")
_DAY_GRAIN: Final = frozenset(("day", "week", "fortnight", "workday", "month", "quarter", "year"))


def read_times(tokens: Tokens, norm: str) -> list[Expr]:
    """All time expressions, in order, not overlapping."""
    reader = _Reader(tokens, norm)
    found: list[Expr] = []
    at, size = 0, len(tokens.kinds)
    while at < size:
        if tokens.kinds[at] in _STARTS and (expr := reader.expression(at)):
            found.append(expr)
            at = expr.last
        else:
            at += 1
    # An end or an exception alone ("until Friday", 周末除外) belongs to a repetition elsewhere in the text.
    repeats = any(expr.recurrence for expr in found)
    for expr in found:
        if expr.mode == "tail" and expr.lasts and not repeats:
            expr.duration, expr.mode = expr.lasts, ""  # "for two hours"
    return [expr for expr in found if repeats or expr.mode != "tail"]


class _Reader:
    __slots__ = ("kinds", "norm", "tokens")

    def __init__(self, tokens: Tokens, norm: str) -> None:
        self.tokens, self.norm, self.kinds = tokens, norm, tokens.kinds

    def expression(self, first: int) -> Expr | None:
        expr = Expr(first, first)
        if self.kinds[first] in "we4" or (self.kinds[first] == "n" and self.kinds[first + 1 : first + 2] == "z"):
            return self._tail(expr, first)
        at = self._lead(expr, first)
        if at is None:
            return None
        if expr.ranged and self.tokens.values[first] == "since" and (day := read_day(self.tokens, at)):
            expr.date, expr.last = ("since", day[0]), day[1]
            return expr
        if expr.mode == "within" or (at > first and self.kinds[at - 1] == "I"):
            return self._relative(expr, at)
        end = self._whole(expr, at)
        if end == at:
            return None
        expr.last = end
        if self._is_empty(expr):
            return None
        expr.leftover = self._left_over(expr.last)
        return expr

    def _whole(self, expr: Expr, at: int) -> int:
        """Elements, a second end, and what trails; again while more of it follows (an end, then a time of day)."""
        end = self._elements(expr, at)
        if end == at:
            return at
        while True:
            reached = self._trail(expr, self._range(expr, end))
            again = self._elements(expr, reached) if expr.recurrence or self._repeats(expr, reached) else reached
            if again == end or again == reached:
                return again
            end = again

    def _repeats(self, expr: Expr, at: int) -> bool:
        """Whether a repetition follows a row of weekdays (周一到周五每天)."""
        return expr.date_end is not None and self.kinds[at : at + 1] in ("R", "Q")

    def _lead(self, expr: Expr, at: int) -> int | None:
        """A word that leads a time: by, before, from, in. None when nothing can follow."""
        kind = self.kinds[at]
        if kind == "b" or (kind == "B" and self._is_latin(at)) or (kind == "t" and self._is_latin(at) and self.norm[self.tokens.starts[at] :][:5] in ("until", "till ", "til ")):
            expr.deadline = True
        elif kind == "F":
            expr.ranged = True
        elif kind == "I":
            if self.tokens.values[at] == "within":
                expr.mode = "within"
        elif kind not in "@s":
            return at
        elif kind == "s" and self.kinds[at + 1 : at + 2] in ("s", "", "."):
            return None
        elif kind == "@" or read_recurrence(self.tokens, at) or read_day(self.tokens, at):
            return at
        return at + 1

    def _is_latin(self, at: int) -> bool:
        return self.norm[self.tokens.starts[at]] < "\u0100"

    # --- Relative: in 20 minutes, 半小时后, 三天前, within a week -------------------------------------------------

    def _relative(self, expr: Expr, at: int) -> Expr | None:
        while self.kinds[at : at + 1] == "s":
            at += 1
        found = read_duration(self.tokens, at)
        if found is None:
            day = read_day(self.tokens, at)  # "in March", "in the morning" are days, not lengths
            if day is None and self.kinds[at : at + 1] != "P":
                return None
            end = self._whole(expr, at)
            if end == at or self._is_empty(expr):
                return None
            expr.deadline, expr.mode, expr.last = expr.mode == "within", "", end
            return expr
        expr.duration, at = found
        expr.mode = expr.mode or "after"
        if self.kinds[at : at + 1] == "N":
            expr.mode, at = "within", at + 1
        elif self.kinds[at : at + 1] == "A":
            at += 1
        expr.last = at
        if expr.mode == "after" and not expr.duration.has_clock:
            expr.date, expr.duration = ("rel", expr.duration), None
            expr.last = self._elements(expr, at)
        return expr

    def _duration(self, expr: Expr, at: int) -> int | None:
        """A length with what makes it a time: 后, 前, ago, 内; or alone."""
        found = read_duration(self.tokens, at)
        if found is None:
            return None
        duration, end = found
        kind = self.kinds[end : end + 1]
        if kind == "A" and (shifted := self._counted_from(expr, duration, end)):
            return shifted
        if kind == "A":
            # "an hour after the meeting" counts from an event that isn't known.
            if self.tokens.values[end] == "after" and self._is_latin(end):
                return None
            return self._set_relative(expr, duration, "after", end + 1)
        if kind == "F" and self.kinds[end + 1 : end + 2] and (shifted := self._counted_from(expr, duration, end)):
            return shifted
        if kind == "G" or (kind == "B" and not self._is_latin(end)):
            return self._set_relative(expr, duration, "ago", end + 1)
        if kind == "B" and (shifted := self._counted_from(expr, duration, end)):
            return shifted
        if kind == "N":
            expr.duration, expr.mode = duration, "within"
            return end + 1
        if expr.date or expr.clock or expr.part or expr.recurrence:
            return None
        expr.duration = duration
        return end

    def _set_relative(self, expr: Expr, duration: Duration, mode: str, end: int) -> int:
        if duration.has_clock:
            expr.duration = duration
            expr.mode = "after" if mode == "after" else "ago"
        else:
            expr.date = ("rel", duration if mode == "after" else _negative(duration))
        return end

    def _counted_from(self, expr: Expr, duration: Duration, at: int) -> int | None:
        """"two days before Christmas", "a week from Friday", "10 minutes before 3pm"."""
        if not self._is_latin(at):
            return None
        sign = -1 if self.kinds[at] == "B" else 1
        start = at + 1
        while self.kinds[start : start + 1] == "s":
            start += 1
        if not duration.has_clock and (day := read_day(self.tokens, start)):
            unit, count = duration.units[0]
            if count == int(count) and unit in _DAY_GRAIN:
                expr.date = ("shifted", day[0], sign * int(count), unit)
                return day[1]
        if duration.has_clock and (clock := read_clock(self.tokens, start, bare=True)):
            expr.clock = clock[0]
            expr.duration, expr.mode = duration, "before" if sign < 0 else "after"
            return clock[1]
        return None

    # --- Elements ------------------------------------------------------------------------------------------------

    def _elements(self, expr: Expr, at: int) -> int:
        """Days, clocks, parts, zones and repetitions, in any order, each once; glue between them is passed over."""
        end = at
        while True:
            start = end
            for _ in range(4):
                reached = self._element(expr, start)
                if reached is not None:
                    end = reached
                    break
                kind = self.kinds[start : start + 1]
                glue = kind in ("s", "(", ")", "@") or (kind == "," and self._may_join(expr)) or (kind == "I" and self._is_latin(start))
                if not kind or not glue or start - end > 2:
                    return end
                start += 1
            else:
                return end

    def _may_join(self, expr: Expr) -> bool:
        """A comma joins "Friday, March 6, 9am"; after a whole day and time it parts."""
        return not (expr.date and expr.clock) or expr.recurrence is not None

    def _element(self, expr: Expr, at: int) -> int | None:
        kind = self.kinds[at : at + 1]
        if not kind or kind in ".,()":
            return None
        if kind == "Z" and expr.zone is None:
            expr.zone = self.tokens.values[at]
            return at + 1
        if expr.recurrence is None and kind in "RrQso(p^u" and (reached := self._recurrence(expr, at)):
            return reached
        if kind == "P" and expr.part is None and expr.clock is None:
            if self.tokens.values[at] not in ("noon_exact", "midnight"):
                expr.part = self.tokens.values[at]
                return at + 1
        elif kind == "P" and expr.clock and not expr.clock.part and self.tokens.values[at] not in ("noon_exact", "midnight"):
            expr.part = self.tokens.values[at]
            return at + 1
        if expr.clock is None and (reached := self._clock(expr, at)):
            return reached
        if expr.recurrence is not None and expr.clock and kind == "&" and (more := read_clock(self.tokens, at + 1, bare=True)):
            expr.more_clocks.append(more[0])
            return more[1]
        if kind == "n" and self.kinds[at + 1 : at + 2] in ("y", "m", "d", "X", "x") and (reached := self._day(expr, at)):
            return reached
        if kind == "u" and self.kinds[at + 1 : at + 2] in ("B", "A") and expr.date is None and self.tokens.values[at] in ("day", "week", "month"):
            return self._counted_from(expr, Duration(((self.tokens.values[at], Decimal(1)),)), at + 1)
        if kind in "nahk#" and not expr.duration and (expr.date is None) and (reached := self._duration(expr, at)):
            return reached
        return self._day(expr, at)

    def _clock(self, expr: Expr, at: int) -> int | None:
        after_day = expr.date is not None or expr.part is not None or expr.recurrence is not None or expr.deadline
        bare = (after_day or expr.ranged) and (expr.last or self._is_latin(at)) and self.kinds[at] == "n"
        if self.kinds[at] == "n" and self._leads_range(at):
            bare = True
        elif bare and self.kinds[at + 1 : at + 2] in ("d", "m", "u", "o", "M", "U", "g"):
            bare = False
        found = read_clock(self.tokens, at, bare=bool(bare))
        if found is None:
            return None
        expr.clock = found[0]
        return found[1]

    def _leads_range(self, at: int) -> bool:
        """"3-5pm", 3到5点, "5 in the morning", "7 tonight": a number that what follows makes an hour."""
        following = self.kinds[at + 1 : at + 4]
        if following[:2] == "tT" or following in ("tnc", "tnx"):
            return True
        if following[:1] == "P" and self._is_latin(at + 1):
            return True
        return following[:1] == "D" and self._is_latin(at + 1) and self.tokens.values[at + 1][1] is not None

    def _day(self, expr: Expr, at: int) -> int | None:
        kind = self.kinds[at]
        if expr.date is not None:
            if kind in "WV" and expr.date[0] in ("ymd", "slash", "dom", "day", "rel", "month_day"):
                expr.date = ("check_weekday", expr.date, self.tokens.values[at])
                return at + 1 + (self.kinds[at + 1 : at + 2] == ")")
            if expr.date[0] != "weekday":
                return None
        found = read_day(self.tokens, at)
        if found is None or self.tokens.values[at] == "*":
            return None
        spec, end, part = found
        if expr.date is not None:
            if spec[0] not in ("ymd", "slash", "dom", "month_day"):
                return None
            spec = ("check_weekday", spec, expr.date[1])
        expr.date = spec
        if part and expr.part is None:
            expr.part = part
        return self._shift(expr, end)

    def _shift(self, expr: Expr, at: int) -> int:
        """周五前两天, 月底前三天: days counted from a day, in Chinese order."""
        if self.kinds[at : at + 1] in ("A", "B") and self.kinds[at : at + 1] and not self._is_latin(at):
            found = read_duration(self.tokens, at + 1)
            if found and len(found[0].units) == 1 and found[0].units[0][0] in _DAY_GRAIN:
                unit, count = found[0].units[0]
                sign = -1 if self.kinds[at] == "B" else 1
                expr.date = ("shifted", expr.date, sign * int(count), unit)
                return found[1]
        return at

    def _recurrence(self, expr: Expr, at: int) -> int | None:
        found = read_recurrence(self.tokens, at)
        if found is None:
            return None
        before = self.norm[max(0, self.tokens.starts[at] - 24) : self.tokens.starts[at]]
        if _NEGATED.search(before):
            return None
        rule, end = found
        expr.recurrence = expr.recurrence or rule
        expr.part = expr.part or rule.part
        return end

    # --- Ranges and what trails ----------------------------------------------------------------------------------

    def _range(self, expr: Expr, at: int) -> int:
        """到 / to: a second day or clock ends a span."""
        kind = self.kinds[at : at + 1]
        if kind not in ("t", "&") or (expr.recurrence is not None and kind == "&") or expr.duration:
            return at
        if kind == "&" and not expr.ranged:
            return at
        other = Expr(at + 1, 1)
        start = at + 1
        while self.kinds[start : start + 1] in ("s", "@") and self.kinds[start : start + 1]:
            start += 1
        other.ranged = True
        end = self._elements(other, start)
        if end == start or other.duration:
            return at
        if other.recurrence is not None:
            return end if self._weekday_row(expr, other) else at
        if expr.recurrence is not None and other.date is not None:
            return at  # an end of the repetition, read by `_trail`
        if not self._take_end(expr, other):
            return at
        expr.zone = expr.zone or other.zone
        return end

    def _weekday_row(self, expr: Expr, other: Expr) -> bool:
        """周一到周五每天九点: the repetition was read with the second weekday."""
        days = (expr.date, other.date)
        if expr.clock or expr.recurrence or not all(day and day[0] == "weekday" for day in days):
            return False
        expr.date_end, expr.recurrence = other.date, other.recurrence
        expr.clock, expr.part, expr.more_clocks = other.clock, other.part, other.more_clocks
        return True

    def _take_end(self, expr: Expr, other: Expr) -> bool:
        if other.clock is not None and expr.clock is None and other.date is None:
            return False
        if other.clock and expr.clock and other.date and expr.date is None and not expr.deadline:
            expr.date, other.date = other.date, None  # from 3 to 5pm tomorrow
        expr.date_end, expr.clock_end = other.date, other.clock
        if other.clock and other.part:
            expr.clock_end = replace(other.clock, part=other.part)
        if expr.clock and other.clock and not expr.clock.half and not expr.part:
            # "3-5pm": the half said once holds for both, unless that turns the order.
            if other.clock.half and expr.clock.hour <= other.clock.hour % 12:
                expr.clock = replace(expr.clock, half=other.clock.half)
        return expr.date_end is not None or expr.clock_end is not None

    def _trail(self, expr: Expr, at: int) -> int:
        """前, 内, 开始, and of a repetition: its end, its count, its exceptions, its start."""
        kind = self.kinds[at : at + 1]
        if (kind == "B" and not self._is_latin(at) and (expr.date or expr.clock)) or (kind == "b" and not self._is_latin(at)) or (kind == "N" and expr.date):
            expr.deadline = True
            at += 1
        elif kind == "v" and not self._is_latin(at) and expr.recurrence is None:
            return self._started(expr, at)
        if expr.recurrence is None:
            return at
        while (reached := self._extra(expr, at)) is not None:
            at = reached
        return at

    def _started(self, expr: Expr, at: int) -> int:
        """从下周一开始每天八点: the day before 开始 begins the repetition after it."""
        rest = Expr(expr.first, at + 1)
        start = at + 1
        if self.kinds[start : start + 1] == ",":
            start += 1
        end = self._elements(rest, start)
        if rest.recurrence is None:
            return at
        expr.starts, expr.date, expr.recurrence = expr.date, rest.date, rest.recurrence
        expr.clock, expr.part, expr.more_clocks = rest.clock or expr.clock, rest.part or expr.part, rest.more_clocks
        return self._trail(expr, end)

    def _tail(self, expr: Expr, at: int) -> Expr | None:
        end = self._extra(expr, at)
        if end is None:
            return None
        expr.mode, expr.last = "tail", end
        return expr

    def _extra(self, expr: Expr, at: int) -> int | None:
        start = at
        while self.kinds[start : start + 1] in (",", "s", "(") and start - at < 2 and self.kinds[start : start + 1]:
            start += 1
        kind = self.kinds[start : start + 1]
        if not kind:
            return None
        if kind in "tw" and (day := self._day_at(start + 1)):
            expr.until = day[0]
            return day[1]
        if kind == "4" and (counted := self._counted(expr, start + 1)):
            return counted
        if kind == "n" and self.kinds[start + 1 : start + 2] == "z":
            expr.count = _whole(self.tokens.values[start])
            return start + 2
        if kind in "vF" and (day := self._day_at(start + 1)):
            expr.starts = day[0]
            end = day[1]
            return end + (self.kinds[end : end + 1] == "v")
        if kind == "e":
            return self._exceptions(expr, start + 1)
        return self._excepted(expr, start)

    def _day_at(self, at: int) -> tuple[tuple[object, ...], int] | None:
        while self.kinds[at : at + 1] == "s":
            at += 1
        found = read_day(self.tokens, at)
        return None if found is None else (found[0], found[1])

    def _counted(self, expr: Expr, at: int) -> int | None:
        if self.kinds[at : at + 1] == "n" and self.kinds[at + 1 : at + 2] == "z":
            expr.count = _whole(self.tokens.values[at])
            return at + 2
        if self.kinds[at : at + 2] == "sp":
            at += 1
        if self.kinds[at : at + 1] == "p":
            at += 1
        found = read_duration(self.tokens, at)
        if found is None:
            return None
        expr.lasts = found[0]
        return found[1]

    def _exceptions(self, expr: Expr, at: int) -> int | None:
        """除了周三和周五, except Wednesdays and holidays."""
        start = at
        while at < len(self.kinds):
            kind = self.kinds[at]
            if kind in "W" and kind:
                expr.except_days += (self.tokens.values[at],)
                at += 1
            elif kind == "Q" and len(self.tokens.values[at]) > 3:
                expr.except_days += self.tokens.values[at][3]
                at += 1
            elif kind == "E":
                expr.except_days += (5, 6)
                at += 1
            elif kind == "H" and self.tokens.values[at] == "*":
                expr.except_dates += (("holidays",),)
                at += 1
            elif (kind in "&s," and at > start) or (kind == "s" and at == start):
                at += 1
            elif kind == "O" or kind == "A":
                at += 1
                break
            elif (day := read_day(self.tokens, at)) is not None:
                expr.except_dates += (day[0],)
                at = day[1]
            else:
                break
        return at if expr.except_days or expr.except_dates else None

    def _excepted(self, expr: Expr, at: int) -> int | None:
        """周末除外, 节假日不提醒: the exception stands before its word."""
        probe = Expr(at, at)
        end = self._exceptions(probe, at)
        if end is None or end <= at or self.kinds[end - 1] != "O":
            return None
        expr.except_days += probe.except_days
        expr.except_dates += probe.except_dates
        return end

    # --- Checks --------------------------------------------------------------------------------------------------

    def _is_empty(self, expr: Expr) -> bool:
        if expr.clock and self.kinds[expr.first] == "n" and self.kinds[expr.first + 1 : expr.last] == "" and not expr.date:
            return True
        return not (expr.date or expr.clock or expr.part or expr.duration or expr.recurrence)

    def _left_over(self, at: int) -> bool:
        """Whether a piece of a time stands right behind, unread: then the reading is unsure."""
        kinds = self.kinds
        if at >= len(kinds) or at == 0:
            return False
        touching = self.tokens.starts[at] - self.tokens.ends[at - 1] <= 1
        if not touching:
            return False
        if kinds[at] in _LEFT_OVER:
            return True
        counted = self.norm[self.tokens.ends[at] : self.tokens.ends[at] + 1] in _COUNTED and self.tokens.ends[at] < len(self.norm)
        return kinds[at] == "n" and kinds[at - 1] == "c" and not counted and kinds[at + 1 : at + 2] not in ("g", "K", "C", "J", "u")


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, Number) and value.is_int else None


def _negative(duration: Duration) -> Duration:
    return Duration(tuple((unit, -count) for unit, count in duration.units), duration.vague)


def clock_with_part(clock: Clock, part: str | None) -> Clock:
    """The clock with the part of day said beside it."""
    return replace(clock, part=part) if part and clock.part is None and clock.half is None else clock


__all__ = ["DAYS", "clock_with_part", "read_times"]
