"""Fixed words of what is made without a model, Chinese and English."""

from __future__ import annotations

import re
from typing import Final

from .clean import clean
from .outline import Language

MISSING: Final = {"zh": "未提供", "en": "Not given"}
_WEEKDAYS: Final = (
    ("星期一", "Monday"), ("星期二", "Tuesday"), ("星期三", "Wednesday"), ("星期四", "Thursday"),
    ("星期五", "Friday"), ("星期六", "Saturday"), ("星期日", "Sunday"),
)  # fmt: skip
_TO_ENGLISH: Final = {
    **dict(_WEEKDAYS), **{f"周{zh[-1]}": en for zh, en in _WEEKDAYS}, "星期天": "Sunday", "周天": "Sunday",
}  # fmt: skip
_TO_CHINESE: Final = {en.casefold(): zh for zh, en in _WEEKDAYS} | {
    en[:3].casefold(): zh for zh, en in _WEEKDAYS
}
# Short ones beside a date only: Sun is a company, and sat a verb.
ENGLISH_DAY: Final = re.compile(
    r"(?<![A-Za-z])((?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)(?=\.|,?\s+\d)"
    r"|(?<=\d\s)(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun))(?![A-Za-z])\.?",
    re.I,
)
_CHINESE_DAY: Final = re.compile("(?:星期|周)[一二三四五六日天]")
_DOUBLED: Final = re.compile(r"(\w+://\S+)|([,，、;；|/／])(?:\s*\2)+")  # a link keeps its own


def cell_text(value: str, language: Language) -> str:
    """A record's value as a cell: weekdays in the language, separators once, words where none are."""
    text = _DOUBLED.sub(lambda found: found.group(1) or found.group(2), clean(value)).strip()
    if not any(char.isalnum() for char in text):
        return MISSING[language]
    if language == "zh":
        return ENGLISH_DAY.sub(lambda day: _TO_CHINESE[day.group(1).casefold()], text)
    return _CHINESE_DAY.sub(lambda day: _TO_ENGLISH[day.group()], text)


def pick(language: Language, zh: str, en: str) -> str:
    return zh if language == "zh" else en


def quoted(name: str, language: Language) -> str:
    """A name of somebody else's, marked as one: it keeps its own language."""
    return f"《{name}》" if language == "zh" else f"“{name}”"
