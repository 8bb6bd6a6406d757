"""Answers from evidence: the passages of the documents that a question is about, quoted and located.

Retrieval is deterministic: Chinese by pairs of characters, Latin by words, weighed by how rare they are in
these documents. Nothing is composed: what isn't in a passage isn't in the answer, and a question that no
passage is about is answered with "not found". An instruction inside a passage is a quotation like any other.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from fencepost_documents.fields import SYNONYMS, canonical, folded, shown
from fencepost_documents.ir import Frozen, SourceDocument, Unit

FEW: Final = 5
GROUP: Final = 6  # units that a labelled line may be said of
SHOWN: Final = 600  # characters of a quotation
ENOUGH: Final = 0.34  # of the question's weight that a passage must hold to be about it
NEAR: Final = 0.6  # of the best passage's score
_LATIN: Final = re.compile(r"[a-z0-9]+(?:[.'’@_-][a-z0-9]+)*")
_HAN: Final = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+")
# A number and the character it touches: 活动7 isn't the row of 3月7日.
_TOUCHING: Final = re.compile(r"(?=([\u3400-\u9fff]\d+(?!\d)))|(?=((?<!\d)\d+[\u3400-\u9fff]))")
_SPACED: Final = re.compile(r"(?<=[\u3400-\u9fff]) (?=\d)|(?<=\d) (?=[\u3400-\u9fff])")
# Words that ask and say nothing of what about.
_ASKING: Final = re.compile(
    r"请问|怎样|告诉我|帮我|查一下|看一下|看看|有没有|是不是|什么时候|在什么地方|在哪里|在哪儿|哪里|哪儿|哪些|哪个|哪天|几点|多少钱|多少|什么|怎么样|怎么|"
    r"如何|为什么|是谁|谁是|是否|根据|附件|文档|文件|表格|里面|里的|其中|中的|关于|的是|一共|是|的|了|吗|呢|吧|有|在|和|与|及|里|中|几|谁|哪"
)
_STOP_WORDS: Final = (
    "a an and are as at be by can could do does did for from give has have how i in is it its me of on or "
    "please show tell that the their there this to was were what when where which who whom whose why will "
    "with would you document file attachment attached according about list much many"
)
_STOP: Final = frozenset(_STOP_WORDS.split())
# What a question asks for, by its words: a passage that labels such a field answers it better.
_ASKS: Final = (
    ("time", re.compile(r"什么时候|几点|哪天|时间|日期|何时|\bwhen\b|\bwhat (?:time|date|day)\b")),
    ("place", re.compile(r"在?哪里|哪儿|地点|什么地方|地址|\bwhere\b|\bvenue\b|\blocation\b")),
    (
        "amount",
        re.compile(r"多少钱|金额|价格|费用|预算|\bhow much\b|\bcost\b|\bprice\b|\bamount\b|\bbudget\b"),
    ),
    ("person", re.compile(r"谁|负责人|联系人|\bwho\b|\bperson in charge\b|\bcontact\b")),
    ("quantity", re.compile(r"多少(?!钱)|几个|数量|人数|\bhow many\b|\bquantity\b")),
)


class Evidence(Frozen):
    """A passage: its place, and its words as they are. field, value: what was asked for, if labelled."""

    artifact_id: str
    document: str
    locator: str
    quote: str
    score: float
    field: str | None = None
    value: str | None = None


class Answer(Frozen):
    """found: some passage is about the question. text: quotations with their places, nothing else."""

    found: bool
    text: str
    evidence: tuple[Evidence, ...] = ()


def answer(
    question: str, documents: Sequence[SourceDocument], *, language: str = "en", few: int = FEW
) -> Answer:
    """The best passages, at most `few`, in the order of their score and then of the source."""
    terms = _terms(_ASKING.sub(" ", folded(question)))
    if not terms:
        terms = _terms(folded(question))
    passages = [(document, index) for document in documents for index in range(len(document.units))]
    asked = _asked(question)
    words = [_terms(_said(document, index, asked)) for document, index in passages]
    standing = set[str]().union(*words)
    for each in [term for term in terms if _TOUCHING.match(term) and term not in standing]:
        del terms[each]  # written apart there: its number and its words still count
    weights = _weights(terms, words)
    whole = sum(weights.values())
    if not whole:
        return Answer(found=False, text=_not_found(documents, language))
    scored = sorted(
        (
            (_score(weights, whole, held, *place, asked), number)
            for number, (place, held) in enumerate(zip(passages, words, strict=True))
        ),
        key=lambda one: (-one[0], one[1]),
    )
    best = scored[0][0] if scored else 0.0
    chosen = [(score, passages[number]) for score, number in scored if score >= max(ENOUGH, NEAR * best)][
        :few
    ]
    if not chosen:
        return Answer(found=False, text=_not_found(documents, language))
    evidence = tuple(_evidence(document, index, score, asked) for score, (document, index) in chosen)
    several = len({one.artifact_id or one.document for one in evidence}) > 1 or len(documents) > 1
    return Answer(
        found=True, text="\n".join(_line(one, several, language) for one in evidence), evidence=evidence
    )


def _terms(text: str) -> Counter[str]:
    """Pairs of Chinese characters (a single one by itself), Latin words without a plural s, numbers."""
    plain = folded(text)
    terms: Counter[str] = Counter()
    for run in _HAN.findall(plain):
        terms.update(run[i : i + 2] for i in range(len(run) - 1)) if len(run) > 1 else terms.update([run])
    terms.update(one for pair in _TOUCHING.findall(_SPACED.sub("", plain)) for one in pair if one)
    for word in _LATIN.findall(plain):
        if word not in _STOP:
            plural = len(word) > 3 and word.endswith("s") and not word.endswith("ss")
            terms[word[:-1] if plural else word] += 1
    return terms


def _weights(terms: Iterable[str], passages: Sequence[Counter[str]]) -> dict[str, float]:
    """Rare in these documents weighs more; a term that stands nowhere still counts against each passage."""
    count = len(passages)
    return {term: math.log(1 + count / (1 + sum(term in held for held in passages))) + 0.1 for term in terms}


def _score(
    weights: dict[str, float],
    whole: float,
    held: Counter[str],
    document: SourceDocument,
    index: int,
    asked: Sequence[str],
) -> float:
    """Share of the question's weight that the passage holds; a little more where it labels what is asked."""
    share = sum(weight for term, weight in weights.items() if term in held) / whole
    if share and asked and _value(document.units[index], asked):
        share *= 1.2
    if document.units[index].kind in ("heading", "slide_title"):
        share *= 0.8  # what stands below it says more
    return round(share, 6)


def _said(document: SourceDocument, index: int, asked: Sequence[str]) -> str:
    """A passage with what it stands under: a row's headers, the heading above a line; of a line that labels
    what is asked for (`时间：…`) all that it may be said of, back to the line of the same label before it.
    """
    unit = document.units[index]
    if not unit.columns and _value(unit, asked):
        return "\n".join([unit.text, *_group_above(document.units, index, asked)])
    names = " ".join(unit.columns) if unit.columns else ""
    above = ""
    if unit.kind in ("paragraph", "list_item", "slide_text"):
        above = _heading_above(document.units, index)
    return f"{unit.text} {names} {above}"


def _heading_above(units: Sequence[Unit], index: int) -> str:
    """The nearest heading within a few units, or the name that a labelled group starts with."""
    for unit in reversed(units[max(0, index - 8) : index]):
        if unit.kind in ("heading", "slide_title"):
            return unit.text
    return ""


def _group_above(units: Sequence[Unit], index: int, asked: Sequence[str]) -> Iterator[str]:
    for unit in reversed(units[max(0, index - GROUP) : index]):
        if _value(unit, asked):
            return
        yield unit.text


def _asked(question: str) -> list[str]:
    plain = folded(question)
    return [field for field, pattern in _ASKS if pattern.search(plain)]


def _value(unit: Unit, asked: Sequence[str]) -> tuple[str, str] | None:
    """The asked field of a row or a labelled line: its canonical name and its words."""
    for header, value in (unit.columns or {}).items():
        if canonical(header) in asked:
            return str(canonical(header)), value
    for field in asked:
        for label in SYNONYMS[field]:
            found = re.search(rf"(?:^|[\s；;，,]){re.escape(label)}\s*[:：]\s*([^\n；;]+)", folded(unit.text))
            if found:
                return field, found[1].strip()
    return None


def _evidence(document: SourceDocument, index: int, score: float, asked: Sequence[str]) -> Evidence:
    unit = document.units[index]
    field, value = _value(unit, asked) or (None, None)
    quote = unit.text if len(unit.text) <= SHOWN else unit.text[: SHOWN - 1] + "…"
    return Evidence(
        artifact_id=document.artifact_id, document=document.name, locator=unit.locator, quote=quote,
        score=score, field=field, value=value,
    )  # fmt: skip


def _line(one: Evidence, several: bool, language: str) -> str:
    chinese = language.startswith("zh")
    place = f"{one.document}, {one.locator}" if several else one.locator
    quote = " ".join(one.quote.split())
    quoted = f"“{quote}”（{place}）" if chinese else f"“{quote}” ({place})"
    if one.field and one.value:
        return f"- {shown(one.field, language)}{'：' if chinese else ': '}{one.value} — {quoted}"
    return f"- {quoted}"


def _not_found(documents: Sequence[SourceDocument], language: str) -> str:
    names = ("、" if language.startswith("zh") else ", ").join(one.name for one in documents)
    if language.startswith("zh"):
        return f"文档中没有找到相关内容（已查阅：{names}）。"
    return f"Not found in the documents (looked in: {names})."
