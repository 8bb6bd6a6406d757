"""What a text states that must not change when it is shortened: amounts, dates, times, names. Pure.

Found by their written form, in Chinese and English; no meaning is guessed. What isn't recognized here is no
fact to the check, so the forms are wide: a number counts wherever it stands.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from fencepost_quality.person_names import names_in

_DIGITS: Final = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_TENS: Final = {"十": 10, "百": 100, "千": 1000}
# Every repetition has an end: these run over whatever people and documents wrote, in time that grows with it.
_ZH: Final = "[零〇一二两三四五六七八九十百千万亿]{1,14}"
_NUMBER: Final = r"\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,9})?|\d{1,18}(?:\.\d{1,9})?"
_ANY: Final = rf"(?:{_NUMBER}|{_ZH})"
_BIG: Final = {"万": 10_000, "亿": 100_000_000, "千": 1_000, "百": 100, "k": 1_000, "m": 1_000_000}
_CURRENCIES: Final = {
    "CNY": "¥|元|块钱|块|人民币|rmb|cny|yuan",
    "USD": r"us\$|\$|美元|美金|usd|dollars?|bucks",
    "EUR": "€|欧元|eur|euros?",
    "GBP": "£|英镑|gbp|pounds?",
    "JPY": "日元|日圆|jpy|yen",
    "HKD": r"hk\$|港币|港元|hkd",
}
_UNIT: Final = "|".join(_CURRENCIES.values())
_AMOUNT: Final = re.compile(
    rf"(?:(?P<sign>{_UNIT})\s{{0,3}}(?P<a>{_ANY})(?P<abig>[万亿千百km](?![a-z]))?(?P<amore>\d)?)"
    rf"|(?:(?P<b>{_ANY})(?P<bbig>[万亿千百km](?![a-z]))?(?P<bmore>\d(?!\d))?\s{{0,3}}(?P<unit>{_UNIT})(?![a-z])"
    r"(?P<cents>\d(?!\d)|[一二三四五六七八九](?![十百千万点月日]))?)"
)
_MONTHS: Final = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec"
)
_DATE: Final = re.compile(
    rf"(?P<y>\d{{4}})\s{{0,3}}[-/.年]\s{{0,3}}(?P<m>\d{{1,2}}|{_ZH})\s{{0,3}}[-/.月]\s{{0,3}}(?P<d>\d{{1,2}}|{_ZH})\s{{0,3}}[日号]?"
    rf"|(?P<m2>\d{{1,2}}|{_ZH})月(?P<d2>\d{{1,2}}|{_ZH})[日号]?"
    rf"|\b(?P<m3>{_MONTHS})\b\.?\s{{1,3}}(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s{{1,3}}(?P<y3>\d{{4}}))?"
    rf"|\b(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?\s{{1,3}}(?:of\s{{1,3}})?(?P<m4>{_MONTHS})\b\.?(?:,?\s{{1,3}}(?P<y4>\d{{4}}))?"
    rf"|(?:(?P<y5>\d{{4}})年)?(?P<m5>\d{{1,2}}|{_ZH})月(?:份|(?![\d一二三四五六七八九十]))"
)
_AM: Final = "凌晨|清晨|早上|早晨|上午|明早|今早|早"
_PM: Final = "下午|傍晚|晚上|今晚|明晚|晚"
_CLOCK: Final = re.compile(
    rf"(?P<half>{_AM}|{_PM}|中午)?\s{{0,3}}(?P<iso>\bt)?"
    rf"(?:(?P<h>\d{{1,2}}):(?P<min>\d{{2}})(?::\d{{2}}(?:\.\d{{1,9}})?)?"
    r"(?:\s{0,3}(?P<ampm>[ap])\.?m\b\.?)?(?:[+-]\d{2}:?\d{2}\b|z\b)?"
    rf"|(?P<h2>\d{{1,2}}|{_ZH})点(?:(?P<q>半|一刻|三刻)|(?P<m2>\d{{1,2}}|{_ZH})分?)?"
    r"|(?P<h3>\d{1,2})\s{0,3}(?P<ampm3>[ap])\.?m\b\.?)"
)
RELATIVE: Final = re.compile(
    "今天|今晚|今早|明天|明早|明晚|明儿|后天|昨天|昨晚|前天|本周|这周|下下周|下周|上周|本月|这个月|下个月|上个月|月底|年底"
    "|今年|明年|去年|(?:周|星期|礼拜)[一二三四五六日天]"
    r"|\b(?:today|tonight|tomorrow|yesterday|(?:next|last|this)\s{1,3}(?:week|weekend|month|year|quarter)"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b"
)
_BARE: Final = re.compile(
    rf"(?<![A-Za-z0-9_.])({_NUMBER})(?:(?P<big>[万亿])(?P<more>\d)?)?(?P<percent>\s{{0,3}}%)?"
)


@dataclass(frozen=True, slots=True)
class Facts:
    """amounts: (value, currency). dates: (year or 0, month, day or 0). clocks: (minute of the half day,
    `am`, `pm` or ""). numbers: all other ones, `5%` apart from `5`. names: folded; perhaps: words that may be
    names or are capitalized because a sentence begins with them. relative: as said.
    """

    amounts: frozenset[tuple[str, str]]
    dates: frozenset[tuple[int, int, int]]
    clocks: frozenset[tuple[int, str]]
    numbers: frozenset[str]
    names: frozenset[str]
    perhaps: frozenset[str]
    relative: frozenset[str]


def folded(text: str) -> str:
    """One form for one meaning: width and case folded."""
    return unicodedata.normalize("NFKC", text).casefold()


def facts_of(text: str) -> Facts:
    """Every fact of a text; what is part of a date or an amount is no number besides."""
    plain = folded(text)
    dates, plain = _taken(_DATE, plain)
    clocks, plain = _taken(_CLOCK, plain)
    amounts, plain = _taken(_AMOUNT, plain)
    names = list(names_in(text))
    sure = frozenset(name for name, is_sure in names if is_sure)
    return Facts(
        frozenset(_amounts(amounts)),
        frozenset(filter(None, map(_date, dates))),
        frozenset(filter(None, map(_clock, clocks))),
        frozenset(map(_number, _BARE.finditer(plain))),
        sure,
        frozenset(name for name, is_sure in names if not is_sure) - sure,
        frozenset(RELATIVE.findall(folded(text))),
    )


def currencies_in(text: str) -> frozenset[str]:
    """Every currency that a text names, by its ISO 4217 code."""
    plain = folded(text)
    return frozenset(code for code, words in _CURRENCIES.items() if re.search(words, plain))


def _taken(form: re.Pattern[str], text: str) -> tuple[list[re.Match[str]], str]:
    """What has that form, and the text without it."""
    found = list(form.finditer(text))
    return found, form.sub(" ; ", text)


def _amounts(found: list[re.Match[str]]) -> Iterator[tuple[str, str]]:
    for m in found:
        number, big, more = (m["a"], m["abig"], m["amore"]) if m["sign"] else (m["b"], m["bbig"], m["bmore"])
        value = _value(number) * _BIG.get(big or "", 1)
        if more and big in ("万", "千", "百"):
            value += Decimal(more) * _BIG[big] / 10  # 3万5: 35,000
        elif more:
            value = _value(number + more)
        if m["cents"]:
            value += _value(m["cents"]) / 10  # 35块5
        said = (m["sign"] or m["unit"]).strip()
        yield _written(value), next(c for c, words in _CURRENCIES.items() if re.fullmatch(words, said))


def _number(m: re.Match[str]) -> str:
    value = _value(m[1]) * _BIG.get(m["big"] or "", 1)
    value += Decimal(m["more"]) * _BIG[m["big"]] / 10 if m["more"] else 0
    return _written(value) + ("%" if m["percent"] else "")


def _date(m: re.Match[str]) -> tuple[int, int, int] | None:
    year = next((int(m[n]) for n in ("y", "y3", "y4", "y5") if m[n]), 0)
    month = next(m[n] for n in ("m", "m2", "m3", "m4", "m5") if m[n])
    day = next((int(_value(m[n])) for n in ("d", "d2", "d3", "d4") if m[n]), 0)
    number = _month(month)
    return (year, number, day) if 1 <= number <= 12 and day <= 31 else None


def _month(said: str) -> int:
    if said[0].isascii() and said[0].isalpha():
        return [name[:3] for name in _MONTHS.split("|")[:12]].index(said[:3]) + 1
    return int(_value(said))


def _clock(m: re.Match[str]) -> tuple[int, str] | None:
    hour = int(_value(next(m[n] for n in ("h", "h2", "h3") if m[n])))
    minute = {"半": 30, "一刻": 15, "三刻": 45}.get(m["q"] or "", 0)
    minute = minute or int(_value(m["min"] or m["m2"] or "0"))
    if hour > 24 or minute > 59:
        return None
    letter = m["ampm"] or m["ampm3"]
    half = {"a": "am", "p": "pm"}.get(letter or "", "")
    if m["half"]:
        half = "am" if re.fullmatch(_AM, m["half"]) else "pm"
    exact = "am" if hour < 12 and m["iso"] is not None else ""
    return (hour % 12) * 60 + minute, half or ("pm" if 12 < hour < 24 else exact)


def _value(said: str) -> Decimal:
    """A number as digits or in Chinese: 1,234.5, 十二, 一万二, 二〇二六."""
    if said[0].isdecimal():
        return Decimal(said.replace(",", ""))
    if not set(said) & {*_TENS, "万", "亿"}:
        return Decimal("".join(str(_DIGITS[c]) for c in said))
    total = section = digit = 0
    last = 1
    for c in said:
        if c in _DIGITS:
            digit = _DIGITS[c]
            last = 1 if c in "零〇" else last
        elif c in _TENS:
            last = _TENS[c]
            section, digit = section + (digit or 1) * last, 0
        else:
            last = _BIG[c]
            total, section, digit = (total + section + digit or 1) * last, 0, 0
    return Decimal(total + section + (digit * last // 10 if last >= 100 else digit))


def _written(value: Decimal) -> str:
    return format(value.normalize(), "f")
