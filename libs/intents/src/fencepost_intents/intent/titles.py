# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""The title of a reminder, the words of a ledger entry: what is left when time, cue and politeness are
taken away.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fencepost_intents.patterns import lazy
from fencepost_intents.result import SlotValue, Span

_ZH_LEAD: Final = lazy(
    r"^(?:[\s,;:。、!！?？.\-~“”\"'「」]|请(?!客|假|帖|教)|把(?!握|关|手)|麻烦你?|帮我|帮忙|给我|你|您|能不能|能否|可不可以|可以|能|到时候?|届时|务必|一定|记得|别忘了?|不要忘记|不要忘了|要记得|"
    r"我(?!妈|爸|老|家|儿|女|弟|哥|姐|妹|爷|奶)(?:要|得|想|需要|会|们要|们)?|需要|应该|得(?!到)|要(?!求|点|素|闻)|说(?=[:,])|有(?:一个|一场|个|一?次)|有(?=[会课])|是(?=要)|的(?!士)|在|于|一下|一声|下(?![班课单午])|就|再|那天|时候|时|去(?=$)|提醒我?|设(?:置|定)?|关于|晚一点|晚点儿?|等一?下|等会儿?|过一?会儿?|待会儿?|稍后|一会儿|提前|提早|大概|大约|差不多|左右|事项|内容|主题|标题|事情?是|是|为(?=[:,])|吧)+"
)
_ZH_TAIL: Final = lazy(
    r"(?:[\s,;:。、!！?？.~“”\"'「」]|提醒(?:我|一下|下)*|的(?:提醒|闹钟|时候|事情?|日程|待办)?|吧|哦|啊|呀|哈|好吗|好不好|可以吗|行吗|行不行|可以么|谢谢|多谢|拜托|帮我|记得|请|谢啦|呢|一下|叫我|了哦|在|于|到|把|给我|喔|噢|嘛|提前|提早|时间(?:是|为|定在)|晚一点|晚点儿?|等一?下|等会儿?|过会儿?|待会儿?|稍后|一会儿|过一会儿?)$"
)
_EN_LEAD: Final = lazy(
    r"^(?:[\s,;:.!?\-~\"'“”]|(?:ish|to|about|that|for me to|me to|for|of|on|at|by|in|the fact|please|also|and|then|again|kindly|can you|could you|would you|will you|hey|ok|okay|i need you to|saying|called|titled|named|which says|regarding|it'?s time to|is|so that i|so i)(?![\w'])|i (?:need|have|want|must|should|am supposed|'ve got|gotta|got)(?: to)?(?![\w'])|(?:i|we|let's|lets|i'd like|i'll|hey there|one|another|it)(?=[\s,]*$)|i'?ve got to(?!\w)|i'?m (?:going to|supposed to)(?!\w))+"
)
_EN_TAIL: Final = lazy(
    r"(?:[\s,;:.!?\-~\"'“”(]|(?<![\w'])(?:please|thanks|thank you|ok|okay|for me|at|on|in|by|for|to|from|and|the|around|about|starting|until|every|before|on my calendar|to my calendar|in my calendar|on the calendar|to the calendar|will you|would you|can you|could you|remind me|with|of|this|is|then|also|each|was|were|came))$"
)
_ZH_LAST: Final = lazy(
    r"(?:[\s,;:。、!！?？.~“”\"'「」]|提醒(?:我|一下|下)+|的(?:提醒|闹钟|日程|待办)|吧|哦|啊|呀|哈|好吗|好不好|可以吗|行吗|行不行|可以么|谢谢|多谢|拜托|谢啦|呢|叫我|记得|喔|噢|嘛)$"
)
_EN_LAST: Final = lazy(
    r"(?:[\s,;:.!?\-~\"'“”(]|(?<![\w'])(?:please|thanks|thank you|ok|okay|for me|will you|would you|can you|could you))$"
)
_LONGEST_GLUE: Final = 24  # code points
_SPACES: Final = lazy(r"\s{2,}")


def cut(text: str, norm: str, window: Span, removed: Sequence[Span], zh: bool) -> SlotValue | None:
    """The words of a window without the removed stretches and the glue around them; None when nothing is
    left.

    The span reaches from the first to the last kept code point.
    """
    pieces = _trimmed(norm, _left(window, removed), zh, any(end >= window[1] for _, end in removed))
    if not pieces:
        return None
    value = (
        "".join(text[start:end] for start, end in pieces)
        if zh
        else " ".join(text[start:end] for start, end in pieces)
    )
    value = _SPACES.sub(" ", value).strip()
    return SlotValue(value, (pieces[0][0], pieces[-1][1])) if value else None


def start_of_tail(one: re.Pattern[str], norm: str, start: int, end: int) -> int:
    """Where the glue at the end of a stretch begins: taken off piece by piece, so that time stays linear."""
    while end > start and (found := one.search(norm[max(start, end - _LONGEST_GLUE) : end])):
        end -= len(found.group())
    return max(start, end)


def _left(window: Span, removed: Sequence[Span]) -> list[Span]:
    pieces: list[Span] = []
    at = window[0]
    for start, end in sorted(removed):
        if end <= window[0] or start >= window[1]:
            continue
        if start > at:
            pieces.append((at, start))
        at = max(at, end)
    if at < window[1]:
        pieces.append((at, window[1]))
    return pieces


def _trimmed(norm: str, pieces: list[Span], zh: bool, cut_off: bool) -> list[Span]:
    """Each piece without glue at its ends; glue inside a piece stays."""
    lead, tail = (_ZH_LEAD, _ZH_TAIL) if zh else (_EN_LEAD, _EN_TAIL)
    kept: list[Span] = []
    last = max((end for _, end in pieces), default=0) if not cut_off else 10**9
    for start, end in pieces:
        if found := lead.match(norm[start:end]):
            start += found.end()
        # "dial in" keeps its word at the end of the text; before a time that was taken out, "at" goes.
        ending = tail if end < last else _ZH_LAST if zh else _EN_LAST
        end = start_of_tail(ending, norm, start, end)
        while start < end and norm[start] in " ,":
            start += 1
        while end > start and norm[end - 1] in " ,":
            end -= 1
        if end > start:
            kept.append((start, end))
    return kept
