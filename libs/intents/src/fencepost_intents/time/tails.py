"""What trails a time: 前, 内, 开始; and of a repetition its end, its count, its exceptions and its start."""

from __future__ import annotations

from fencepost_intents.numbers import Number
from fencepost_intents.time.cursor import Cursor
from fencepost_intents.time.day_rules import read_day
from fencepost_intents.time.durations import read_duration
from fencepost_intents.time.model import DateSpec, Expr


class Tails(Cursor):
    """Reads what stands behind the elements of an expression."""

    __slots__ = ()

    def _trail(self, expr: Expr, at: int) -> int:
        """前, 内, 开始, and of a repetition: its end, its count, its exceptions, its start."""
        kind = self.kinds[at : at + 1]
        if (
            (kind == "B" and not self._is_latin(at) and (expr.date or expr.clock))
            or (kind == "b" and not self._is_latin(at))
            or (kind == "N" and expr.date)
        ):
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
        expr.clock, expr.part, expr.more_clocks = (
            rest.clock or expr.clock,
            rest.part or expr.part,
            rest.more_clocks,
        )
        return self._trail(expr, end)

    def _tail(self, expr: Expr, at: int) -> Expr | None:
        end = self._extra(expr, at)
        if end is None:
            return None
        expr.mode, expr.last = "tail", end
        return expr

    def _extra(self, expr: Expr, at: int) -> int | None:
        start = at
        while (
            self.kinds[start : start + 1] in (",", "s", "(")
            and start - at < 2
            and self.kinds[start : start + 1]
        ):
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
            if not self._is_latin(start) and start == at:
                expr.leftover = True  # 每天三次: three times each day, not three times in all
                return start + 2
            expr.count = _whole(self.tokens.values[start])
            return start + 2
        if kind in "vF" and (day := self._day_at(start + 1)):
            expr.starts = day[0]
            end = day[1]
            return end + (self.kinds[end : end + 1] == "v")
        if kind == "e":
            return self._exceptions(expr, start + 1)
        return self._excepted(expr, start)

    def _day_at(self, at: int) -> tuple[DateSpec, int] | None:
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


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, Number) and value.is_int else None
