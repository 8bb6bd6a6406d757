"""Distances in time: 半小时后, "in 20 minutes", 三天前, within a week, two days before Christmas."""

from __future__ import annotations

from fencepost_intents.time.clocks import read_clock
from fencepost_intents.time.cursor import DAY_GRAIN, Cursor
from fencepost_intents.time.day_rules import read_day
from fencepost_intents.time.durations import read_duration
from fencepost_intents.time.model import Duration, Expr


class Distances(Cursor):
    """Reads lengths of time, and what makes an instant or a day of them."""

    __slots__ = ()

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
        if (
            kind == "F"
            and self.kinds[end + 1 : end + 2]
            and (shifted := self._counted_from(expr, duration, end))
        ):
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

    def _days_on(self, expr: Expr, at: int) -> int | None:
        """三日后: three days on, not after the third."""
        count = self.tokens.values[at]
        if self.norm[self.tokens.starts[at + 1]] != "日" or not count.is_int or count.low is not None:
            return None
        return self._set_relative(expr, Duration((("day", count.value),)), "after", at + 3)

    def _set_relative(self, expr: Expr, duration: Duration, mode: str, end: int) -> int:
        if duration.has_clock:
            expr.duration = duration
            expr.mode = "after" if mode == "after" else "ago"
        else:
            expr.date = ("rel", duration if mode == "after" else _negative(duration))
        return end

    def _counted_from(self, expr: Expr, duration: Duration, at: int) -> int | None:
        """ "two days before Christmas", "a week from Friday", "10 minutes before 3pm"."""
        if not self._is_latin(at):
            return None
        sign = -1 if self.kinds[at] == "B" else 1
        start = at + 1
        while self.kinds[start : start + 1] == "s":
            start += 1
        if not duration.has_clock and (day := read_day(self.tokens, start)):
            unit, count = duration.units[0]
            if count == int(count) and unit in DAY_GRAIN:
                expr.date = ("shifted", day[0], sign * int(count), unit)
                return day[1]
        if duration.has_clock and (clock := read_clock(self.tokens, start, bare=True)):
            expr.clock = clock[0]
            expr.duration, expr.mode = duration, "before" if sign < 0 else "after"
            return clock[1]
        return None


def _negative(duration: Duration) -> Duration:
    return Duration(tuple((unit, -count) for unit, count in duration.units), duration.vague)
