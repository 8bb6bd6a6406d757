"""Weeks, months, quarters, halves, years and weekends, as first and last day."""

from __future__ import annotations

from datetime import date, timedelta

from fencepost_intents.time.calendar import Readings, add_months, day_span, monday_of, month_end
from fencepost_intents.time.model import Setting


def week(setting: Setting, weeks: int) -> Readings:
    first = monday_of(setting.today) + timedelta(days=7 * weeks)
    return day_span(first, first + timedelta(days=6))


def month(setting: Setting, months: int) -> Readings:
    first = add_months(setting.today.replace(day=1), months)
    return day_span(first, month_end(first))


def named_month(setting: Setting, month: int, year: int | None = None, years: int | None = None) -> Readings:
    if years is not None:
        year = setting.today.year + years
    if year is None:
        year = setting.today.year
        if setting.direction > 0 and month < setting.today.month:
            year += 1
        elif setting.direction < 0 and month > setting.today.month:
            year -= 1
        elif setting.direction == 0 and month > setting.today.month:
            year -= 0
    first = date(year + 2000 if year < 100 else year, month, 1)
    return day_span(first, month_end(first))


def quarter(setting: Setting, quarters: int) -> Readings:
    first = add_months(
        setting.today.replace(month=(setting.today.month - 1) // 3 * 3 + 1, day=1), 3 * quarters
    )
    return day_span(first, month_end(add_months(first, 2)))


def named_quarter(setting: Setting, quarter: int, year: int | None = None, years: int = 0) -> Readings:
    first = date(year or setting.today.year + years, 3 * quarter - 2, 1)
    return day_span(first, month_end(add_months(first, 2)))


def year(setting: Setting, years: int) -> Readings:
    year = setting.today.year + years
    return day_span(date(year, 1, 1), date(year, 12, 31))


def named_year(setting: Setting, year: int) -> Readings:
    return day_span(date(year, 1, 1), date(year, 12, 31))


def half_year(setting: Setting, half: int, years: int = 0) -> Readings:
    year = setting.today.year + years
    return (
        day_span(date(year, 1, 1), date(year, 6, 30))
        if half == 1
        else day_span(date(year, 7, 1), date(year, 12, 31))
    )


def weekend(setting: Setting, weeks: int | None) -> Readings:
    saturday = monday_of(setting.today) + timedelta(days=5)
    if weeks is None:
        weeks = -1 if setting.direction < 0 and setting.today < saturday else 0
    saturday += timedelta(days=7 * weeks)
    return day_span(saturday, saturday + timedelta(days=1))


def en_weekend(setting: Setting, step: int) -> Readings:
    """ "next weekend" said before Saturday: the coming one for some, the one after for others."""
    if step == 1 and setting.today.weekday() < 5:
        return (*weekend(setting, 0), *weekend(setting, 1))
    return weekend(setting, step)
