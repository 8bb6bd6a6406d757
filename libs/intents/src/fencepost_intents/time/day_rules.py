# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Days and periods as said: patterns over token kinds, each with what it means as an operation of `dates`.

Longer patterns stand before shorter ones of the same first kind; a builder that answers None passes to the
next.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from fencepost_intents.patterns import lazy
from fencepost_intents.time import day_english as english
from fencepost_intents.time import day_numbers as numbers
from fencepost_intents.time import day_relative as relative
from fencepost_intents.time.model import DateSpec
from fencepost_intents.time.rules import first_meaning
from fencepost_intents.tokens import Tokens


def read_day(tokens: Tokens, at: int) -> tuple[DateSpec, int, str | None] | None:
    """The day or period at token `at`: its operation, the token after it, a part of day it carries (今晚)."""
    if found := first_meaning(RULES, tokens, at):
        part = tokens.values[at][1] if tokens.kinds[at] == "D" else None
        return *found, part
    return None


_NO_CLOCK: Final = r"(?![cugkKCJf%])"
_Build = Callable[..., "DateSpec | None"]
_TABLE: Final[tuple[tuple[str, _Build], ...]] = (
    (r"(L)s?(n)(?![cugkKCJf%x])", english.literal_year), (r"(L)", english.literal), (r"(D)", english.day_word),
    # Chinese, with numbers
    (r"(n)ys?l(n)m([in])d?", relative.year_lunar), (r"(n)ys?l?(j)([in])d?", relative.year_lunar), (r"(n)ys?(n)ms?(o)([Wu])", numbers.year_month_nth), (r"(n)ys?(o)(u)", relative.year_quarter),
    (r"(n)ys?(n)m(n)(?:d|(?![cugk]))", numbers.year_month_day), (r"(n)ys?(n)m", numbers.year_month), (r"(n)y(H)", relative.year_holiday),
    (r"(n)m([in])(?=d)d(?![a-z])", numbers.month_day), (r"(n)m(i)", relative.lunar_number),
    (r"(n)ms?(o)(W)", numbers.month_nth), (r"(n)ms?(o)(u)", numbers.month_nth_day), (r"(n)m(n)d", numbers.month_day),
    (r"(n)m(n)" + _NO_CLOCK, numbers.month_day_bare), (r"(n)ms?(x)", numbers.month_third), (r"(n)(x)", numbers.month_third),
    (r"(n)(X)", numbers.month_edge), (r"(n)m(?![A-Z]?u)", numbers.month_alone), (r"(n)d", relative.day_alone), (r"(n)y", numbers.year_alone),
    (r"(n)(u)", relative.quarter_),
    (r"l(n)ys?(n)m([in])d?", relative.year_lunar), (r"(q)s?(n)ms?(o)([Wu])", numbers.rel_year_month_nth),
    (r"(q)s?l(n)m([in])d?", relative.rel_lunar), (r"(q)s?(n)m(n)(?:d|(?![cugk]))", numbers.rel_year_month_day),
    (r"(q)s?(n)m", numbers.rel_year_month), (r"(q)s?(X)", numbers.rel_year_edge), (r"(q)s?(H)", english.rel_year_holiday),
    (r"(q)s?(o)(u)", relative.rel_quarter), (r"(q)s?(n)(u)", relative.rel_quarter), (r"(q)s?(L)", relative.rel_literal), (r"(q)", english.rel_year_alone),
    (r"l(n)m([in])d?", relative.lunar_number), (r"l?(j)([in])d?", relative.lunar_named), (r"(o)(u)(?![A-Z])", relative.quarter_),
    (r"(p)ms*(n)d", relative.rel_month_day), (r"(p)ms?(o)(W)", relative.rel_month_nth), (r"(p)ms?(o)(u)", relative.rel_month_nth_day),
    (r"(p)ms?(x)", numbers.rel_month_third), (r"(p)m", relative.rel_month), (r"(p)(X)", numbers.rel_edge), (r"(p)y", relative.rel_year),
    (r"(p)(u)s?(W)", relative.week_weekday), (r"(p)(n)g?(u)", relative.rel_n_units), (r"(p)(n)y", relative.rel_n_years), (r"(p)(n)gm", relative.rel_n_months),
    # English
    (r"(p)(W)s(?:s)?(p)?(u)", english.last_of), (r"(p)(W)[sI]+([MU]),?(n)", english.last_of_month), (r"(p)(W)[sI]+([MU])", english.last_of_month),
    (r"(p)(u)s(?:s)?(p)?(u)", english.last_day_of), (r"(p)(u)[sI]+([MU]),?(n)?", english.last_unit_of_month),
    (r"(p)([WV])", relative.rel_weekday), (r"(p)E", relative.rel_weekend), (r"(p)(H)", relative.rel_holiday), (r"(p)([MU])", english.en_rel_month),
    (r"(p)(u)", relative.rel_unit),
    (r"([MU])s?(o),?(n)", english.en_month_day_year), (r"([MU])(n),?(n)", english.en_month_day_year), (r"([MU])s?(o)", english.en_month_day),
    (r"([MU])(n)(?![uKCJ%x])", english.en_month_day), (r"([MU])t(n)", english.en_month_year), (r"([MU]),?s?(n)", english.en_month_year), (r"(M)", english.month_word), (r"(?<=[IspFBbt^4])(U)", english.month_word), (r"(?<=I)(n)", numbers.year_alone), (r"(p)k", english.rel_quarter_word), (r"(o)ks?(n)(?![cugkKCJf%x])", english.quarter_year), (r"(o)k", english.quarter_word), (r"(\^)k", english.edge_quarter), (r"s(o)(?=[@PTt,]|$)", english.the_ordinal),
    (r"(o)(W)[sI]*(p)?(u)", english.nth_of), (r"(o)(W)[sI]*([MU]),?(n)", english.nth_of_month), (r"(o)(W)[sI]*([MU])", english.nth_of_month), (r"(o)(u)[sI]*([MU]),?(n)?", english.nth_unit_of_month), (r"(o)(u)s*(p)?(u)", english.nth_day_of),
    (r"(o)s*([MU]),?(n)", english.en_day_month_year), (r"(o)s*([MU])", english.en_day_month), (r"(o)s+(p)?(u)", english.ordinal_of),
    (r"(n)s?([MU]),?(n)", english.en_day_month_year), (r"(n)s?([MU])", english.en_day_month),
    (r"(s)(o)(?![Wu]|s+p?u|s*[MUW])", english.on_ordinal),
    (r"(W)A(p)", english.after_next), (r"(n)(Q)A", english.nth_weekday_on), (r"(u)s+([MU])s?([on])", english.week_of), (r"(W)F(p)(u)", relative.weekday_week), (r"(W)s?(p)(u)", relative.weekday_week), (r"(W)s*(o)(?!s*[MU])", english.weekday_ordinal), (r"(W)", english.weekday_day),
    (r"(V)(?=[@,PTn]|$)", english.weekday_day), (r"(?<=s)(V)", english.weekday_day),
    (r"(\^)(p)?(M)", lambda edge, _prefix, month: english.edge_month(edge, month)), (r"(\^)(U)", english.edge_month),
    (r"(\^)(p)(u)", english.edge_rel_unit), (r"(\^)(u)", english.edge_unit), (r"(\^)(D)", english.edge_day),
    (r"(X)", english.edge_word), (r"(x)(?=.?)", numbers.third),
    (r"(H)s?([BA])(n)(u)", relative.holiday_shift), (r"(H)s+(p)(u)", relative.holiday_of_year), (r"(H),?(n)y?(?![ckKC])", relative.holiday_year), (r"(H)", english.holiday_word),
    (r"E", english.weekend_word),
)  # fmt: skip
RULES: Final[dict[str, tuple[tuple[re.Pattern[str], _Build], ...]]] = {}
for _source, _build in _TABLE:
    _first = _source.lstrip("(")
    _first = _first.removeprefix("?<=s)(").removeprefix("?<=[IspFBbt^4])(").removeprefix("?<=I)(")
    _firsts = "MU" if _first.startswith("[MU") else _first.lstrip("\\")[0]
    if _first.startswith("l?"):
        _firsts = "lj"
    for _kind in _firsts:
        RULES[_kind] = (*RULES.get(_kind, ()), (lazy(_source), _build))
