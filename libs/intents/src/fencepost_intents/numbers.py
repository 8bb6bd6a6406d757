# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Numbers as people write and say them, as exact decimals.

Chinese plain and financial numerals, mixed digits (`3万5`), spoken short forms (`一万二` is 12000,
`一万零二` 10002),
English number words, and separators, where `1,234.50` and `1.234,50` differ and `3.350` may be either.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from fencepost_intents.patterns import lazy

ZH_DIGITS: Final = {char: value for value, chars in enumerate(
    ("零", "一壹幺", "二贰两俩", "三叁仨", "四肆", "五伍", "六陆", "七柒", "八捌", "九玖")
) for char in chars}  # fmt: skip
_SMALL: Final = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_BIG: Final = {"万": 10**4, "亿": 10**8}
_TENS: Final = {"廿": 20, "卅": 30}
NUMERALS: Final = frozenset("".join(ZH_DIGITS) + "".join(_SMALL) + "".join(_TENS))
_RUN: Final = lazy(
    r"(?:\d+(?:,\d{3})*(?:\.\d+)?|[零一壹幺二贰两俩三叁仨四肆五伍六陆七柒八捌九玖十拾百佰千仟万亿廿卅])+"
)
_ITEM: Final = lazy(r"\d+(?:,\d{3})*(?:\.\d+)?|.")


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written. `low` is set for `七八百` and the like: then `value` is the higher reading.

    digits: Arabic digits only.  width: characters written.  readings: other values the separators allow.
    """

    value: Decimal
    digits: bool
    width: int
    low: Decimal | None = None
    readings: tuple[Decimal, ...] = ()
    integral_text: str = ""

    @property
    def is_int(self) -> bool:
        return self.value == self.value.to_integral_value()

    def __int__(self) -> int:
        return int(self.value)


def zh_run_end(norm: str, at: int) -> int:
    """Where the run of numerals (mixed with digits) that begins at `at` ends."""
    found = _RUN.match(norm, at)
    return found.end() if found else at


def read_zh(run: str) -> Number | None:
    """A run of Chinese numerals, maybe mixed with digits; None where it is no number (`百`, `三四五`)."""
    items = _ITEM.findall(run)
    if all(item in ZH_DIGITS for item in items) and len(items) > 1:
        return _digit_row(items)
    sum_ = _Sum()
    if not all(sum_.add(item) for item in items):
        return None
    return Number(sum_.value(), False, len(run), sum_.low)


class _Sum:
    """A numeral added up item by item; `add` answers False where no number goes on like that."""

    def __init__(self) -> None:
        self.total = self.section = Decimal(0)
        self.pending: Decimal | None = None
        self.low: Decimal | None = None
        self.unit, self.zero = 1, False

    def add(self, item: str) -> bool:
        if item in ZH_DIGITS:
            return self._digit(ZH_DIGITS[item])
        if item in _SMALL:
            return self._small(_SMALL[item])
        if item in _BIG:
            return self._big(_BIG[item])
        if item in _TENS:
            self.section, self.unit = self.section + _TENS[item], 10
            return True
        if self.pending is not None:
            return False
        self.pending = Decimal(item.replace(",", ""))
        return True

    def _digit(self, digit: int) -> bool:
        if digit == 0:
            self.zero = True
        elif self.pending is None:
            self.pending = Decimal(digit)
        elif self.low is None and digit == self.pending + 1:
            self.low, self.pending = self.pending, Decimal(digit)  # 三四: three or four
        else:
            return False
        return True

    def _small(self, unit: int) -> bool:
        if self.pending is None and unit > 10 and self.section == self.total == 0:
            return False
        self._scale_low(unit)
        self.section += (1 if self.pending is None else self.pending) * unit
        self.pending = None
        return True

    def _big(self, unit: int) -> bool:
        if self.pending is None and not self.section and not self.total:
            return False
        self._scale_low(unit)
        counted = self.section + (self.pending or 0)
        # 亿 counts all before it (三千万亿), 万 only what follows the last 亿.
        self.total = (self.total + counted) * unit if unit > 10**4 else self.total + counted * unit
        self.section, self.pending = Decimal(0), None
        return True

    def _scale_low(self, unit: int) -> None:
        self.unit, self.zero = unit, False
        if self.low is not None:
            self.low *= unit

    def value(self) -> Decimal:
        last = self.pending or Decimal(0)
        if self.unit >= 100 and not self.zero and 0 < last < 10 and last == int(last):
            last *= self.unit // 10  # 一万二: the last digit counts the next smaller unit
        return self.total + self.section + last


def _digit_row(items: list[str]) -> Number | None:
    digits = [ZH_DIGITS[item] for item in items]
    if len(digits) == 2 and digits[1] > digits[0] > 0:
        return Number(Decimal(digits[1]), False, 2, Decimal(digits[0]))  # 七八, 三五: about so many
    if len(digits) == 2 and digits[0] == 0:
        return Number(Decimal(digits[1]), False, 2)
    return Number(Decimal("".join(map(str, digits))), False, len(digits))


# --- Arabic digits
# -------------------------------------------------------------------------------------------------

ARABIC: Final = lazy(
    r"(?P<lakh>\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?)(?![\d,])"
    r"|(?P<us>\d{1,3}(?:,\d{3})+(?:\.\d+)?)(?![\d,])"
    r"|(?P<eu>\d{1,3}(?:\.\d{3})+,\d{1,2})(?![\d,])"
    r"|(?P<space>\d{1,3}(?: \d{3})+,\d{1,2})(?![\d,])"
    r"|(?P<swiss>\d{1,3}(?:'\d{3})+(?:\.\d+)?)(?![\d'])"
    r"|(?P<dots>\d{1,3}(?:\.\d{3}){2,})(?![\d.])"
    r"|(?P<comma>\d+,\d{1,2})(?![\d,.])"
    r"|(?P<plain>\d+(?:\.\d+)?)"
)


def read_arabic(norm: str, at: int) -> tuple[Number, int] | None:
    """The number in digits at `at` and its end. One separator before three digits allows two readings."""
    found = ARABIC.match(norm, at)
    if found is None:
        return None
    raw, form = found.group(), found.lastgroup
    end = found.end() + (2 if norm.startswith((".-", ".–"), found.end()) else 0)  # 1200.- in Switzerland
    readings: tuple[Decimal, ...] = ()
    if form in ("eu", "space", "dots", "comma"):
        value = Decimal(raw.replace(".", "").replace(" ", "").replace(",", "."))
    elif form == "swiss":
        value = Decimal(raw.replace("'", ""))
    else:
        value = Decimal(raw.replace(",", ""))
        whole, _, fraction = raw.partition(".")
        if form == "plain" and len(fraction) == 3 and 1 <= len(whole) <= 3 and whole != "0":
            readings = (Decimal(raw), Decimal(raw.replace(".", "")))
        elif form == "us" and "." not in raw and raw.count(",") == 1:
            readings = (Decimal(raw.replace(",", "")), Decimal(raw.replace(",", ".")))
    return Number(value, True, len(raw), readings=readings, integral_text=raw), end


# --- English words
# -------------------------------------------------------------------------------------------------

EN_ONES: Final = {word: n for n, word in enumerate(
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"])}  # fmt: skip
EN_TENS: Final = {word: 10 * n for n, word in enumerate(
    ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)} | {"fourty": 40}  # fmt: skip
EN_SCALES: Final = {
    "hundred": 100,
    "thousand": 1000,
    "grand": 1000,
    "million": 10**6,
    "billion": 10**9,
    "lakh": 10**5,
    "lakhs": 10**5,
    "crore": 10**7,
    "crores": 10**7,
}
EN_ORDINALS: Final = {word: n for n, word in enumerate(
    ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth"], 1)} | {"thirtieth": 30}  # fmt: skip
_WORD: Final = lazy(r"[ -]*(and +)?([a-z]+)")


def read_en(norm: str, word: str, end: int) -> tuple[Decimal, int] | None:
    """The number that begins with `word` (ending at `end`) in English words, and its end."""
    total = Decimal(0)
    group: Decimal | None = None
    while True:
        if word in EN_ONES:
            if (
                group is not None
                and group % 100
                and not (group % 100 >= 20 and group % 10 == 0 and EN_ONES[word] < 10)
            ):
                break
            group = (group or Decimal(0)) + EN_ONES[word]
        elif word in EN_TENS:
            if group is not None and group % 100:
                break
            group = (group or Decimal(0)) + EN_TENS[word]
        elif word in EN_SCALES and group is not None:
            scale = EN_SCALES[word]
            if scale == 100:
                group *= 100
            else:
                total, group = total + group * scale, Decimal(0)
        else:
            break
        reached = end
        following = _WORD.match(norm, end)
        if following is None:
            return total + group, reached
        word, end = following.group(2), following.end()
        # "a hundred and five" goes on; "two and five" doesn't.
        goes_on = (word in EN_ONES or word in EN_TENS) and group % 100 == 0 and bool(group or total)
        if following.group(1) and not goes_on:
            return total + group, reached
    return None if group is None else (total + group, reached)
