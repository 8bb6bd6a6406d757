# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""The slots of every intent but reminders, and what each still misses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from fencepost_intents.intent import languages
from fencepost_intents.intent.ledger_words import category_of, flow_of, is_shared
from fencepost_intents.intent.reading import Reading
from fencepost_intents.intent.requests import Request
from fencepost_intents.intent.titles import cut
from fencepost_intents.money.reader import FoundAmount
from fencepost_intents.numbers import EN_ONES, read_zh
from fencepost_intents.patterns import lazy
from fencepost_intents.result import AmountResult, SlotValue

Slots = tuple[dict[str, Any], tuple[str, ...]]

_ZH_SPENT: Final = lazy(
    r"记(?:一|1)?(?:笔|账|个账|一下账|录一?笔|录一?下?)|费用|帮我|记一下|花了|花费了?|花掉|用了|付了|支付了?|一共|总共|共计|合计|添加|新增|(?:一)?[笔条](?:支出|收入)|支出|消费了?|我|了$|钱$|收到|给我|请(?!客)|入账|AA|aa|每人|人均"
)
_EN_SPENT: Final = lazy(
    r"\b(?:i|we|just|spent|paid|bought|cost(?:s)? me|cost|purchased|log|record|note|add|enter|track|an?|the|my|expense|expenses|of|for|on|was|were|came to|got|received|it|that|please|in|to|at|from|another|about)\b(?=[^a-z]*$)|^\s*(?:(?:i|we|just|have|had|also|spent|paid|bought|purchased|log|record|note|add|enter|track|an|a|the|my|expense|expenses|purchase|payment|of|for|on|got|received|please|another|put down|down)\b\s*)+"
)
_EN_WAYS: Final = lazy(
    r"\bsplit (?:it )?(?:between |among |by )?(\d+|[a-z]+)(?: ways| people| of us)?|\b(\d+|[a-z]+)[ -]ways?\b|\bdivided by (\d+)"
)
_EVENLY: Final = lazy(r"平摊|平分|均摊|分摊|\bsplit\b")  # without a number of people: between two
_ZH_WAYS: Final = lazy(r"(\d+|[一二两三四五六七八九十]+)(?:个)?(?:人|位)")
_TOPIC_ZH: Final = lazy(
    r"(?:关于|介绍|主题是|主题为|主题|内容是|讲|讲述|说明)(?P<topic>[^,。，]{1,60}?)(?=的?(?:ppt|幻灯片|演示|slides|简报|课件|[,。，]|$))"
)
_TOPIC_EN: Final = lazy(
    r"\b(?:about|on|regarding|covering|for|titled|called|introducing)\b (?P<topic>[^,.]{1,80}?)(?=\s+(?:with|in|using|of) (?:about )?\d|\s+with\b|[,.]|$)"
)
_PAGES_WORD: Final = lazy(r"\b(?:with )?\d+[ -](?:slides?|pages?)\b")


def ledger_slots(reading: Reading, request: Request, found: list[FoundAmount]) -> Slots:
    """Amount, category, day and words of one ledger entry."""
    window = (request.start, request.end)
    clause = reading.norm[request.start : request.end]
    slots: dict[str, Any] = {}
    missing: list[str] = []
    amount = _amount(reading, clause, found)
    flow = flow_of(clause)
    if amount is None:
        missing.append("amount")
    else:
        amount = replace(amount, kind=flow) if flow else amount
        slots["amount"] = amount
        if amount.value is None:
            missing.append("amount")
        if amount.currency is None:
            missing.append("currency")
    times = [one for one in reading.times_in(window) if not one.is_length]
    if times:
        slots["time"] = reading.resolve(times[0], reading.setting(-1, window))
    category = category_of(clause)
    if category is not None:
        slots["category"] = SlotValue(
            category[0], (request.start + category[1][0], request.start + category[1][1])
        )
    elif flow == "income":
        slots["category"] = SlotValue("income", None)
    removed = [(one.start, one.end) for one in times] + [one.amount.span for one in found]
    spent = _ZH_SPENT if reading.zh else _EN_SPENT
    removed += [(request.start + one.start(), request.start + one.end()) for one in spent.finditer(clause)]
    title = cut(reading.text, reading.norm, window, removed, reading.zh)
    if title is not None:
        slots["title"] = title
    return slots, tuple(missing)


def _amount(reading: Reading, clause: str, found: list[FoundAmount]) -> AmountResult | None:
    """The entry's amount. Where a sum is shared out, the whole and the share are both open."""
    if not found:
        return None
    first = found[0].amount
    if not is_shared(clause) or first.value is None:
        return first
    values = [one.amount.value for one in found if one.amount.value is not None]
    ways = _ways(clause, reading.zh) or (2 if _EVENLY.search(clause) else None)
    if len(values) == 1 and ways:
        values.append((values[0] / ways).quantize(Decimal("0.01")))
    distinct = tuple(dict.fromkeys(values))
    if len(distinct) == 1:
        return replace(first, share="each")
    return replace(first, value=None, candidates=distinct, share="whole or share")


def _ways(clause: str, zh: bool) -> int | None:
    """Between how many a sum is shared, where the words say."""
    for found in (_ZH_WAYS if zh else _EN_WAYS).finditer(clause):
        word = next(group for group in found.groups() if group)
        number = read_zh(word) if zh and not word.isdigit() else None
        count = int(number.value) if number else int(word) if word.isdigit() else EN_ONES.get(word, 0)
        if 1 < count <= 100:
            return count
    return None


def split_entries(reading: Reading, request: Request) -> list[tuple[Request, list[FoundAmount]]]:
    """One request with several amounts, as one entry an amount: 早餐12块打车35块."""
    window = (request.start, request.end)
    found = reading.amounts_in(window) or reading.find_plain_amounts(window)
    explicit = [one for one in found if one.amount.currency_written]
    if len(found) > 1 and not explicit:
        # Two bare numbers ("thirty five fifty") may be one price or two: asked, not picked.
        values = tuple(dict.fromkeys(one.amount.value for one in found if one.amount.value is not None))
        last = found[-1]
        found = (
            [replace(last, amount=replace(last.amount, value=None, candidates=values))]
            if len(values) > 1
            else [last]
        )
    found = explicit or found
    if len(found) < 2 or is_shared(reading.norm[request.start : request.end]):
        return [(request, found)]
    entries: list[tuple[Request, list[FoundAmount]]] = []
    spans = [one.amount.span for one in found]
    verb_first = not reading.norm[request.start : spans[0][0]].strip(" ,") or not reading.zh
    edges = [request.start]
    for index in range(1, len(found)):
        edges.append(spans[index][0] if verb_first else spans[index - 1][1])
    edges.append(request.end)
    for index, one in enumerate(found):
        entries.append((replace(request, start=edges[index], end=edges[index + 1]), [one]))
    return entries


def period_slots(reading: Reading, request: Request) -> Slots:
    """Slots of `ledger.list` and `ledger.summary`: the period and the category."""
    slots: dict[str, Any] = {}
    times = [one for one in reading.times_in((request.start, request.end)) if not one.is_length]
    if times:
        slots["period"] = reading.resolve(times[0], reading.setting(-1))
    category = category_of(reading.norm[request.start : request.end])
    if category is not None:
        slots["category"] = SlotValue(
            category[0], (request.start + category[1][0], request.start + category[1][1])
        )
    return slots, ()


def translate_slots(reading: Reading, request: Request) -> Slots:
    """Target language and the text to translate."""
    slots: dict[str, Any] = {}
    window = (request.start, request.end)
    language = languages.target_language(reading.masked, window)
    taken = [(request.cue.start, request.cue.end)]
    if language is not None:
        slots["target_language"] = language
        if language.span:
            taken.append(language.span)
    words = _zh_object(reading, window) if reading.zh and not reading.quotes else None
    if language is None and "意思" in reading.masked[window[0] : window[1]]:
        language = SlotValue("zh", None)  # "hello" 是什么意思
        slots["target_language"] = language
    if not reading.zh and not reading.quotes and ":" not in reading.norm[window[0] : window[1]]:
        words = languages.said_in(reading.text, reading.norm, window)
    words = words or languages.payload_to_translate(reading.text, reading.norm, window, taken)
    if words is not None:
        slots["payload"] = words
    return slots, () if language else ("target_language",)


_OBJECT: Final = lazy(
    r"(?:把|将)(?P<words>[^。]{1,400}?)(?:翻译|翻成|译成|译为|译作|翻作)|(?:里|中)面?(?P<inner>[^。，,]{1,24}?)(?:怎么|如何|咋)(?:说|讲|写|念)|(?P<latin>[a-z][a-z '-]{1,60}?)\s?(?:是|有)?(?:什么|啥)意思"
)


def _zh_object(reading: Reading, window: tuple[int, int]) -> SlotValue | None:
    """把…翻译成: what stands between, unless it only points to what follows."""
    found = _OBJECT.search(reading.norm, *window)
    if found is None or ":" in reading.norm[found.end() : window[1]]:
        return None
    name = found.lastgroup or "words"
    span = found.span(name)
    words = reading.text[span[0] : span[1]].strip()
    return None if languages.POINTS.match(words) or not words else SlotValue(words, span)


def email_slots(reading: Reading, request: Request) -> Slots:
    slots: dict[str, Any] = {}
    window = (request.start, request.end)
    people = languages.recipients(reading.text, reading.norm, window, reading.zh)
    taken = [(request.cue.start, request.cue.end)]
    if people is not None:
        slots["recipients"] = people
        if people.span:
            lead = reading.norm[people.span[0] - 1 : people.span[0]] in ("给", "向", "致")
            taken.append((people.span[0] - lead, people.span[1]))
    words = languages.payload(reading.text, reading.norm, (request.cue.end, request.end), taken, reading.zh)
    if words is not None:
        slots["payload"] = words
    language = languages.target_language(reading.masked, window)
    if language is not None:
        slots["target_language"] = language
    return slots, ()


def presentation_slots(reading: Reading, request: Request) -> Slots:
    slots: dict[str, Any] = {}
    window = (request.start, request.end)
    count = languages.pages(reading.masked, window)
    if count is not None:
        slots["pages"] = count
    found = (_TOPIC_ZH if reading.zh else _TOPIC_EN).search(reading.masked, *window)
    if found is not None:
        span = found.span("topic")
        slots["title"] = SlotValue(reading.text[span[0] : span[1]].strip(), span)
    else:
        removed = [count.span] if count is not None and count.span else []
        shell = lazy(
            r"(?:请|帮我|麻烦|给我)?(?:做|制作|生成|创建|写|准备|弄|整|搞|设计)(?:一?[个份套])?|(?:的)?(?:ppt|幻灯片|演示文稿|演示稿|slides?|简报|课件|keynote)|\b(?:make|create|build|prepare|generate|design|draft|an?|the|me|presentation|powerpoint|slide ?deck|slides?|deck|ppt|please|can you)\b"
        )
        removed += [one.span() for one in shell.finditer(reading.norm, *window)]
        title = cut(reading.text, reading.norm, window, removed, reading.zh)
        if title is not None:
            slots["title"] = title
    return slots, ()


def document_slots(reading: Reading, request: Request) -> Slots:
    """The question is the sentence itself; the document is what names it."""
    slots: dict[str, Any] = {
        "payload": SlotValue(reading.text[request.start : request.end].strip(), (request.start, request.end))
    }
    found = _DOCUMENT.search(reading.masked, request.start, request.end)
    if found is not None:
        slots["document"] = SlotValue(reading.text[found.start() : found.end()], found.span())
    return slots, ()


_DOCUMENT: Final = lazy(
    r"(?:这份|这个|这篇|该|那份|上传的|附件(?:里|中)?的?)?(?:文档|文件|合同|协议|附件|报告|pdf|论文|文章|白皮书|手册|资料|表格)|"
    r"\b(?:the |this |that |my |attached |these )*(?:document|contract|pdf|file|report|attachment|paper|agreement|manual|spreadsheet|proposal|lease|article)s?\b"
)

BUILDERS: Final[Mapping[str, Callable[[Reading, Request], Slots]]] = {
    "ledger.list": period_slots, "ledger.summary": period_slots, "translate": translate_slots, "email.draft": email_slots,
    "presentation.create": presentation_slots, "document.ask": document_slots,
}  # fmt: skip
