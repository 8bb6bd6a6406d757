"""What a written amount is worth: which of two readings its separators allow, and its sign."""

from __future__ import annotations

from decimal import Decimal

from fencepost_intents.money.currency import Place
from fencepost_intents.numbers import Number


def open_reading(
    value: Decimal, number: Number, place: Place, vague: bool
) -> tuple[Decimal, tuple[Decimal, ...]]:
    """The value, or both readings where 3.350 may be three and a bit or three thousand."""
    if number.low is not None:
        return value, (number.low, number.value)
    if vague:
        return value, (value,)
    if not number.readings or value != number.value:
        return value, ()
    with_comma = "," in number.integral_text
    if with_comma:
        return (number.readings[1] if place.comma_is_decimal else value), ()
    if place.comma_is_decimal:
        return number.readings[1], ()
    return value, number.readings


def sign_of(norm: str, start: int, end: int) -> tuple[int, int, bool]:
    """Whether a minus, 负, or an accountant's brackets make it negative; the span grows to hold them."""
    before = norm[start - 1 : start]
    if before in ("-", "+") and before and not norm[start - 2 : start - 1].isalnum():
        return start - 1, end, before == "-"
    if before == "负":
        return start - 1, end, True
    if norm[max(0, start - 6) : start] in ("minus ",):
        return start - 6, end, True
    if before == "(" and norm[end : end + 1] == ")":
        return start - 1, end + 1, True
    inner = norm[start:end]
    return (
        start,
        end,
        len(inner) > 1
        and "-" in inner[:4]
        and inner[0] in "$€£¥₩₹"
        and inner.count("-") == 1
        and inner[1] == "-",
    )
