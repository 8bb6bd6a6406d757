# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""What of a text is the order: quotations, payloads, reminders, tales and questions about how are not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from fencepost_intents.detect import detect
from fencepost_intents.intent import guards
from fencepost_intents.intent.clauses import MASK, mask_quotes
from fencepost_intents.language import normalize
from fencepost_intents.patterns import lazy
from fencepost_intents.result import IntentPart, SlotValue

# Intents that own their whole stretch: a reminder to make slides asks for no slides.
_OTHERS: Final = frozenset(
    ("reminder.create", "reminder.list", "reminder.cancel", "reminder.change", "ledger.add", "ledger.list",
     "ledger.summary", "plan.today")
)  # fmt: skip
_CARRY_PAYLOAD: Final = frozenset(("translate", "email.draft"))
_SHORT: Final = 12  # code points: a payload this short that names a file is the file to translate, or to make
_A_FILE: Final = lazy(r"ppt|word|excel|docx?|xlsx?|文档|幻灯|演示")
# Any instant: times are only read so that they aren't taken for something else.
_SOME_TIME: Final = datetime(2026, 1, 1, tzinfo=UTC)
_JOINT: Final = lazy(r"[。;!?\n]+|(?<![0-9a-z])\.(?=\s|$)|(?<=[a-z0-9]{2})\.(?=\s|$)")
_COMMA: Final = lazy(r"(?<!\d)[,，]|[,，](?!\d)|\b(?:but|then|instead)\b|而是|然后|但是?|不过")
_PASTED: Final = lazy(
    r"(?:如下|下面|以下|原文|内容是?|正文|文本|below|following|the text|content|message)[^:,\n]{0,12}:\s*|^\s*>|```"
)
_TRANSLATES: Final = lazy(
    r"翻|译|怎么说|怎么讲|意思|\btranslat|\bhow (?:do|to|would|can)\b.*\bsay\b|\bmeans?\b"
)
_ONLY: Final = lazy(r"只要(?:前|最|第|重点|要点|其中|部分|关键|主要|几|[\d一二三四五六七八九十])")
_TAKES_BACK: Final = lazy(r"^\s*(?:actually|or rather|better yet|on second thought)\b")
_HOW: Final = lazy(
    r"^(?:请问|想问|我想知道)?[^,。]{0,6}(?:怎么|如何|怎样|为什么|什么是|是什么|啥是)|(?:是什么|是啥|怎么用|怎么打开|有什么区别|吗)[?？]?$"
    r"|^(?:how (?:do|does|can|could|would|should|to)|what (?:is|are|does|do)|why|when did|who|where (?:is|are)|is (?:it|there|this|the|that)|are (?:there|these)|does|did|have you|has|explain how|tell me how)\b"
)
_ASKS: Final = lazy(
    r"什么|谁|哪|几[个张页行条份]|多少|何时|为何|怎么|有没有|是不是|[吗呢]\s*$|\b(?:what|who|whose|which|when|where|why|how (?:many|much|long|old))\b|\b(?:is|are) there\b"
)
_POLITE: Final = lazy(
    r"^(?:能不能|能否|可不可以|可以|能|麻烦|请|帮)|(?:好吗|行吗|可以吗|可否|好么|成吗|行不行)[?？]?$|^(?:can|could|would|will) you\b"
)
_PAST: Final = lazy(
    r"(?:昨天|前天|上周|上个?月|去年|之前|以前|刚才|已经|曾经?)[^,。]{0,16}(?:了|过)|(?:做|写|发|生成|制作|导出|交)(?:好|完)?(?:了|过)(?!吧)"
    r"|\b(?:made|wrote|created|built|prepared|generated|sent|drafted|exported|finished|presented|was|were|had)\b(?! to\b)"
)
_THEIRS: Final = lazy(
    r"^(?:谢谢|感谢|多谢)[^,。]{0,8}的|^(?:thanks|thank you)\b|^(?:他|她|他们|她们|老板|经理|同事|客户|老师|领导|小[王李张刘陈赵])(?!让我|叫我|要我|要求我)[^,。]{0,6}(?:说|让他|叫他|要求他|做|写|会|在|正在|想)"
    r"|^(?:he|she|they|my (?:boss|colleague|manager|team|teacher)|the (?:team|client))\b[^.]{0,12}\b(?:is|are|will|said|says|makes?|writes?|wants? (?:him|her|them)|has|have)\b"
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A stretch of the order, code points [start, end) of the text; `words` is its masked normal form.

    asks: its sentence is a question about something. corrects: it takes back what was said before.
    """

    words: str
    start: int
    end: int
    asks: bool
    corrects: bool


@dataclass(frozen=True, slots=True)
class Scope:
    """A text, and what of it orders something. masked: as long as the text, with payloads blotted out."""

    text: str
    norm: str
    masked: str
    zh: bool
    clauses: tuple[Clause, ...]
    parts: tuple[IntentPart, ...]


def scope_of(text: str) -> Scope:
    """Reads a text. Pure; linear but for the intents' own rules."""
    norm = normalize(text)
    found = detect(text, reference=_SOME_TIME, zone="UTC")
    parts = found.intents
    blots = [part.span for part in parts if part.intent in _OTHERS]
    for part in parts:
        if part.intent == "translate" and not _TRANSLATES.search(norm):
            continue  # "write a Word document in Chinese" is an order to write
        if part.intent in _CARRY_PAYLOAD and (span := _payload(part, norm)) is not None:
            blots.append(span)
    masked = _blotted(mask_quotes(norm), blots)
    if pasted := _PASTED.search(masked):
        masked = _blotted(masked, [(pasted.end(), len(masked))])
    zh = any("\u4e00" <= char <= "\u9fff" for char in masked)
    return Scope(text, norm, masked, zh, tuple(_clauses(masked, zh)), parts)


def _payload(part: IntentPart, norm: str) -> tuple[int, int] | None:
    """What the words of a translation or of a letter are about; the words of the order stay."""
    slot = part.slots.get("payload")
    if not isinstance(slot, SlotValue) or slot.span is None:
        return None
    if part.intent == "email.draft":
        colon = re.compile(r"[:：]|说|告诉|通知|saying|telling|that says|about|关于").search(norm, *part.span)
        return None if colon is None else (colon.end(), part.span[1])
    words = norm[slot.span[0] : slot.span[1]]
    return None if len(words) <= _SHORT and _A_FILE.search(words) else slot.span


def _blotted(masked: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in spans:
        masked = masked[:start] + MASK * (end - start) + masked[end:]
    return masked


def _clauses(masked: str, zh: bool) -> list[Clause]:
    found: list[Clause] = []
    for start, end in _pieces(_JOINT, masked, 0, len(masked)):
        sentence = masked[start:end]
        if _orders_nothing(sentence, zh):
            continue
        asks = _ASKS.search(sentence) is not None
        for first, last in _pieces(_COMMA, masked, start, end):
            words = masked[first:last]
            if _THEIRS.search(words.strip()) or (_PAST.search(words) and not _POLITE.search(words.strip())):
                continue
            corrects = bool(guards.CORRECTED.search(words) or _TAKES_BACK.search(words))
            found.append(Clause(words, first, last, asks, corrects))
    return found


def _orders_nothing(sentence: str, zh: bool) -> bool:
    said = sentence.strip(" ,，")
    if not said.strip(MASK + " \"'“”「」《》"):
        return True
    if guards.is_conditional(said, zh) and not _ONLY.search(said):
        return True
    return bool(_HOW.search(said)) and not _POLITE.search(said)


def _pieces(joint: re.Pattern[str], text: str, start: int, end: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    at = start
    for one in joint.finditer(text, start, end):
        if one.start() > at:
            found.append((at, one.start()))
        at = one.end() if not one.group().strip().isalpha() else one.start()
    if end > at:
        found.append((at, end))
    return found


def negated(words: str, at: int, zh: bool) -> bool:
    """Whether what stands at `at` of a clause is refused by the words around it."""
    before = words[max(0, at - 24) : at]
    return bool((_NOT_ZH if zh else _NOT_EN).search(before) or _NOT_EN.search(before)) or bool(
        _NOT_AFTER.match(words, at, min(len(words), at + 20))
    )


_NOT_ZH: Final = lazy(
    r"(?:不(?:要|用|必|需要?|是|想|准|许|得|能|包[含括]|含|带|需|做|加|放)|别|无[需须]|没必要|禁止|避免|去掉|除去|除了|省略|无|没有?|勿|非|代替|取代)(?:再|给我?|我|有|要|做|生成|成|写|用|放|加|出现|包[含括]|带|列出|任何|有任何|一[个份]|做成|使用|附|插入|覆盖|提取|处理|整理|输出|导出|是|得|把)*(?:中文|英文|英语)?(?:的)?$"
)
_NOT_EN: Final = lazy(
    r"\b(?:not|no|don't|do not|dont|never|without|forget(?! to)|instead of|rather than|avoid|skip|omit|except|excluding|needn't|no need (?:for|to)|isn't|aren't|nor|drop|remove|leave out|doesn't)(?: (?:a|an|any|the|need|want|have|to|be|use|make|include|do|me|in|into|as|written|necessarily|just|add|put|create|cover|it|of|for|turn|give|send|show|every))* *$"
)
_NOT_AFTER: Final = lazy(
    r"[\w\u4e00-\u9fff]{1,12}?(?:就?不(?:用|要|需要|必)了?(?!遗漏|漏|超过|太|有|用|出现|少|多|超)|就?免了|用不着|先不(?:要|用|做)|就?算了|都?别)|\w+ (?:is|are) not (?:needed|necessary|required)|\w+ aren't"
)
