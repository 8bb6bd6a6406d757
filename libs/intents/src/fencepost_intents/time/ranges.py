"""Ranges: a second day or time of day after 到 or "to"."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fencepost_intents.patterns import lazy
from fencepost_intents.time.cursor import Cursor
from fencepost_intents.time.day_numbers import int_in
from fencepost_intents.time.model import Expr

# Kinds behind a number that make it something else than a day.
_MONTH_ROW: Final = lazy(r"s*([no])[t&]s*([no])s*(?:(M)|(U)(?!\.))(?:,?(n)(?![ugkKCJ%x]))?")
_YEARS: Final = lazy(r"(n)[t&](n)(?![cugkKCJf%xTP])")
_ZH_MONTHS: Final = lazy(r"(n)t(n)m(?![nio])")
_NO_DAY: Final = frozenset("cxudmygkKCJf%Pts")

_COUNTED: Final = frozenset("人件份位名张本杯次条只台辆套块折倍成度")
_ROW_STARTS: Final = frozenset(("weekday", "week_weekday", "ymd", "dom", "day"))


class Ranges(Cursor):
    """Reads the second end of an expression."""

    __slots__ = ()

    def _shared_month(self, expr: Expr, at: int) -> int | None:
        """ "from 13 to 15 July", "between the 5th and 9th of June", 十一至十二月: one month for both."""
        if found := _ZH_MONTHS.match(self.kinds, at):
            months = [int_in(self.tokens.values[found.start(group)], 1, 12) for group in (1, 2)]
            if None in months or self._is_latin(found.end() - 1):
                return None
            expr.date, expr.date_end = ("named_month", months[0]), ("named_month", months[1])
            return found.end()
        if expr.ranged and (found := _YEARS.match(self.kinds, at)):
            years = [int_in(self.tokens.values[found.start(group)], 1900, 2200) for group in (1, 2)]
            if None not in years:
                expr.date, expr.date_end = ("named_year", years[0]), ("named_year", years[1])
                return found.end()
        found = _MONTH_ROW.match(self.kinds, at)
        if found is None or ("&" in found.group() and not expr.ranged):
            return None
        values = [self.tokens.values[found.start(group)] for group in (1, 2)]
        days = [int_in(value, 1, 31) for value in values]
        month = self.tokens.values[found.start(3) if found.group(3) else found.start(4)]
        year = int_in(self.tokens.values[found.start(5)], 1900, 2200) if found.group(5) else None
        if None in days or (found.group(5) and year is None):
            return None
        expr.date, expr.date_end = ("ymd", year, month, days[0]), ("ymd", year, month, days[1])
        return found.end()

    def _range(self, expr: Expr, at: int) -> int:
        """到 / to: a second day or clock ends a span."""
        kind = self.kinds[at : at + 1]
        if (
            kind not in ("t", "&")
            or (expr.recurrence is not None and kind == "&" and not expr.ranged)
            or expr.duration
        ):
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
        if not self._is_latin(at - 1):
            return self._bare_day_zh(expr, at)
        if expr.date[0] not in ("ymd", "dom") or not self._is_latin(at):
            return None
        day = self.tokens.values[at]
        number = day if isinstance(day, int) else int(day) if day.is_int else 0
        if not 1 <= number <= 31 or (following in ("M", "U") and following):
            return None
        expr.date_end = ("dom", number)
        return at + 1

    def _bare_day_zh(self, expr: Expr, at: int) -> int | None:
        """星期三到五, 三月十三到十五: a number that counts nothing is a day like the one before."""
        value, end = self.tokens.values[at], self.tokens.ends[at]
        if expr.date is None or self.norm[end : end + 1] in _COUNTED:
            return None
        if expr.date[0] == "weekday" and (day := int_in(value, 1, 6)):
            expr.date_end = ("weekday", day - 1)
            return at + 1
        if expr.date[0] == "ymd" and (day := int_in(value, 1, 31)) and day > expr.date[3]:
            expr.date_end = ("dom", day)
            return at + 1
        return None

    def _weekday_row(self, expr: Expr, other: Expr) -> bool:
        """周一到周五每天九点: the repetition was read with the second weekday."""
        if expr.date is None or other.date is None or expr.clock or expr.recurrence:
            return False
        if expr.date[0] not in _ROW_STARTS or other.date[0] not in ("weekday", "ymd", "dom"):
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
