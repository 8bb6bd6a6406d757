# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Target languages, pages, people: the slots of translation, presentation and mail."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from fencepost_intents.intent.clauses import quoted_spans
from fencepost_intents.intent.cues import EN_LANG, EN_PLACE
from fencepost_intents.intent.titles import cut, start_of_tail
from fencepost_intents.numbers import EN_ONES, EN_TENS, read_zh
from fencepost_intents.patterns import lazy
from fencepost_intents.result import SlotValue, Span

# BCP 47 code -> names in both languages.
_CODES: Final[Mapping[str, str]] = {
    "zh-Hant": "繁体中文|繁体|繁體中文|繁體|traditional chinese", "zh-Hans": "简体中文|简体|simplified chinese", "yue": "粤语|广东话|cantonese",
    "zh": "中文|汉语|中国话|普通话|国语|华语|chinese|mandarin", "en": "英文|英语|english", "ja": "日文|日语|日本语|japanese",
    "ko": "韩文|韩语|朝鲜语|korean", "fr": "法文|法语|french", "de": "德文|德语|german", "es": "西班牙文|西班牙语|西语|spanish",
    "pt": "葡萄牙文|葡萄牙语|葡语|portuguese", "it": "意大利文|意大利语|italian", "ru": "俄文|俄语|russian", "ar": "阿拉伯文|阿拉伯语|arabic",
    "th": "泰文|泰语|thai", "vi": "越南文|越南语|vietnamese", "nl": "荷兰语|荷兰文|dutch", "el": "希腊语|希腊文|greek",
    "tr": "土耳其语|土耳其文|turkish", "hi": "印地语|hindi", "la": "拉丁语|拉丁文|latin", "id": "印尼语|印尼文|indonesian", "ms": "马来语|马来文|malay",
    "pl": "波兰语|polish", "sv": "瑞典语|swedish", "he": "希伯来语|hebrew", "uk": "乌克兰语|ukrainian",
}  # fmt: skip
NAMES: Final[dict[str, str]] = {name: code for code, names in _CODES.items() for name in names.split("|")}
_ANY: Final = "|".join(sorted((re.escape(name) for name in NAMES), key=len, reverse=True))
_TARGET: Final = lazy(
    rf"(?:成|为|到|作|用|译|翻|转|换)\s?({_ANY})|(?:\binto|\bto|\bin|->|→)\s+({_ANY})\b|\b({_ANY})\s+(?:word|words|term|phrase|translation|for|equivalent|version)\b|({_ANY})(?:怎么|如何|咋|怎样|是什么|叫什么|版|翻译|应该|的?单词)|的({_ANY})|({_ANY})"
)
_PAIR: Final = lazy(r"[中汉英日法德韩俄](?:译|翻)([中汉英日法德韩俄])")
_PAIR_CODES: Final = {
    "中": "zh",
    "汉": "zh",
    "英": "en",
    "日": "ja",
    "法": "fr",
    "德": "de",
    "韩": "ko",
    "俄": "ru",
}
_PLACES: Final[Mapping[str, str]] = {
    "mexico": "es", "spain": "es", "argentina": "es", "chile": "es", "colombia": "es", "peru": "es", "france": "fr", "germany": "de", "austria": "de",
    "italy": "it", "japan": "ja", "china": "zh", "korea": "ko", "russia": "ru", "brazil": "pt", "portugal": "pt", "greece": "el", "turkey": "tr",
    "thailand": "th", "vietnam": "vi", "poland": "pl", "sweden": "sv", "ukraine": "uk", "israel": "he",
}  # fmt: skip
_IN_PLACE: Final = lazy(rf"\bsay\b.{{1,80}}?\bin ({EN_PLACE})\b")
POINTS: Final = lazy(
    r"^(?:下面|以下|上面|这|那|它|此|下列|如下)[^,]{0,8}$|^(?:这|那)?(?:段|句|个|些|篇)(?:话|文字|内容|词|句子)?$|^(?:this|that|it|these|the following|this for me|following text)(?: \w+)?$"
)
_EDGE: Final = lazy(
    r"^(?:[\s,:：，。、]|请问|请|for |帮我|把|将|一下|下|成|为|to |into |please |this:? |the following:? |from \w+ |how (?:do|can|would|should|could) (?:i|you|we|one|people) (?:say|write),? )+"
)
_EDGE_TAIL: Final = lazy(r"(?:[\s,:：，。、?？!]|成|为|吧|谢谢|please|一下| to| into| for me)$")
_PAGES: Final = lazy(
    r"(\d{1,3}|[一二两三四五六七八九十百]{1,4})\s?(?:页|张|p(?:ages?)?\b)|\b(\d{1,3}|[a-z]+(?:-[a-z]+)?)[ -](?:slides?|pages?)\b|\b(\d{1,3})p\b"
)
EMAIL: Final = lazy(r"(?<![a-z0-9._%+-])[a-z0-9][a-z0-9._%+-]{0,63}@[a-z0-9-]+(?:\.[a-z0-9-]+)+")
_ZH_TO: Final = lazy(
    r"(?:给|向|跟|致)([^\s,，。:：、给]{1,10}?)(?=写|发|起草|回|拟|寄|的邮件|一封|email|发送|说|告诉|让|请|问|催|约|通知|关于|道歉|并|祝|表示|\s|,|，|$)"
)
_ZH_REPLY: Final = lazy(r"回复([^\s,，。的]{1,8})的")
_EN_TO: Final = lazy(
    r"\b(?:e-?mail|mail|message|reply|respond) (?:to )?((?:my |our |the )?[a-z][\w.'-]*)|\bto ((?:my |our |the )?[a-z][\w.'-]*)"
)
# What else of a name stands behind its first word: Anna Schmidt, Dr. Smith, but not Bob I'm late, Bob Monday.
_MORE_OF_A_NAME: Final = lazy(
    r"(?: (?!(?:I|I'm|I'll|Please|That|The|About|We|My|Our|Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)(?:day)?\b)[A-Z][\w'’-]*){1,2}"
)
_NOT_PEOPLE: Final = frozenset(
    [
        "me",
        "a",
        "an",
        "the",
        "about",
        "that",
        "saying",
        "asking",
        "for",
        "of",
        "regarding",
        "with",
        "and",
        "be",
        "say",
        "ask",
        "tell",
        "him",
        "them",
        "let",
        "write",
        "draft",
        "go",
        "get",
        "do",
        "make",
    ]
)
_ZH_WITH: Final = lazy(
    r"(?:和|跟|与|同)([\u4e00-\u9fffA-Za-z]{1,6}?)(?=(?:的|一起|开|见|吃|聊|讨论|通|碰|面|打|约|视频|谈|确认|对|去|看))"
)
_EN_WITH: Final = lazy(r"\bwith ((?:my |the |our )?[A-Za-z]\w*(?:(?:,? and |, | & )[A-Z]\w*)*)")
_COLON: Final = lazy(r"[:：]\s*")
_ZH_OBJECT: Final = lazy(
    r"(?:把|将)(?:下面|以下|这|那|这段|这句|下面这段|这个)?(?:段|句|个|些)?(?:话|文字|内容|单词|词|句子|文本|短语)?"
)


def target_language(norm: str, window: Span) -> SlotValue | None:
    """The language to translate into: the last one named with into, 成, 用; else the only one named."""
    if pair := _PAIR.search(norm, *window):
        return SlotValue(_PAIR_CODES[pair.group(1)], pair.span(1))
    best: tuple[int, str, Span] | None = None
    for found in _TARGET.finditer(norm, *window):
        group = found.lastindex or 1
        weight = 0 if group == 6 else 1
        if best is None or weight > best[0]:
            best = (weight, NAMES[found.group(group)], found.span(group))
    if best is None and (place := _IN_PLACE.search(norm, *window)):
        return SlotValue(_PLACES[place.group(1)], place.span(1))  # how do you say it in Mexico
    return None if best is None else SlotValue(best[1], best[2])


def pages(norm: str, window: Span) -> SlotValue | None:
    """How many pages or slides."""
    for found in _PAGES.finditer(norm, *window):
        word = next(group for group in found.groups() if group)
        count = _count(word)
        if count:
            return SlotValue(count, found.span())
    return None


def _count(word: str) -> int | None:
    if word.isdigit():
        return int(word)
    if word.isascii():
        tens, _, ones = word.partition("-")
        return EN_ONES.get(word) or (EN_TENS.get(tens, 0) + EN_ONES.get(ones, 0)) or None
    number = read_zh(word)
    return int(number.value) if number else None


def recipients(text: str, norm: str, window: Span, zh: bool) -> SlotValue | None:
    """Addresses where written; else the person named after 给, "to" or "email"."""
    addresses = list(EMAIL.finditer(norm, *window))
    if addresses:
        found = [text[one.start() : one.end()] for one in addresses]
        return SlotValue(found, (addresses[0].start(), addresses[-1].end()))
    matches = (
        [*_ZH_TO.finditer(norm, *window), *_ZH_REPLY.finditer(norm, *window)]
        if zh
        else [*_EN_TO.finditer(norm, *window)]
    )
    for match in matches:
        group = match.lastindex or 1
        start, end = match.span(group)
        if text[start].isupper() and (more := _MORE_OF_A_NAME.match(text, end)):
            end = more.end()
        name = text[start:end].removesuffix("'s")
        if (
            name.lower() not in _NOT_PEOPLE
            and "mail" not in name.lower()
            and "message" not in name.lower()
            and name not in ("我", "我们", "大")
        ):
            return SlotValue([name], (start, end))
    return None


def attendees(text: str, norm: str, window: Span, zh: bool) -> SlotValue | None:
    """With whom a meeting is."""
    source = norm if zh else text
    found = (_ZH_WITH if zh else _EN_WITH).search(source, *window)
    if found is None:
        return None
    names = re.split(r",? and |, | & |和|、", text[found.start(1) : found.end(1)])
    return SlotValue([name for name in names if name], found.span(1))


_SAID: Final = lazy(
    rf"\b(?:say|write|pronounce|express|spell|call|called|is|are|put|mean|does|translate|what's|whats|people call|word for|for)\s+(.{{1,200}}?)\s+(?:called |mean |said )?(?:in|into|to) (?:{EN_LANG}|{EN_PLACE})\b"
)


def said_in(text: str, norm: str, window: Span) -> SlotValue | None:
    """ "how do you say X in Spanish": X."""
    found = _SAID.search(norm, *window)
    return (
        None if found is None else SlotValue(text[found.start(1) : found.end(1)].strip("'\" "), found.span(1))
    )


def payload(text: str, norm: str, window: Span, taken: list[Span], zh: bool) -> SlotValue | None:
    """The text to work on: what is quoted, or what stands after a colon, or what is left of the sentence."""
    for start, end in quoted_spans(norm[window[0] : window[1]]):
        return SlotValue(text[window[0] + start : window[0] + end], (window[0] + start, window[0] + end))
    if (found := _COLON.search(norm, *window)) and text[found.end() : window[1]].strip():
        return _whole(text, (found.end(), window[1]))
    if zh and (lead := _ZH_OBJECT.match(norm, *window)):
        taken = [*taken, lead.span()]
    return cut(text, norm, window, taken, zh)


def payload_to_translate(text: str, norm: str, window: Span, taken: list[Span]) -> SlotValue | None:
    """The words to translate, as they stand: quoted, after a colon, or beside the request; None for
    这句话.
    """
    for start, end in quoted_spans(norm[window[0] : window[1]]):
        return SlotValue(text[window[0] + start : window[0] + end], (window[0] + start, window[0] + end))
    if (found := _COLON.search(norm, *window)) and text[found.end() : window[1]].strip():
        return _whole(text, (found.end(), window[1]))
    first, last = min(start for start, _ in taken), max(end for _, end in taken)
    middle = (min(end for _, end in taken), max(start for start, _ in taken))
    for start, end in ((last, window[1]), middle, (window[0], first)):
        if lead := _EDGE.match(norm[start:end]):
            start += lead.end()
        end = start_of_tail(_EDGE_TAIL, norm, start, end)
        if end > start and text[start:end].strip() and not POINTS.match(norm[start:end].strip()):
            return _whole(text, (start, end))
    return None


def _whole(text: str, span: Span) -> SlotValue:
    start, end = span
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return SlotValue(text[start:end], (start, end))


__all__ = ["EN_LANG", "attendees", "pages", "payload", "recipients", "target_language"]
