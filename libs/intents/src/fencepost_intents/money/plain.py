"""Numbers without a currency that are prices all the same: 午饭25, "spent 20 on lunch"."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fencepost_intents.money.currency import Place
from fencepost_intents.money.reader import FoundAmount
from fencepost_intents.money.values import open_reading, sign_of
from fencepost_intents.numbers import Number
from fencepost_intents.result import AmountResult
from fencepost_intents.tokens import Tokens

# Words that a number counts, so that it is no price: 2杯, 3个人, "2 coffees".
_COUNTED: Final = frozenset("个本件杯人次张斤公位份瓶盒只条双袋包箱台部页楼层室号路%度分点倍折")
_AFTER_PRICE: Final = frozenset(
    (
        "for",
        "on",
        "at",
        "to",
        "from",
        "in",
        "with",
        "by",
        "today",
        "yesterday",
        "each",
        "total",
        "cash",
        "via",
        "as",
        "using",
    )
)


def plain_amounts(
    tokens: Tokens,
    norm: str,
    text: str,
    used: Iterable[tuple[int, int]],
    window: tuple[int, int],
    place: Place,
) -> list[FoundAmount]:
    """Numbers without a currency in a stretch of a ledger's sentence that count nothing else.

    used: token ranges taken by times.  window: code points.
    """
    taken = {at for first, last in used for at in range(first, last)}
    found: list[FoundAmount] = []
    for at, kind in enumerate(tokens.kinds):
        if kind != "n" or at in taken or not window[0] <= tokens.starts[at] < window[1]:
            continue
        number = tokens.values[at]
        if not isinstance(number, Number) or not number.value or _counts(tokens, norm, at):
            continue
        start, end, negative = sign_of(norm, tokens.starts[at], tokens.ends[at])
        value, candidates = open_reading(number.value, number, place, False)
        vague = (
            norm[tokens.ends[at] : tokens.ends[at] + 1] in ("多", "几", "来")
            or tokens.kinds[at - 1 : at] == "#"
        )
        amount = AmountResult(
            None if candidates or vague else (-value if negative else value),
            place.own,
            False,
            text[start:end],
            (start, end),
            candidates,
        )
        found.append(FoundAmount(at, at + 1, amount))
    return found


def _counts(tokens: Tokens, norm: str, at: int) -> bool:
    end = tokens.ends[at]
    following = norm[end : end + 1]
    if following in _COUNTED and following:
        return True
    before = norm[max(0, tokens.starts[at] - 1) : tokens.starts[at]]
    if before in ("第", "#") and before:
        return True
    if (
        norm[tokens.starts[at]] in "一两"
        and not tokens.values[at].digits
        and tokens.ends[at] - tokens.starts[at] == 1
    ):
        return True  # 买了一点: a lone 一 or 两 is hardly ever a price
    kind = tokens.kinds[at + 1 : at + 2]
    word = tokens.values[at + 1] if kind == "." else None
    if isinstance(word, str) and norm[end : end + 1] == " ":
        return word not in _AFTER_PRICE
    return kind in ("g", "u", "c", "d", "m", "y", "z", "o")
