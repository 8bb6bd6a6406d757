# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Everything found in one text, which the slots are taken from: tokens, times, amounts, and how to resolve
them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from fencepost_intents.intent.clauses import mask_quotes, quoted_spans
from fencepost_intents.language import language_of, normalize
from fencepost_intents.lexer import lex
from fencepost_intents.money.currency import Place
from fencepost_intents.money.plain import plain_amounts
from fencepost_intents.money.reader import FoundAmount, read_amounts
from fencepost_intents.patterns import lazy
from fencepost_intents.result import Span, TimeResult
from fencepost_intents.time.holidays import HolidayTable
from fencepost_intents.time.model import Expr, Setting
from fencepost_intents.time.reader import read_times
from fencepost_intents.time.resolve import resolve
from fencepost_intents.time.zones import zone_info
from fencepost_intents.tokens import Tokens

_WAKE: Final = lazy(
    r"起床|叫醒|闹钟|闹铃|晨跑|早起|醒来|\bwake\b|\balarm\b|\bget up\b|\bbreakfast\b|早餐|早饭|早读|上班打卡"
)
_DINNER: Final = lazy(
    r"晚饭|晚餐|夜宵|晚会|晚宴|看电影|演唱会|\bdinner\b|\bsupper\b|\bparty\b|\bmovie\b|\bdrinks\b|\bconcert\b|\bdate night\b|\bbedtime\b|睡觉"
)
_HINT_REACH: Final = (
    400  # code points; a longer text is a paste, where one word tells nothing of all its times
)
_GLUE: Final = frozenset("s@,(")


@dataclass(slots=True)
class Located:
    """A time expression and where it stands, glue before it left out."""

    expr: Expr
    start: int
    end: int

    @property
    def has_clock(self) -> bool:
        """Whether it tells a time of day or a distance from now."""
        return self.expr.clock is not None or (self.expr.duration is not None and self.expr.mode != "")

    @property
    def is_length(self) -> bool:
        return self.expr.duration is not None and self.expr.mode == "" and self.expr.clock is None


@dataclass(slots=True)
class Reading:
    """One text, read. `masked` hides quotations; `times` and `amounts` hold everything, quoted or not."""

    text: str
    norm: str
    masked: str
    tokens: Tokens
    times: list[Located]
    amounts: list[FoundAmount]
    language: str
    place: Place
    reference: datetime
    zone: str | None
    locale: str | None
    holidays: HolidayTable
    quotes: list[Span] = field(default_factory=list)

    @property
    def zh(self) -> bool:
        return self.language == "zh"

    def setting(self, direction: int, window: Span | None = None) -> Setting:
        """The setting of a request: its direction in time, and what its words hint at."""
        tz = zone_info(self.zone) if self.zone else self.reference.tzinfo
        assert tz is not None
        window = window or (0, min(len(self.norm), _HINT_REACH))
        hint = (
            "dinner"
            if _DINNER.search(self.norm, *window)
            else "wake"
            if _WAKE.search(self.norm, *window)
            else None
        )
        local = self.reference.astimezone(tz)
        return Setting(local, tz, direction, self.language, self.zone, self.locale, self.holidays, hint)

    def resolve(self, located: Located, setting: Setting) -> TimeResult:
        span = (located.start, located.end)
        return resolve(located.expr, setting, span, self.text[located.start : located.end])

    def times_in(self, window: Span) -> list[Located]:
        """Times of a window that aren't quoted."""
        return [
            one
            for one in self.times
            if window[0] <= one.start and one.end <= window[1] and not self.is_quoted(one.start)
        ]

    def amounts_in(self, window: Span) -> list[FoundAmount]:
        return [
            one for one in self.amounts if window[0] <= one.amount.span[0] and one.amount.span[1] <= window[1]
        ]

    def is_quoted(self, at: int) -> bool:
        return any(start <= at < end for start, end in self.quotes)

    def find_plain_amounts(self, window: Span) -> list[FoundAmount]:
        """Adds numbers without a currency (a ledger's sentence has them) to the amounts."""
        used = [(one.expr.first, one.expr.last) for one in self.times]
        found = plain_amounts(self.tokens, self.norm, self.text, used, window, self.place)
        self.amounts = sorted([*self.amounts, *found], key=lambda one: one.first)
        return found


def read(
    text: str,
    reference: datetime,
    zone: str | None,
    locale: str | None,
    currency: str | None,
    holidays: HolidayTable,
) -> Reading:
    """Reads a text: linear in its length."""
    norm = normalize(text)
    language = language_of(norm)
    tokens = lex(norm)
    place = Place(currency, zone, locale, language)
    amounts = read_amounts(tokens, norm, text, place)
    times = [locate(expr, tokens) for expr in read_times(tokens, norm)]
    masked = mask_quotes(norm)
    quotes = quoted_spans(norm) if masked is not norm else []
    return Reading(
        text, norm, masked, tokens, times, amounts, language, place, reference, zone, locale, holidays, quotes
    )  # fmt: skip


def locate(expr: Expr, tokens: Tokens) -> Located:
    first = expr.first
    while first < expr.last - 1 and tokens.kinds[first] in _GLUE:
        first += 1
    return Located(expr, tokens.starts[first], tokens.ends[expr.last - 1])


def joined(first: Located, second: Located) -> Located:
    """One expression of two that complete each other (a day here, a clock there)."""
    one, two = first.expr, second.expr
    expr = replace(
        one, until=one.until or two.until, count=one.count or two.count, lasts=one.lasts or two.lasts,
        except_days=one.except_days + two.except_days, except_dates=one.except_dates + two.except_dates,
        starts=one.starts or two.starts, mode="" if "tail" in (one.mode, two.mode) else one.mode,
        date=one.date or two.date, date_end=one.date_end or two.date_end, clock=one.clock or two.clock,
        clock_end=one.clock_end or two.clock_end, part=one.part or two.part, zone=one.zone or two.zone,
        recurrence=one.recurrence or two.recurrence, deadline=one.deadline or two.deadline,
        more_clocks=[*one.more_clocks, *two.more_clocks], leftover=one.leftover or two.leftover,
    )  # fmt: skip
    return Located(expr, min(first.start, second.start), max(first.end, second.end))


def complete_each_other(first: Expr, second: Expr) -> bool:
    """Whether one names the day (or the repetition) and the other the time of day."""
    if "tail" in (first.mode, second.mode):
        return bool(first.recurrence or second.recurrence)
    if first.duration or second.duration or (first.recurrence and second.recurrence):
        return False
    day = first if first.date or first.recurrence else second
    hour = second if day is first else first
    if hour.date or hour.recurrence or day.clock:
        return False
    return hour.clock is not None or (hour.part is not None and day.part is None)
