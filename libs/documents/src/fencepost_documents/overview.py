"""What documents hold, for a request such as `总结这份文档`: counted and quoted, nothing composed.

No model sums anything up here: an overview says what kinds of things there are and where, by the documents'
own words, so that each line can be looked up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fencepost_documents.answers import SHOWN, Answer, Evidence
from fencepost_documents.fields import folded, shown
from fencepost_documents.ir import RecordSet, SourceDocument, Unit
from fencepost_documents.records import extract_records

FIRST: Final = 5  # headings, or passages where a document has none
FIELDS: Final = 12
TITLES: Final = frozenset({"heading", "slide_title"})
_ASKED: Final = re.compile(
    r"总结|概括|摘要|概述|综述|归纳|提炼|要点|梗概|主要内容|大意|讲了什么|说了什么|写了什么|是什么内容|有什么内容"
    r"|(?:里|里面|中)(?:都)?有(?:些)?什么"
    r"|\bsummar\w*|\bsum up\b|\btl;?dr\b|\boverview\b|\boutline\b|\bkey points?\b|\bmain points?\b|\bgist\b"
    r"|\bwhat (?:is|does) (?:this|the|it)\b.{0,30}\b(?:about|say)\s*\??$"
    r"|\bwhat(?:'s| is) in (?:it|the (?:attached )?(?:file|document|attachment)s?)\s*\??$"
)
# A summary *of something in it*, or a document called one, is a question like any other.
_PLAIN: Final = re.compile(
    r"请|帮我|把|一下|一份|这份|这个|这些|该|附件|文档|文件|表格|内容|里面?|中|的|都|给我|全文|整个|整份|所有|全部"
    r"|\b(?:please|can|could|you|me|give|an?|the|this|these|that|of|for|it|attached|all|my|in|what|is|does|about|say|us)\b"
    r"|\b(?:documents?|files?|attachments?|pdf|contents?|report|whole|main|short|brief)\b"
)
_DATE: Final = re.compile(r"(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})")


def asks_overview(question: str) -> bool:
    """The documents themselves are to be summed up, not something that stands in them."""
    plain = folded(question)
    if not _ASKED.search(plain):
        return False
    rest = re.sub(r"[\W_]+", " ", _PLAIN.sub(" ", _ASKED.sub(" ", plain)))
    return len("".join(rest.split())) <= 2


def overview(documents: Sequence[SourceDocument], *, language: str = "en") -> Answer:
    """Kind, records with their fields, first and last day, and the first headings, each with its place."""
    evidence: list[Evidence] = []
    lines: list[str] = []
    for document in documents:
        found = extract_records(document)
        lines.append(_about(document, found, language))
        for unit in _first(document.units):
            evidence.append(_quoted(document, unit))
            lines.append(_line(evidence[-1], language))
    return Answer(found=bool(evidence), text="\n".join(lines), evidence=tuple(evidence))


def _about(document: SourceDocument, found: RecordSet, language: str) -> str:
    zh = language.startswith("zh")
    colon, joint = ("：", "，") if zh else (": ", ", ")
    parts = [document.kind, f"{len(document.units)} 个单元" if zh else f"{len(document.units)} units"]
    if found.records:
        parts.append(f"{len(found.records)} 条记录" if zh else f"{len(found.records)} records")
        names = ("、" if zh else ", ").join(shown(name, language) for name in found.fields[:FIELDS])
        parts.append(f"字段：{names}" if zh else f"fields: {names}")
    if days := _days(found):
        first, last = days[0], days[-1]
        span = first if first == last else f"{first} 至 {last}" if zh else f"{first} to {last}"
        parts.append(f"日期：{span}" if zh else f"dates: {span}")
    return f"{document.name}{colon}{joint.join(parts)}"


def _days(found: RecordSet) -> list[str]:
    """Days that records give as their time, in order."""
    texts = (record.fields.get(name, "") for record in found.records for name in ("time", "end_time"))
    days = (match for text in texts for match in _DATE.findall(text))
    return sorted(f"{year}-{int(month):02d}-{int(day):02d}" for year, month, day in days)


def _first(units: Sequence[Unit]) -> list[Unit]:
    """Its first headings; of a document without any, what it begins with, the rows under a header first."""
    titles = [unit for unit in units if unit.kind in TITLES]
    rows = [unit for unit in units if unit.columns]
    return (titles or rows or list(units))[:FIRST]


def _quoted(document: SourceDocument, unit: Unit) -> Evidence:
    quote = unit.text if len(unit.text) <= SHOWN else unit.text[: SHOWN - 1] + "…"
    return Evidence(
        artifact_id=document.artifact_id, document=document.name, locator=unit.locator, quote=quote, score=1.0
    )


def _line(one: Evidence, language: str) -> str:
    quote = " ".join(one.quote.split())
    return f"- “{quote}”（{one.locator}）" if language.startswith("zh") else f"- “{quote}” ({one.locator})"
