"""The day of an expression: with its weekday, in a row of weekdays, or counted from another day."""

from __future__ import annotations

from typing import Final

from fencepost_intents.patterns import lazy
from fencepost_intents.time.cursor import DAY_GRAIN, Cursor
from fencepost_intents.time.day_rules import read_day
from fencepost_intents.time.durations import read_duration
from fencepost_intents.time.model import DateSpec, Expr

_ROW: Final = lazy(r"[&,]{1,2}[WV]")


class DayElements(Cursor):
    """Reads a day into an expression that may have one already."""

    __slots__ = ()

    def _day(self, expr: Expr, at: int) -> int | None:
        kind = self.kinds[at]
        if expr.date is not None:
            if kind in "WV" and expr.date[0] in ("ymd", "slash", "dom", "day", "rel", "month_day"):
                expr.date = ("check_weekday", expr.date, self.tokens.values[at])
                return at + 1 + (self.kinds[at + 1 : at + 2] == ")")
            if (
                expr.date[0] == "month"
                and (day := read_day(self.tokens, at))
                and day[0][0] == "dom"
                and len(day[0]) == 2
            ):
                expr.date = ("dom", day[0][1], expr.date[1])  # next month on the 3rd
                return day[1]
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
        if spec[0] == "weekday" and (beside := self._beside(spec, end)):
            spec, end = beside
        elif spec[0] == "weekday" and not expr.ranged:
            spec, end = self._row_of_weekdays(spec, end)
        expr.date = spec
        if part and expr.part is None:
            expr.part = part
        return self._shift(expr, end)

    def _beside(self, spec: DateSpec, at: int) -> tuple[DateSpec, int] | None:
        """ "the Monday before Christmas", "the Friday after Thanksgiving"."""
        if self.kinds[at : at + 1] not in ("A", "B") or not self._is_latin(at):
            return None
        day = read_day(self.tokens, at + 1)
        if day is None or day[0][0] not in ("holiday", "past_holiday") or "*" in day[0]:
            return None
        return ("beside", spec[1], day[0], -1 if self.kinds[at] == "B" else 1), day[1]

    def _row_of_weekdays(self, spec: DateSpec, end: int) -> tuple[DateSpec, int]:
        """ "Monday, Wednesday and Friday", without every: each is a reading."""
        days = [spec]
        while (row := _ROW.match(self.kinds, end)) is not None:
            days.append(("weekday", self.tokens.values[row.end() - 1]))
            end = row.end()
        return (spec if len(days) == 1 else ("either", *days)), end

    def _shift(self, expr: Expr, at: int) -> int:
        """周五前两天, 月底前三天: days counted from a day, in Chinese order."""
        if self.kinds[at : at + 1] in ("A", "B") and self.kinds[at : at + 1] and not self._is_latin(at):
            found = read_duration(self.tokens, at + 1)
            if found and len(found[0].units) == 1 and found[0].units[0][0] in DAY_GRAIN:
                unit, count = found[0].units[0]
                sign = -1 if self.kinds[at] == "B" else 1
                expr.date = ("shifted", expr.date, sign * int(count), unit)
                return found[1]
        return at
