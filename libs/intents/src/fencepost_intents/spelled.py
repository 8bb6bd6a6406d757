# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Numbers that are more than digits or number words, and rows of digits that are no number.

1/2 hour, half a million, "two and a half thousand", 9a to 11a, a telephone number, the 90s.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from fencepost_intents.numbers import (
    EN_ONES,
    EN_ORDINALS,
    EN_SCALES,
    EN_TENS,
    ZH_DIGITS,
    Number,
    read_en,
    read_zh,
)
from fencepost_intents.patterns import lazy

_MONEY: Final = r"(?:dollars?|pounds?|euros?|bucks?|quid|yuan|rmb|usd|yen|rupees?)\b"
_SCALE: Final = r"(hundred|thousand|grand|million|billion|lakh|crore)\b"
_PHONE: Final = lazy(r"\d{3,4}-\d{3,4}-\d{3,4}(?![\d-])|1[3-9]\d{9}(?!\d)")
_FRACTION: Final = lazy(
    r"([1-3])/([234])(?: ?of)?(?: an?)? ?(?=h\b|hrs?\b|hours?\b|mins?\b|minutes?\b|days?\b|years?\b)"
)
_GLUED_HALF: Final = lazy(r"(\d{1,2})([ap])(?![a-z0-9])")
_GLUED_HALF_AHEAD: Final = lazy(r" ?(?:-|to|till?|until|thru|through) ?\d{1,2}[ap](?![a-z0-9])")
_TEXTED: Final = lazy(r"2(moro|morow|morrow|mrw|nite|night|day)\b")
_TEXTED_DAYS: Final = {
    "moro": (1, None), "morow": (1, None), "morrow": (1, None), "mrw": (1, None),
    "nite": (0, "evening"), "night": (0, "evening"), "day": (0, None),
}  # fmt: skip
_DECADE: Final = lazy(r"[1-9]0s\b")
_HALF: Final = lazy(rf"half an? (?:{_SCALE}|(?={_MONEY}))")
_AND_HALF: Final = lazy(rf" and a half (?:{_SCALE}|(?={_MONEY}))")

_ZH_DECIMAL: Final = lazy(
    r"([零一二两三四五六七八九十百]+)点([零一二三四五六七八九]+)(?=个?(?:小时|钟头|天|万|亿|千|百|块|元|美|欧|英镑|倍|折|公里|米|斤|年|月|周|%))"
)


def read_row(norm: str, at: int, kinds: list[str]) -> tuple[str, Any, int] | None:
    """What a row of digits at `at` is besides a number, a date or a clock: its token's kind, value and end."""
    if found := _TEXTED.match(norm, at):
        return "D", _TEXTED_DAYS[found.group(1)], found.end()
    if norm.startswith("24/7", at) and not norm[at + 4 : at + 5].isalnum():
        return ".", "always", at + 4
    if found := _PHONE.match(norm, at):
        return ".", "phone", found.end()
    if found := _FRACTION.match(norm, at):
        value = Decimal(int(found.group(1))) / int(found.group(2))
        return "n", Number(value, False, found.end() - at), found.end()
    if (found := _DECADE.match(norm, at)) and norm[max(0, at - 4) : at] == "the ":
        return ".", "decade", found.end()
    if found := _GLUED_HALF.match(norm, at):
        hour, half = int(found.group(1)), found.group(2) + "m"
        if 1 <= hour <= 12 and (kinds[-2:] == ["T", "t"] or _GLUED_HALF_AHEAD.match(norm, found.end())):
            return "T", (hour, 0, 0, half, found.group(1)), found.end()
    return None


def read_half(norm: str, at: int) -> tuple[Number, int] | None:
    """ "half a million", "half a dollar": the number before the currency, and its end."""
    found = _HALF.match(norm, at)
    if found is None:
        return None
    value = Decimal("0.5") * EN_SCALES.get(found.group(1) or "", 1)
    return Number(value, False, found.end() - at), found.end()


def and_a_half(norm: str, value: Decimal, end: int) -> tuple[Decimal, int]:
    """A number with the half said behind it, before a scale or a currency: "two and a half million"."""
    found = _AND_HALF.match(norm, end)
    if found is None:
        return value, end
    return (value + Decimal("0.5")) * EN_SCALES.get(found.group(1) or "", 1), found.end()


def read_zh_decimal(norm: str, at: int) -> tuple[Number, int] | None:
    """三点五万, 一点五小时: a decimal said with 点, where a unit shows that it is no time of day."""
    found = _ZH_DECIMAL.match(norm, at)
    whole = read_zh(found.group(1)) if found else None
    if found is None or whole is None:
        return None
    digits = "".join(str(ZH_DIGITS[char]) for char in found.group(2))
    value, end = Decimal(f"{whole.value}.{digits}"), found.end()
    for unit, scale in (("万", 10**4), ("亿", 10**8)):
        if norm.startswith(unit, end):
            value, end = value * scale, end + 1
    return Number(value, False, end - at), end


def hyphenated(norm: str, word: str, at: int) -> tuple[str, Any, int] | None:
    """Numbers joined by a hyphen: twenty-five, twenty-fifth; seven-thirty, of which this is the hour."""
    first, _, second = word.partition("-")
    if first in EN_ONES and second in ("ten", "fifteen", "twenty", "thirty", "forty", "fifty"):
        return "n", Number(Decimal(EN_ONES[first]), False, 5), at + len(first) + 1
    if first not in EN_TENS:
        return None
    if second in EN_ORDINALS:
        return "o", EN_TENS[first] + EN_ORDINALS[second], at + len(word)
    found = read_en(norm, first, at + len(first)) if second in EN_ONES else None
    return None if found is None else ("n", Number(found[0], False, len(word)), found[1])
