"""Amounts of money as said: 35块5, 三元五角, $1,234.50, "twenty bucks", 3万5.

Only amounts with a currency, or (in a ledger's sentence) plain numbers that count nothing else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from fencepost_intents.money.currency import Place, settle
from fencepost_intents.money.values import open_reading, sign_of
from fencepost_intents.numbers import Number
from fencepost_intents.patterns import lazy
from fencepost_intents.result import AmountResult
from fencepost_intents.tokens import Tokens

# Kinds: n number, * "about", C currency, K 块, J tenths (毛) and cents, f 分, h half, & and, t to.
_SUFFIXED: Final = lazy(
    r"(?P<n>n)(?P<about>\*)?(?P<unit>[CK])"
    r"(?:(?P<half>h)|(?P<tenths>n)(?P<j>J)(?:(?P<hundredths>n)f?)?|(?P<cents>n)f|&?(?P<and>n)(?P<c>J)|(?P<rest>n)(?![uygmdckKCJ*hx/tzo%]))?"
)
_PREFIXED: Final = lazy(
    r"(?P<unit>C)(?:t|!)?(?P<n>n)(?P<more>tC?(?P<high>n))?(?P<again>C)?(?:&?(?P<and>n)(?P<c>J))?"
)
_RANGE: Final = lazy(r"(?P<low>n)(?:K|C)?t(?P<n>n)(?P<unit>[CK])")
_PAIRED: Final = lazy(r"(?P<unit>C)(?P<n>n)(?:t|&)(?P<again>C)?(?P<high>n)")
_BETWEEN: Final = lazy(r"(?P<low>n)&(?P<n>n)(?P<unit>[CK])")
_VAGUE: Final = lazy(r"(?:#n?|n#)(?P<unit>[CK])")
_CENTS_BEHIND: Final = frozenset(
    ("for", "on", "at", "to", "from", "today", "yesterday", "each", "total", "in", "this", "last")
)
_SMALL: Final = lazy(r"(?P<n>n)(?P<unit>J)(?:(?P<hundredths>n)f?(?![uygmdckKCJ]))?")
_MEASURES: Final = frozenset("斤个件杯瓶本张次米平份箱袋天月年位人只条台部公小")
_TENTH, _HUNDREDTH = Decimal("0.1"), Decimal("0.01")


@dataclass(frozen=True, slots=True)
class FoundAmount:
    """An amount and the tokens [first, last) it is written with."""

    first: int
    last: int
    amount: AmountResult


def read_amounts(tokens: Tokens, norm: str, text: str, place: Place) -> list[FoundAmount]:
    """Every amount with a written currency; its tokens are marked as used up."""
    kinds = tokens.kinds
    if "C" not in kinds and "K" not in kinds and "J" not in kinds:
        return []
    found: list[FoundAmount] = []
    at = 0
    while at < len(kinds):
        one = _read(tokens, norm, text, at, place) if kinds[at] in "nC#h" else None
        if one is None:
            at += 1
            continue
        found.append(one)
        at = one.last
    marked = list(kinds)
    for one in found:
        marked[one.first : one.last] = "$" * (one.last - one.first)
    tokens.kinds = "".join(marked)
    return found


def _read(tokens: Tokens, norm: str, text: str, at: int, place: Place) -> FoundAmount | None:
    between = tokens.kinds[at - 1 : at] == "F" and norm.startswith("between", tokens.starts[at - 1])
    if found := _VAGUE.match(tokens.kinds, at):
        return _vague(tokens, norm, text, found, place)
    if tokens.kinds[at] == "h":
        return _half_unit(tokens, norm, text, at, place)
    if between and (found := _PAIRED.match(tokens.kinds, at) or _BETWEEN.match(tokens.kinds, at)):
        low, high = ("n", "high") if tokens.kinds[at] == "C" else ("low", "n")
        pair = (_number(tokens, found, low), _number(tokens, found, high))
        unit = tokens.values[found.start("unit")]
        return _finish(tokens, norm, text, found.span(), Decimal(0), unit, place, pair)
    if tokens.kinds[at] == "C":
        found = _PREFIXED.match(tokens.kinds, at)
        return None if found is None else _prefixed(tokens, norm, text, found, place)
    if found := _RANGE.match(tokens.kinds, at):
        return _ranged(tokens, norm, text, found, place)
    if found := _SUFFIXED.match(tokens.kinds, at):
        return _suffixed(tokens, norm, text, found, place)
    if found := _SMALL.match(tokens.kinds, at):
        return _small(tokens, norm, text, found, place)
    return None


def _vague(tokens: Tokens, norm: str, text: str, found: re.Match[str], place: Place) -> FoundAmount | None:
    """几十块, 十几块, 百八十块: some amount that the words don't tell."""
    if (
        tokens.kinds[found.start()] == "#"
        and tokens.values[found.start()] != "vague"
        and len(found.group()) < 3
    ):
        return None  # 几块 is asked for more often than said
    unit = tokens.values[found.start("unit")]
    one = _finish(tokens, norm, text, found.span(), Decimal(0), unit, place)
    return replace(one, amount=replace(one.amount, value=None))


def _half_unit(tokens: Tokens, norm: str, text: str, at: int, place: Place) -> FoundAmount | None:
    """半块钱."""
    if tokens.kinds[at + 1 : at + 2] != "K" or not norm.startswith("钱", tokens.ends[at + 1] - 1):
        return None
    if tokens.kinds[at - 1 : at] in ("n", "K", "C") and at:
        return None
    return _finish(tokens, norm, text, (at, at + 2), Decimal("0.5"), tokens.values[at + 1], place)


def _a_buck(tokens: Tokens, norm: str, text: str, at: int, place: Place) -> FoundAmount | None:
    """ "a buck fifty", "a dollar twenty": one and so many hundredths."""
    cents: Number = tokens.values[at + 1]
    if tokens.kinds[at - 1 : at] != "a" or not at or not cents.is_int or not 1 <= cents.value <= 99:
        return None
    value = 1 + cents.value * _HUNDREDTH
    return _finish(tokens, norm, text, (at - 1, at + 2), value, tokens.values[at], place)


def _number(tokens: Tokens, found: re.Match[str], name: str) -> Any:
    start = found.start(name)
    return tokens.values[start] if start >= 0 else None


def _prefixed(tokens: Tokens, norm: str, text: str, found: re.Match[str], place: Place) -> FoundAmount | None:
    number: Number = _number(tokens, found, "n")
    first, last = found.start(), found.end()
    currency = tokens.values[first]
    if norm[tokens.starts[first] : tokens.ends[first]] in ("buck", "dollar", "euro", "quid"):
        return _a_buck(tokens, norm, text, first, place)
    if found.group("again"):
        again = tokens.values[found.start("again")]
        if again != currency and not (currency == "$" and again.endswith("D")) and currency != "¥":
            last = found.start("again")  # $5 euros: two currencies, the first holds
        else:
            currency = again
    elif found.group("more"):
        return _finish(
            tokens,
            norm,
            text,
            (first, last),
            Decimal(0),
            currency,
            place,
            (number, _number(tokens, found, "high")),
        )
    value = number.value
    if found.group("and") and not found.group("again"):
        value += _number(tokens, found, "and").value * _HUNDREDTH
    return _finish(tokens, norm, text, (first, last), value, currency, place, (), number)


def _suffixed(tokens: Tokens, norm: str, text: str, found: re.Match[str], place: Place) -> FoundAmount | None:
    number: Number = _number(tokens, found, "n")
    unit_at = found.start("unit")
    first, last = found.start(), found.end()
    value = number.value
    if found.group("half"):
        value += Decimal("0.5")
    elif found.group("tenths"):
        value += _number(tokens, found, "tenths").value * _tenth(tokens, found.start("j"))
        if found.group("hundredths"):
            value += _number(tokens, found, "hundredths").value * _HUNDREDTH
    elif found.group("cents"):
        value += _number(tokens, found, "cents").value * _HUNDREDTH
    elif found.group("and"):
        value += _number(tokens, found, "and").value * _HUNDREDTH
    elif found.group("rest"):
        rest = _rest(tokens, norm, found)
        if rest is None:
            last = found.start("rest")
        else:
            value += rest
    if number.low is not None or found.group("about"):
        return _finish(
            tokens, norm, text, (first, last), value, tokens.values[unit_at], place, (), number, vague=True
        )
    return _finish(tokens, norm, text, (first, last), value, tokens.values[unit_at], place, (), number)


def _tenth(tokens: Tokens, at: int) -> Decimal:
    return _TENTH if tokens.values[at] == "tenth" else _HUNDREDTH


def _rest(tokens: Tokens, norm: str, found: re.Match[str]) -> Decimal | None:
    """What follows 块 unsaid: 35块5 is 35.5, 12块50 is 12.50, 三块零五 is 3.05. None where it stands
    apart.
    """
    at = found.start("rest")
    if norm[tokens.ends[at - 1] - 1].isascii() and norm[tokens.ends[at - 1] - 1].isalpha():
        return _cents_behind(tokens, norm, at)
    if tokens.starts[at] != tokens.ends[at - 1] or tokens.kinds[at - 1] not in "KC":
        return None
    if tokens.kinds[at - 1] == "C" and norm[tokens.starts[at - 1]] not in "元圆":
        return None
    number: Number = tokens.values[at]
    if norm[tokens.ends[at] : tokens.ends[at] + 1] in _MEASURES and tokens.ends[at] < len(norm):
        return None  # 5块一斤 is a price for one
    if not number.is_int or number.value >= 100 or number.low is not None:
        return None
    if number.width >= 2 and number.value < 100 and (number.digits or number.value < 10 or number.value > 10):
        return number.value * _HUNDREDTH
    return number.value * _TENTH if number.value < 10 else None


def _cents_behind(tokens: Tokens, norm: str, at: int) -> Decimal | None:
    """ "12 dollars 50": two digits at the end, or before a word that tells what for."""
    number: Number = tokens.values[at]
    kind = tokens.kinds[at + 1 : at + 2]
    apart = kind in ("", ",", "s", "@") or (kind == "." and tokens.values[at + 1] in _CENTS_BEHIND)
    words = norm[tokens.starts[at - 1] : tokens.ends[at - 1]] in (
        "dollars",
        "bucks",
        "euros",
        "pounds",
        "quid",
    )
    fits = number.is_int and number.low is None and 10 <= number.value <= 99
    return number.value * _HUNDREDTH if apart and words and fits else None


def _small(tokens: Tokens, norm: str, text: str, found: re.Match[str], place: Place) -> FoundAmount | None:
    """五毛, 八角五分, 50 cents."""
    unit = tokens.values[found.start("unit")]
    value = _number(tokens, found, "n").value * (_TENTH if unit == "tenth" else _HUNDREDTH)
    if found.group("hundredths"):
        value += _number(tokens, found, "hundredths").value * _HUNDREDTH
    currency = unit if unit in ("USD", "GBP") else "CNY"
    return _finish(tokens, norm, text, found.span(), value, "$" if currency == "USD" else currency, place)


def _ranged(tokens: Tokens, norm: str, text: str, found: re.Match[str], place: Place) -> FoundAmount | None:
    pair = (_number(tokens, found, "low"), _number(tokens, found, "n"))
    return _finish(
        tokens, norm, text, found.span(), Decimal(0), tokens.values[found.start("unit")], place, pair
    )


def _finish(
    tokens: Tokens, norm: str, text: str, spot: tuple[int, int], value: Decimal, currency: str, place: Place,
    pair: tuple[Number, ...] = (), number: Number | None = None, *, vague: bool = False,
) -> FoundAmount:  # fmt: skip
    first, last = spot
    start, end = tokens.starts[first], tokens.ends[last - 1]
    word = (
        norm[tokens.starts[last - 1] : end]
        if tokens.kinds[last - 1] in "CKJ"
        else _unit_word(tokens, norm, spot)
    )
    code, notes = settle(currency, word, place)
    start, end, negative = sign_of(norm, start, end)
    candidates: tuple[Decimal, ...] = ()
    if pair:
        candidates = tuple(one.value for one in pair)
    elif number is not None:
        value, candidates = open_reading(value, number, place, vague)
    if negative:
        value, candidates = -value, tuple(-one for one in candidates)
    result = AmountResult(
        None if candidates else value, code, True, text[start:end], (start, end), candidates, notes
    )  # fmt: skip
    return FoundAmount(first, last, result)


def _unit_word(tokens: Tokens, norm: str, spot: tuple[int, int]) -> str:
    for at in range(*spot):
        if tokens.kinds[at] in "CKJ":
            return norm[tokens.starts[at] : tokens.ends[at]]
    return ""
