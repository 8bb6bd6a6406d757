"""Which script a text is written in, and what in it is of another: counted, not guessed (design 08 §3)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

ZH: Final = "zh"
EN: Final = "en"
_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_KANA_HANGUL: Final = re.compile("[\u3040-\u30ff\uac00-\ud7af]")
_WORD: Final = re.compile(r"[A-Za-z\u00c0-\u024f]+(?:['’-][A-Za-z\u00c0-\u024f]+)*")
_ADDRESS: Final = re.compile(r"(?:https?://|www\.)[^\s，。；、）)]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
# Words of the trade that stand in Chinese mails as they are; no sign of a mixed language.
_AT_HOME: Final = frozenset(
    {
        "ok",
        "app",
        "api",
        "ai",
        "it",
        "hr",
        "pr",
        "vip",
        "logo",
        "wifi",
        "wi-fi",
        "email",
        "e-mail",
        "ppt",
        "word",
        "excel",
        "pdf",
        "offer",
        "demo",
        "bug",
        "ceo",
        "cto",
        "cfo",
        "kpi",
        "okr",
        "deadline",
        "zoom",
        "teams",
        "github",
        "sql",
        "ios",
        "android",
        "web",
        "beta",
        "id",
        "url",
        "q&a",
        "faq",
    }
)


def han(text: str) -> int:
    """How many Han characters there are."""
    return len(_HAN.findall(text))


def words(text: str) -> list[str]:
    """Words in Latin script, without those of addresses."""
    return _WORD.findall(_ADDRESS.sub(" ", text))


def main_language(text: str) -> str | None:
    """`zh`, `en`, or None where there is too little to say. A Latin word weighs as much as two characters."""
    chinese, latin = han(text), 2 * len(words(text))
    if chinese + latin < 2:
        return None
    return ZH if chinese >= latin else EN


def foreign(text: str, language: str, known: Iterable[str] = ()) -> list[str]:
    """Runs of another language in a text that should be in `language`, in order.

    known: names and words of the request, which may stand as they were written. In Chinese a single Latin
    name, acronym or product is at home; a run of two or more lower-case words isn't.
    """
    allowed = {word.casefold() for part in known for word in words(part)} | _AT_HOME
    if _KANA_HANGUL.search(text):
        return _KANA_HANGUL.findall(text)[:1]
    if language == ZH:
        return [run for run in _latin_runs(text) if _is_foreign_run(run, allowed)]
    said = "".join(known)
    return [run for run in re.findall(f"{_HAN.pattern}+", text) if run not in said]


def _latin_runs(text: str) -> list[str]:
    plain = _ADDRESS.sub("，", text)
    return [run.strip() for run in re.findall(r"[A-Za-z\u00c0-\u024f][A-Za-z\u00c0-\u024f'’ -]*", plain)]


def _is_foreign_run(run: str, allowed: set[str]) -> bool:
    unknown = [word for word in _WORD.findall(run) if word.casefold() not in allowed]
    ordinary = [word for word in unknown if word.islower()]
    return len(ordinary) >= 1 and (len(unknown) >= 2 or len(ordinary[0]) >= 3)
