"""Words of previews and answers, Chinese and English: every instant with weekday, date, time and zone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from fencepost import Preview, PreviewLine
from fencepost_intents.result import TimeResult
from fencepost_intents.words import is_zh, say_amount, say_date, say_instant, say_recurrence

_LABELS: Final[Mapping[str, tuple[str, str]]] = {
    "what": ("内容", "What"),
    "when": ("时间", "When"),
    "repeats": ("重复", "Repeats"),
    "next": ("接下来", "Next"),
    "note": ("备注", "Note"),
    "amount": ("金额", "Amount"),
    "kind": ("类型", "Kind"),
    "category": ("类别", "Category"),
    "day": ("日期", "Day"),
    "about": ("说明", "About"),
    "duplicate": ("注意", "Note"),
}
_KINDS: Final = {
    "expense": ("支出", "expense"),
    "income": ("收入", "income"),
    "refund": ("退款", "refund"),
}


_TURNS: Final = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C])
_SAYABLE: Final = frozenset(
    {"FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTHDAY", "BYMONTH", "BYHOUR"}
)


def pick(locale: str, zh: str, en: str) -> str:
    return zh if is_zh(locale) else en


def kind_words(kind: str, locale: str) -> str:
    return pick(locale, *_KINDS[kind])


def category_words(category: str, locale: str) -> str:
    return pick(locale, "未分类", "uncategorised") if category == "other" else category


def line(label: str, value: str, locale: str) -> PreviewLine:
    return PreviewLine(label=pick(locale, *_LABELS[label]), value=value)


def preview(title: str, lines: list[PreviewLine], locale: str) -> Preview:
    """Title, lines, and the whole in one paragraph."""
    colon, joint = pick(locale, "：", ": "), pick(locale, "；", "; ")
    whole = joint.join(f"{one.label}{colon}{one.value}" for one in lines)
    return Preview(title=title, lines=tuple(lines), text=f"{title}{pick(locale, '。', '. ')}{whole}")


def instant_words(at: datetime, zone: str, locale: str) -> str:
    return say_instant(at, zone, locale)


def rule_words(
    rrule: str, dtstart: datetime, zone: str, locale: str, exdates: Sequence[datetime] = ()
) -> str:
    """A repetition in words; the rule itself where words would leave a part of it out."""
    names = {part.partition("=")[0] for part in rrule.upper().removeprefix("RRULE:").split(";")}
    said_in_full = names <= _SAYABLE and not {"BYDAY", "BYMONTHDAY"} <= names
    if not said_in_full:
        return pick(locale, f"按规则 {rrule}", f"by the rule {rrule}")
    place = ZoneInfo(zone)
    left_out = tuple(one.astimezone(place).isoformat() for one in exdates)
    first = dtstart.astimezone(place).isoformat()
    found = TimeResult("recurrence", (0, 0), "", rrule=rrule, dtstart=first, exdates=left_out, zone=zone)
    return say_recurrence(found, locale, zone)


def amount_words(amount: str, currency: str, locale: str) -> str:
    return say_amount(Decimal(amount), currency, locale)


def day_words(day: date, locale: str) -> str:
    return say_date(day, locale)


def shown_amount(amount: str) -> str:
    """Exact, without the column's trailing zeros, at least two places."""
    value = Decimal(amount)
    places = max(2, -_exponent(value.normalize()))
    return format(value.quantize(Decimal(1).scaleb(-places)), "f")


def _exponent(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return exponent if isinstance(exponent, int) and exponent < 0 else 0


def one_line(text: str) -> str:
    """Breaks and runs of spaces become one space; marks that turn text round are dropped.

    What a person approves must read as what is stored.
    """
    return " ".join(text.translate(_TURNS).split())
