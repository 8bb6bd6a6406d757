"""Public holidays of China and the US by name, and the table that may override them.

Fixed and "nth weekday" days are computed; lunar ones come from lunar-python, imported on first use because
most sentences need none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import lru_cache
from types import MappingProxyType
from typing import Final

# name -> ("fixed", month, day) | ("nth", month, n, weekday) | ("lunar", month, day) | ("term", solar term)
# | ("easter", days after Easter Sunday). n = -1 is the last one; lunar day 0 is the day before month's first.
_RULES: Final[Mapping[str, tuple[str | int, ...]]] = {
    "new_year": ("fixed", 1, 1),
    "spring_festival": ("lunar", 1, 1),
    "lunar_eve": ("lunar", 1, 0),
    "lantern": ("lunar", 1, 15),
    "qingming": ("term", "清明"),
    "labour_cn": ("fixed", 5, 1),
    "dragon_boat": ("lunar", 5, 5),
    "qixi": ("lunar", 7, 7),
    "mid_autumn": ("lunar", 8, 15),
    "double_ninth": ("lunar", 9, 9),
    "laba": ("lunar", 12, 8),
    "national_cn": ("fixed", 10, 1),
    "women": ("fixed", 3, 8),
    "children": ("fixed", 6, 1),
    "teachers_cn": ("fixed", 9, 10),
    "winter_solstice": ("term", "DONG_ZHI"),
    "army_cn": ("fixed", 8, 1),
    "youth_cn": ("fixed", 5, 4),
    "arbor_cn": ("fixed", 3, 12),
    "party_cn": ("fixed", 7, 1),
    "singles": ("fixed", 11, 11),
    "mlk": ("nth", 1, 3, 0),
    "presidents": ("nth", 2, 3, 0),
    "valentine": ("fixed", 2, 14),
    "st_patrick": ("fixed", 3, 17),
    "april_fools": ("fixed", 4, 1),
    "easter": ("easter", 0),
    "good_friday": ("easter", -2),
    "earth": ("fixed", 4, 22),
    "mothers": ("nth", 5, 2, 6),
    "memorial": ("nth", 5, -1, 0),
    "juneteenth": ("fixed", 6, 19),
    "fathers": ("nth", 6, 3, 6),
    "independence": ("fixed", 7, 4),
    "labor_us": ("nth", 9, 1, 0),
    "columbus": ("nth", 10, 2, 0),
    "halloween": ("fixed", 10, 31),
    "veterans": ("fixed", 11, 11),
    "thanksgiving": ("nth", 11, 4, 3),
    "black_friday": ("friday", 0),
    "christmas_eve": ("fixed", 12, 24),
    "christmas": ("fixed", 12, 25),
    "boxing": ("fixed", 12, 26),
    "new_year_eve": ("fixed", 12, 31),
}


@dataclass(frozen=True, slots=True)
class HolidayTable:
    """Dates of named holidays.

    days: overrides, `(name, year) -> date`; everything else follows the built-in rules.
    off, worked: days off and make-up working days as officially announced, where known: used for
    "working day" arithmetic. Empty means Monday to Friday.
    """

    days: Mapping[tuple[str, int], date] = field(default_factory=lambda: MappingProxyType({}))
    off: frozenset[date] = frozenset()
    worked: frozenset[date] = frozenset()

    def on(self, name: str, year: int) -> date:
        """The day of a holiday in a year (for lunar ones: the lunar year that begins in it)."""
        return self.days.get((name, year)) or _computed(name, year)

    def is_workday(self, day: date) -> bool:
        return day in self.worked or (day.weekday() < 5 and day not in self.off)

    def add_workdays(self, day: date, count: int) -> date:
        """The day `count` working days on (or back, when negative)."""
        step = timedelta(days=1 if count >= 0 else -1)
        left = abs(count)
        while left:
            day += step
            left -= self.is_workday(day)
        return day


DEFAULT: Final = HolidayTable()


@lru_cache(maxsize=512)
def _computed(name: str, year: int) -> date:
    kind, *rest = _RULES[name]
    numbers = [int(part) for part in rest if not isinstance(part, str)]
    match kind:
        case "fixed":
            return date(year, numbers[0], numbers[1])
        case "nth":
            return nth_weekday(year, *numbers)
        case "lunar":
            return lunar_day(year, numbers[0], numbers[1])
        case "easter":
            return _easter(year) + timedelta(days=numbers[0])
        case "friday":
            return nth_weekday(year, 11, 4, 3) + timedelta(days=1)
        case _:
            return _solar_term(year, str(rest[0]))


def nth_weekday(year: int, month: int, n: int, weekday: int) -> date:
    """The nth (1..5, or -1 for last) Monday=0..Sunday=6 of a month. Raises ValueError where there is none."""
    if n > 0:
        first = date(year, month, 1)
        day = first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (n - 1))
        if day.month != month:
            raise ValueError(f"no {n}th weekday {weekday} in {year}-{month}")
        return day
    last = date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)
    return last - timedelta(days=(last.weekday() - weekday) % 7 + 7 * (-n - 1))


def lunar_day(year: int, month: int, day: int) -> date:
    """The Gregorian day of a lunar date; day 0 is the eve of the month. Raises ValueError if it doesn't
    exist.
    """
    from lunar_python import Lunar  # 30 ms to import

    try:
        solar = Lunar.fromYmd(year, month, max(day, 1)).getSolar()
    except Exception as cause:  # the library raises bare Exception for a day the month doesn't have
        raise ValueError(f"no lunar {year}-{month}-{day}") from cause
    found = date(solar.getYear(), solar.getMonth(), solar.getDay())
    return found - timedelta(days=1) if day == 0 else found


def _solar_term(year: int, term: str) -> date:
    from lunar_python import Lunar  # 30 ms to import

    solar = Lunar.fromYmd(year, 6, 1).getJieQiTable()[term]
    return date(solar.getYear(), solar.getMonth(), solar.getDay())


def _easter(year: int) -> date:
    """Gregorian Easter Sunday (the anonymous algorithm of 1876)."""
    a, b, c = year % 19, year // 100, year % 100
    d, e = b // 4, b % 4
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = c // 4, c % 4
    n = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 22 * n) // 451
    month, day = divmod(h + n - 7 * m + 114, 31)
    return date(year, month, day + 1)
