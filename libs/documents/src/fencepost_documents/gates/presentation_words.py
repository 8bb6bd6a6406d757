"""Whether what the audience reads is in its language, and meant for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from fencepost_domain.gates import Violation

from fencepost_documents.ir import RecordSet
from fencepost_documents.office.clean import clean_line, squeeze
from fencepost_documents.office.outline import Language, Outline
from fencepost_documents.office.wording import ENGLISH_DAY, cell_text

from .facts import PresentationFacts

# Links, glosses in brackets, quotations and titles stay as they are.
_KEPT_AS_IS: Final = re.compile(
    r"https?://\S+|www\.\S+|\S+@\S+|[（(][^（）()]{1,80}[）)]|“[^”]{1,60}”|《[^》]{1,80}》"
)
# `李小龙 (Li Xiaolong)`: a name in its own script with its reading behind it.
_GLOSSED: Final = re.compile(r"[\u3400-\u9fff\uf900-\ufaff·]{1,12}\s*[（(][^（）()]*[A-Za-z][^（）()]*[）)]")
_NO_LETTER_AHEAD: Final = r"(?<![A-Za-z])"  # not a word boundary: to one, Chinese is letters too
_NO_LETTER_BEHIND: Final = r"(?![A-Za-z])"
_MONTH: Final = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_MONTH_OF_DATE: Final = re.compile(
    rf"{_NO_LETTER_AHEAD}(?:{_MONTH}(?=\s*\d)|(?<=\d\s){_MONTH}|(?<=\d(?:st|nd|rd|th)\s){_MONTH}){_NO_LETTER_BEHIND}",
    re.I,
)
_RUN: Final = re.compile(r"[A-Za-z][A-Za-z'’\-]*(?:[ ,.:;]+[A-Za-z][A-Za-z'’\-]*)+")
_HEADINGS: Final = frozenset(
    {"name", "title", "date", "time", "place", "location", "venue", "address", "status", "remarks",
    "notes", "owner", "contact", "person", "type", "category", "description", "amount", "price",
    "quantity", "source", "summary", "overview", "agenda", "introduction", "conclusion", "thanks"}
)  # fmt: skip
_HAN: Final = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+")
_MANY: Final = 4  # words in a row that are no name any more
_FEW: Final = 3  # with a small word among them (`University of California`)

_PRODUCTION: Final = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        r"(?<![A-Za-z])(?:TODO|TBD|FIXME)(?![A-Za-z])|lorem ipsum|\bplaceholder (?:text|image)",
        r"\[\s*(?:insert|add|image|chart|picture|photo|logo)\b[^\]]*\]",
        r"\binsert (?:a |the )?(?:chart|image|picture|table|logo) here\b",
        r"\b(?:speaker|presenter|designer|production) notes?\s*[:：]|\bnotes? (?:to|for) the designer",
        r"\b(?:this|the) slide (?:should|will|needs? to)\b|\bas (?:requested|instructed) by the user\b",
        r"\bas an? (?:AI|language model)\b|\bI (?:have )?(?:generated|created) (?:this|the) (?:slide|deck)",
        r"此处(?:插入|填写|可(?:插|放|加|填))|此处(?:放置?|贴|配|添加)[^，。,]{0,12}?(?:图|照片|截图|logo|视频|表格)",
        r"在此(?:处?插入|处?填写)|在此处添加[^，。,]{0,8}?(?:图|文字|内容|标题)|插入(?:一张)?(?:图片|图表|配图|logo)",
        r"(?<!有)待(?:设计师?|美工|编辑|后续|领导|客户)?(?:补充|完善|填写)|(?:本页|该页|此页|这一页)(?:应|需要?|建议|将)",
        r"制作(?:说明|备注|提示)|排版(?:说明|建议|要求)|(?:请|给|致)设计师|演讲者?备注|讲稿[:：]|配图建议",
        r"(?:字体|字号|配色)(?:建议|要求)|根据(?:用户|您)的?(?:要求|需求|指令)|按(?:用户|您)的?要求",
        r"作为(?:一个)?(?:AI|人工智能|语言模型)|(?:某某|[xX×]{2,})(?:公司|单位|部门)",
    )
)


def judge_words(outline: Outline, facts: PresentationFacts) -> Iterator[Violation]:
    """Speaker notes are left out: they are for the speaker."""
    given = {squeeze(value) for record in facts.records or () for value in record.fields.values()}
    for pointer, text in shown_texts(outline):
        line = clean_line(text)
        if left := untranslated(line, outline.language):
            yield Violation(
                "untranslated",
                pointer,
                f"{left!r} isn't in {outline.language}",
                f"translate it into {'Chinese' if outline.language == 'zh' else 'English'};"
                " the original may follow in brackets",
            )
        note = next((hit.group() for form in _PRODUCTION if (hit := form.search(line))), "")
        if note and squeeze(text) not in given:  # a source that says 待补充 is quoted, not a leak
            yield Violation(
                "production_note",
                pointer,
                f"{note!r} speaks to who makes the slides",
                "say it to the audience, put it into `notes`, or leave it out",
            )


def shown_texts(outline: Outline) -> Iterator[tuple[str, str]]:
    """Everything the audience reads, with its pointer."""
    yield "/title", outline.title
    for at, slide in enumerate(outline.slides):
        here = f"/slides/{at}"
        yield f"{here}/title", slide.title
        yield from ((f"{here}/bullets/{index}", text) for index, text in enumerate(slide.bullets))
        if slide.table:
            yield from (
                (f"{here}/table/columns/{index}", text) for index, text in enumerate(slide.table.columns)
            )
            for number, row in enumerate(slide.table.rows):
                yield from (
                    (f"{here}/table/rows/{number}/cells/{index}", text)
                    for index, text in enumerate(row.cells)
                )
        if slide.chart:
            yield f"{here}/chart/title", slide.chart.title
            yield from (
                (f"{here}/chart/categories/{at}", one) for at, one in enumerate(slide.chart.categories)
            )
            yield from (
                (f"{here}/chart/series/{at}/name", one.name) for at, one in enumerate(slide.chart.series)
            )


def fitting_languages(records: RecordSet) -> list[Language]:
    """The languages in which slides can show all of these values; none where they mix."""
    values = [value for record in records.records for value in record.fields.values()]
    both: tuple[Language, ...] = ("zh", "en")
    return [
        language
        for language in both
        if not any(untranslated(clean_line(cell_text(value, language)), language) for value in values)
    ]


def untranslated(line: str, language: Language) -> str:
    """What of `line` is in the other language, '' when nothing is.

    Links, addresses, codes, glosses in brackets and names of a word or two are as they are.
    """
    rest = _KEPT_AS_IS.sub(" ", line)
    if language == "en":
        found = _HAN.search(_KEPT_AS_IS.sub(" ", _GLOSSED.sub(" ", line)))
        return found.group() if found else ""
    if found := ENGLISH_DAY.search(rest) or _MONTH_OF_DATE.search(rest):
        return found.group()
    if rest.strip().casefold() in _HEADINGS:
        return rest.strip()
    return next((run.group() for run in _RUN.finditer(rest) if _is_prose(run.group())), "")


def _is_prose(run: str) -> bool:
    words = [word for word in re.split(r"[ ,.:;]+", run) if len(word) > 1 and not word.isupper()]
    small = any(word.islower() for word in words)
    return len(words) >= _MANY or (len(words) >= _FEW and small)
