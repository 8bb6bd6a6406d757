"""What every reader of time expressions stands on: the tokens, the text, and the walk through an
expression.
"""

from __future__ import annotations

from typing import Final

from fencepost_intents.time.model import Expr
from fencepost_intents.tokens import Tokens

DAY_GRAIN: Final = frozenset(("day", "week", "fortnight", "workday", "month", "quarter", "year"))


class Cursor:
    """Tokens of one text. `kinds` is read at positions past the end too, as an empty string."""

    __slots__ = ("kinds", "norm", "tokens")

    def __init__(self, tokens: Tokens, norm: str) -> None:
        self.tokens, self.norm, self.kinds = tokens, norm, tokens.kinds

    def _elements(self, expr: Expr, at: int) -> int:
        """Days, clocks, parts, zones and repetitions from `at` on; where they end."""
        raise NotImplementedError

    def _whole(self, expr: Expr, at: int) -> int:
        """Elements with their second end and what trails them; where all that ends."""
        raise NotImplementedError

    def _is_latin(self, at: int) -> bool:
        return self.norm[self.tokens.starts[at]] < "\u0100"

    def _is_empty(self, expr: Expr) -> bool:
        if (
            expr.clock
            and self.kinds[expr.first] == "n"
            and self.kinds[expr.first + 1 : expr.last] == ""
            and not expr.date
        ):
            return True
        return not (expr.date or expr.clock or expr.part or expr.duration or expr.recurrence)
