"""Ranges: a second day or time of day after 到 or "to"."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fencepost_intents.time.cursor import Cursor
from fencepost_intents.time.model import Expr

# Kinds behind a number that make it something else than a day.
_NO_DAY: Final = frozenset("cxudmygkKCJf%Pts")


class Ranges(Cursor):
    """Reads the second end of an expression."""

    __slots__ = ()

    def _range(self, expr: Expr, at: int) -> int:
        """到 / to: a second day or clock ends a span."""
        kind = self.kinds[at : at + 1]
        if kind not in ("t", "&") or (expr.recurrence is not None and kind == "&") or expr.duration:
            return at
        if kind == "&" and not expr.ranged:
            return at
        if (end := self._bare_day(expr, at + 1)) is not None:
            return end
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

    def _bare_day(self, expr: Expr, at: int) -> int | None:
        """July 13-15: a number after a written day is another day of its month."""
        kind, following = self.kinds[at : at + 1], self.kinds[at + 1 : at + 2]
        if kind not in ("n", "o") or not kind or expr.clock or expr.date is None or following in _NO_DAY:
            return None
        if expr.date[0] not in ("ymd", "dom") or not self._is_latin(at):
            return None
        day = self.tokens.values[at]
        number = day if isinstance(day, int) else int(day) if day.is_int else 0
        if not 1 <= number <= 31 or (following in ("M", "U") and following):
            return None
        expr.date_end = ("dom", number)
        return at + 1

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
        one, two = expr.clock, other.clock
        if one and two and two.half and not one.half and not expr.part and one.hour <= two.hour % 12:
            # "3-5pm": the half said once holds for both, unless that turns the order.
            expr.clock = replace(one, half=two.half)
        return expr.date_end is not None or expr.clock_end is not None
