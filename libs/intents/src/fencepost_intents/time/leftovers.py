"""What of a time stands unread beside it: then its reading is only a proposal."""

from __future__ import annotations

from typing import Final

from fencepost_intents.time.clocks import read_clock
from fencepost_intents.time.cursor import Cursor
from fencepost_intents.time.model import Expr

_COUNTED: Final = frozenset("人件份位名张本杯次条只台辆套天")
_AGAIN: Final = frozenset(("again", "then", "also", "morning", "afternoon", "evening", "forenoon", "noon"))
_LEFT_OVER: Final = frozenset("cmyuTfLkx")


class Leftovers(Cursor):
    """Looks behind and before an expression."""

    __slots__ = ()

    def _cut_short(self, at: int) -> bool:
        """Whether a number hangs right before (3-15上午): the expression may begin there."""
        tokens = self.tokens
        if at < 2 or self.kinds[at - 1] != "n" or self.kinds[at - 2] != "t":
            return False
        return tokens.ends[at - 1] == tokens.starts[at] and self.kinds[at] in "PT"

    def _left_over(self, expr: Expr, at: int) -> bool:
        """Whether a piece of a time stands right behind, unread: then the reading is unsure."""
        kinds = self.kinds
        if at >= len(kinds) or at == 0:
            return False
        touching = self.tokens.starts[at] - self.tokens.ends[at - 1] <= 1
        if not touching:
            return False
        if kinds[at] in _LEFT_OVER:
            return True
        if kinds[at] == "&" and expr.recurrence is None:
            # "in an hour or two", 三点或者四点: which of them?
            following = at + 1
            while kinds[following : following + 1] in ("P", ".") and self.tokens.values[following] in _AGAIN:
                following += 1
            another = read_clock(self.tokens, following)
            return another is not None or (expr.duration is not None and kinds[at + 1 : at + 2] == "n")
        counted = self.norm[self.tokens.ends[at] : self.tokens.ends[at] + 1] in _COUNTED and self.tokens.ends[
            at
        ] < len(self.norm)
        return (
            kinds[at] == "n"
            and kinds[at - 1] == "c"
            and not counted
            and kinds[at + 1 : at + 2] not in ("g", "K", "C", "J", "u")
        )
