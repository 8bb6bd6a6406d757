# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""How many pages a presentation is to have. A number that belongs to a source, or is only about so many, asks nothing."""

from __future__ import annotations

import re
from typing import Final

from fencepost_domain.task_contract import MAX_PAGES

from fencepost_intents.contract.scope import Scope, negated
from fencepost_intents.numbers import EN_ONES, read_en, read_zh
from fencepost_intents.patterns import lazy

_NUMBER: Final = rf"(?:\d{{1,3}}|[一二两三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九]|(?:{'|'.join([*EN_ONES, 'twenty'])})(?![a-z]))"
_COUNT: Final = lazy(
    rf"(?<![\d.a-z十百千几])(?P<a>{_NUMBER})(?: ?(?:-|~|–|—|到|至|to|or|或) ?(?P<b>{_NUMBER}))? ?-?(?:页(?!码|眉|脚|面大小)|张(?= ?(?:的)?(?:ppt|幻灯))|pages?\b|slides?\b|(?:page|slide)r\b)"
)
_ABOUT: Final = lazy(r"(?:约|大概|差不多|将近|近|around|about|roughly|approximately|some|approx\.?) ?$")
_ABOUT_AFTER: Final = lazy(r"^ ?(?:左右|上下|多|or so\b|-?ish\b)")
_BELOW: Final = lazy(r"(?:(?<!不)少于|小于|\bunder|\bfewer than|\bless than|\bbelow) ?$")
_MOST: Final = lazy(
    r"(?:不(?:要|能|得|可|许)?(?:超过|多于|大于|超)|别超过|至多|最多|上限(?:为|是)?|within|at most|(?:no|not) more than|(?:not|never|don't) exceed(?:ing)?|up to|max(?:imum)?(?: of)?\.?|limit(?:ed)? (?:it )?to) ?$"
)
_MOST_AFTER: Final = lazy(
    r"^ ?(?:以内|之内|以下|封顶|max\b|maximum\b|or (?:less|fewer)\b|at (?:the )?most\b|tops\b)"
)
_LEAST: Final = lazy(
    r"(?:至少|最少|不(?:能|得|要)?(?:少于|低于)|起码|at least|(?:no|not) (?:less|fewer) than|min(?:imum)?(?: of)?\.?) ?$"
)
_LEAST_AFTER: Final = lazy(r"^ ?(?:以上|起步|或以上|or more\b|at least\b|\+)")
_ABOVE: Final = lazy(r"(?:超过|多于|more than|over|above) ?$")
# The third page, each page, a page of the source: no wish.
_ORDINAL: Final = lazy(
    r"(?:第|每|前|后|头|page|slide|pages|slides|first|last|next|another|再加|增加|加|add|per) ?$"
)
_SOURCE: Final = lazy(
    r"(?:附件|这[份个本]|那[份个本]|上传的|原文|共|有|the attached|attached|this|these|that|my|uploaded|from(?: the| an?)?|of the) ?$"
)
_SOURCE_AFTER: Final = lazy(
    r"^ ?-?的?(?:长的?)? ?(?:pdf|附件|文档|word|docx?|报告|资料|论文|材料|讲义|reports?|documents?|papers?|files?|attachments?|manuals?|books?)"
)
_DECK: Final = (
    r"(?:pptx?|幻灯片?|演示(?:文稿|稿)?|课件|decks?|slides?|slide ?shows?|presentations?|power ?points?)"
)
_DECK_AFTER: Final = lazy(
    rf"^ ?-?(?:以内|以上|之内|以下)?的?(?:[\w]{{0,12}} ){{0,2}}?(?:中文|英文|双语|简短的?|精美的?)?{_DECK}"
)
_DECK_BEFORE: Final = lazy(rf"{_DECK}[^。;]{{0,16}}$")
_ALONE: Final = lazy(
    r"^(?:请|要|做|就|只|总共|一共|共|全部|正好|恰好|刚好|控制|限制|压缩|保持|篇幅|页数|长度|在|为|是|不|超过|多于|少于|能|得|可|最多|最少|至少|至多|以内|之内|以上|以下|即可|就好|就行|吧|[:: ]"
    r"|exactly|precisely|keep|make|it|to|have|has|with|in|at|most|least|no|not|more|less|fewer|than|up|max|maximum|minimum|of|please|only|just|total|should|must|be|the|deck|long|within|a|under|or)*$"
)


def pages(scope: Scope) -> tuple[int, int] | None:
    """(least, most) pages that are asked for, the last that were said; None without such words."""
    said: tuple[int, int] | None = None
    for clause in scope.clauses:
        if clause.asks:
            continue  # how many pages has it?
        for found in _COUNT.finditer(clause.words):
            said = _asked(clause.words, found, scope.zh) or said
    return said


def _asked(words: str, found: re.Match[str], zh: bool) -> tuple[int, int] | None:
    before, after = words[: found.start()], words[found.end() :]
    first = _number(found["a"])
    last = _number(found["b"]) if found["b"] else first
    if not 0 < first <= last <= MAX_PAGES or _ORDINAL.search(before):
        return None
    if _ABOUT.search(before) or _ABOUT_AFTER.search(after) or _SOURCE_AFTER.search(after):
        return None
    meant = (
        _DECK_AFTER.search(after)
        or _DECK_BEFORE.search(before)
        or found.group().rstrip("s").endswith("slide")
    )
    if not meant and (_SOURCE.search(before) or not _ALONE.search(f"{before} {after}")):
        return None
    return _bounds(words, found, first, last, zh)


def _bounds(words: str, found: re.Match[str], first: int, last: int, zh: bool) -> tuple[int, int] | None:
    before, after = words[: found.start()], words[found.end() :]
    if _MOST.search(before) or _MOST_AFTER.search(after):
        return (1, last)
    if _BELOW.search(before):
        return (1, max(1, last - 1))
    if _LEAST.search(before) or _LEAST_AFTER.search(after):
        return (first, MAX_PAGES)
    if _ABOVE.search(before):
        return (min(first + 1, MAX_PAGES), MAX_PAGES)
    return None if negated(words, found.start(), zh) else (first, last)


def _number(said: str) -> int:
    if said.isdigit():
        return int(said)
    found = read_en(said, said, len(said)) if said.isascii() else None
    number = found[0] if found is not None else read_zh(said)
    assert number is not None  # the pattern takes numbers that can be read
    return int(number)
