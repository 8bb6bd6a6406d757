"""Whole time expressions: days, times of day, parts, zones, repetitions and durations put together as said.

`read_times` walks the tokens once; at each token that may begin a time it reads the longest expression there.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Final

from fencepost_intents.patterns import lazy
from fencepost_intents.time.clocks import read_clock
from fencepost_intents.time.day_elements import DayElements
from fencepost_intents.time.day_rules import read_day
from fencepost_intents.time.distances import Distances
from fencepost_intents.time.leftovers import Leftovers
from fencepost_intents.time.model import Duration, Expr
from fencepost_intents.time.ranges import Ranges
from fencepost_intents.time.recur_rules import DAYS, read_recurrence
from fencepost_intents.time.tails import Tails
from fencepost_intents.tokens import Tokens

_STARTS: Final = frozenset("LDWVMUEHXPTSQRrqpnaholjbBtFIk@^~s#xZwe4u")
_NEGATED: Final = lazy(
    r"(?:\bnot|n't|\bno need|\bwithout|不是|不用|不要|不必|不需要|别|非)(?: (?:be|a|an|repeat|to))*\s*$"
)


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


class _Reader(Tails, Ranges, Distances, DayElements, Leftovers):
    """Reads the elements of an expression and puts it together."""

    __slots__ = ()

    def expression(self, first: int) -> Expr | None:
        expr = Expr(first, first)
        if self.kinds[first] in "WEHQ" and "O" in self.kinds[first : first + 6]:
            return self._tail(expr, first)
        run = self.kinds[first] == "4" and self.tokens.values[first] == "run"
        if (self.kinds[first] in "we4" and not run) or (
            self.kinds[first] == "n" and self.kinds[first + 1 : first + 2] == "z"
        ):
            return self._tail(expr, first)
        at = self._lead(expr, first)
        if at is None:
            return None
        if expr.ranged and self.tokens.values[first] == "since" and (day := read_day(self.tokens, at)):
            expr.date, expr.last = ("since", day[0]), day[1]
            return expr
        if expr.mode == "within" or (at > first and self.kinds[at - 1] == "I"):
            found = self._relative(expr, at)
            if found is not None:
                found.leftover = found.leftover or self._left_over(found, found.last)
            return found
        end = self._shared_month(expr, at) or self._whole(expr, at)
        if end == at:
            return None
        expr.last = end
        if self._is_empty(expr):
            return None
        expr.leftover = expr.leftover or self._left_over(expr, expr.last) or self._cut_short(first)
        return expr

    def _whole(self, expr: Expr, at: int) -> int:
        """Elements, a second end, and what trails; again while more of it follows (an end, then a time of
        day).
        """
        end = self._elements(expr, at)
        if end == at:
            return at
        while True:
            reached = self._trail(expr, self._range(expr, end))
            again = (
                self._elements(expr, reached) if expr.recurrence or self._repeats(expr, reached) else reached
            )
            if again in (end, reached):
                return again
            end = again

    def _repeats(self, expr: Expr, at: int) -> bool:
        """Whether a repetition follows a row of weekdays (周一到周五每天)."""
        return expr.date_end is not None and self.kinds[at : at + 1] in ("R", "Q")

    def _lead(self, expr: Expr, at: int) -> int | None:
        """A word that leads a time: by, before, from, in. None when nothing can follow."""
        kind = self.kinds[at]
        latin = self._is_latin(at)
        until = (
            kind == "t" and latin and self.norm.startswith(("until", "till ", "til "), self.tokens.starts[at])
        )
        if kind == "b" or (kind == "B" and latin) or until:
            expr.deadline = True
        elif kind == "F":
            expr.ranged = True
        elif kind == "I":
            expr.mode = "within" if self.tokens.values[at] == "within" else expr.mode
        elif kind not in "@s":
            return at
        elif kind == "s" and self.kinds[at + 1 : at + 2] in ("s", "", "."):
            return None
        elif kind == "@" or read_recurrence(self.tokens, at) or read_day(self.tokens, at):
            return at
        return at + 1

    def _elements(self, expr: Expr, at: int) -> int:
        """Days, clocks, parts, zones and repetitions, in any order, each once; glue between them is passed
        over.
        """
        end = at
        while True:
            start = end
            for _ in range(4):
                reached = self._element(expr, start)
                if reached is not None:
                    end = reached
                    break
                kind = self.kinds[start : start + 1]
                glue = (
                    kind in ("s", "(", ")", "@")
                    or (kind == "," and self._may_join(expr, start))
                    or (kind == "4" and expr.date and self.kinds[start + 1 : start + 2] == "T")
                    or (kind == "I" and self._is_latin(start))
                )
                if kind == "F" and self._range_follows(expr, start):
                    glue = expr.ranged = True
                if not kind or not glue or start - end > 2:
                    return end
                start += 1
            else:
                return end

    def _range_follows(self, expr: Expr, at: int) -> bool:
        """Thursday from 9:30 to 11, 明天从三点到五点: a range of hours behind its day."""
        following = self.kinds[at + 1 : at + 5]
        dated = (expr.date is not None or expr.recurrence is not None) and expr.clock is None
        return dated and following.startswith(("T", "nt", "n&T", "n&n", "nct", "Pnc", "PT"))

    def _may_join(self, expr: Expr, at: int) -> bool:
        """A comma joins "Friday, March 6, 9am"; else it parts but for a weekday's date."""
        if expr.date and expr.clock and expr.recurrence is None:
            return expr.date[0] == "weekday" and self.kinds[at + 1 : at + 2] in ("M", "U", "L")
        return True

    def _element(self, expr: Expr, at: int) -> int | None:
        """One element at a token, put into the expression; the token after it."""
        kind = self.kinds[at : at + 1]
        if not kind or kind in ".,()":
            return None
        if kind == "Z" and expr.zone is None:
            expr.zone = self.tokens.values[at]
            return at + 1
        if expr.recurrence is None and kind in "RrQso(p^u4" and (reached := self._recurrence(expr, at)):
            return reached
        if kind == "P" and (reached := self._part(expr, at)):
            return reached
        if expr.clock is None and (reached := self._clock(expr, at)):
            return reached
        if expr.recurrence and kind == "Q" and (reached := self._days_of_rule(expr, at)):
            return reached
        if (
            kind == "&"
            and expr.recurrence
            and expr.clock
            and not expr.ranged
            and (reached := self._another_clock(expr, at + 1))
        ):
            return reached
        return self._counted_or_day(expr, at, kind)

    def _another_clock(self, expr: Expr, at: int) -> int | None:
        """每天早上七点和晚上九点: a second time of day, maybe with its own part of day."""
        part = self.tokens.values[at] if self.kinds[at : at + 1] == "P" else None
        more = read_clock(self.tokens, at + (part is not None), bare=True)
        if more is None:
            return None
        end = more[1]
        step = 1 + self.kinds.startswith("RP", end)  # 9 every night
        if self.kinds.startswith(("P", "RP"), end):
            part, end = self.tokens.values[end + step - 1], end + step
        expr.more_clocks.append(replace(more[0], part=part))
        return end

    def _days_of_rule(self, expr: Expr, at: int) -> int | None:
        """ "weekly on Tuesdays": the days of a rule that has none yet."""
        rule, value = expr.recurrence, self.tokens.values[at]
        if rule is None or rule.freq != "WEEKLY" or rule.by_day or len(value) < 4:
            return None
        expr.recurrence = replace(rule, by_day=tuple(DAYS[day] for day in value[3]))
        return at + 1

    def _part(self, expr: Expr, at: int) -> int | None:
        part = self.tokens.values[at]
        if part in ("noon_exact", "midnight") or (
            expr.part is not None and (expr.clock is None or part != expr.part)
        ):
            return None
        if expr.clock is not None and expr.clock.part:
            return None
        expr.part = part
        return at + 1

    def _counted_or_day(self, expr: Expr, at: int, kind: str) -> int | None:
        following = self.kinds[at + 1 : at + 2]
        if self.kinds[at : at + 3] == "ndA" and not expr.date and (reached := self._days_on(expr, at)):
            return reached
        if kind == "n" and following in ("y", "m", "d", "X", "x") and (reached := self._day(expr, at)):
            return reached
        unit = self.tokens.values[at]
        if kind == "u" and following in ("B", "A") and expr.date is None and unit in ("day", "week", "month"):
            return self._counted_from(expr, Duration(((unit, Decimal(1)),)), at + 1)
        if (
            kind in "nahk#"
            and not expr.duration
            and expr.date is None
            and (reached := self._duration(expr, at))
        ):
            return reached
        return self._day(expr, at)

    def _clock(self, expr: Expr, at: int) -> int | None:
        after_day = (
            expr.date is not None or expr.part is not None or expr.recurrence is not None or expr.deadline
        )
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
        """ "3-5pm", 3到5点, "5 in the morning", "7 tonight": a number that what follows makes an hour."""
        following = self.kinds[at + 1 : at + 4]
        if following[:2] == "tT" or following in ("tnc", "tnx"):
            return True
        if following[:2] in ("nP", "nD") and self._is_latin(at + 2) and self._is_latin(at):
            return True  # three thirty in the afternoon
        if following[:1] == "P" and self._is_latin(at + 1):
            return True
        if following[:1] != "D" or not self._is_latin(at + 1):
            return False
        number = self.tokens.values[at]
        return self.tokens.values[at + 1][1] is not None or (number.digits and number.width >= 3)

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
