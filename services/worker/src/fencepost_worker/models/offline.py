"""The offline model: deterministic, on the rules layer and templates, named as such wherever it answers.

It speaks through the same port as a real one: tool calls in chunks, a finish reason, usage. So the assembler,
the guard and the ledger are on its path, and a mistake of its own is refused like anyone's.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from fencepost_intents import Answer, IntentPart, IntentResult, detect
from fencepost_intents.questions import question_for
from fencepost_intents.words import is_zh

from fencepost_worker.models.control import ASK, HAND_OVER, RESPOND
from fencepost_worker.models.offline_arguments import arguments_for
from fencepost_worker.models.offline_mail import DRAFT, draft_in
from fencepost_worker.models.offline_roles import ASK_DOCUMENT, role_answer, wanted_tools
from fencepost_worker.models.port import (
    CallDelta,
    FinishDelta,
    ModelContext,
    ModelDelta,
    ModelRequest,
    ToolSpec,
    UsageDelta,
)

NAME: Final = "offline-rules-1"
FILES_HOME: Final = "work"  # the module that reads and makes files
CHUNK: Final = 12  # characters of arguments in one delta: small, so that assembling is always on the path

# intent -> the tool that does it; a module that hasn't the tool can't do it.
TOOLS: Final[Mapping[str, str]] = {
    "reminder.create": "life.create_reminder",
    "reminder.list": "life.list_reminders",
    "reminder.cancel": "life.cancel_reminder",
    "reminder.change": "life.change_reminder",
    "ledger.add": "life.add_ledger_entry",
    "ledger.list": "life.list_ledger_entries",
    "ledger.summary": "life.summarize_ledger",
    "plan.today": "life.plan_day",
}
# intent -> the module it belongs to.
HOMES: Final[Mapping[str, str]] = {
    **{intent: tool.partition(".")[0] for intent, tool in TOOLS.items()},
    "translate": "companion",
    "chat": "companion",
    "email.draft": "work",
    "presentation.create": "work",
    "document.ask": "work",
}
_CAN: Final = {
    "zh": "我是离线模型，只按规则工作：可以设提醒、记账、查账、安排今天，也可以回答附件里的问题、"
    "把附件做成PPT、文档或表格。例如“明早九点提醒我交周报”。",
    "en": "I am the offline model and work by rules alone: I can set reminders, keep a ledger, sum it up,"
    " plan your day, answer questions about attached files and make presentations, documents or"
    " workbooks of them. For example: “remind me tomorrow at 9 to send the report”.",
}
_HELLO: Final = {
    "zh": "你好！我是离线模型，可以帮你设提醒、记账、安排今天，也可以读附件、做PPT。",
    "en": "Hello! I am the offline model. I can set reminders, keep a ledger, plan your day, and read"
    " attached files or make office files of them.",
}
# Where a reminder's words or repetition are wrong, the tool says it in the user's language.
_TOLD: Final = ("/match", "/rrule")
_NOT_ONE: Final = {
    "zh": "没有做任何改动：{detail}。说“我有哪些提醒”可以查看。",
    "en": "Nothing was changed: {detail}. Say “list my reminders” to see them.",
}
_ONE_AT_A_TIME: Final = {
    "zh": "没有做任何改动：提醒只能一条一条取消。说“我有哪些提醒”可以查看。",
    "en": "Nothing was changed: reminders are cancelled one by one. Say “list my reminders” to see them.",
}
_CHANGES: Final = {
    "zh": "离线模型不会修改做好的文件，也不会自己重做：请把要做的文件完整地再说一次，"
    "例如“基于附件生成中文PPT，包含名称、时间、地点”。",
    "en": "The offline model changes no file that it made, and does nothing again by itself: say in full what"
    " to make, such as “make a presentation of every row, with name, time and place”.",
}
# A short order about what was made before; what asks is a question to the documents.
_CHANGE: Final = re.compile(
    r"再(?:加|来|做|生成|改|写)|加[一上]|增加|删[掉除]|去掉|改[成为]|换[成个]|修改|调整|重[做新]"
    r"|^\s*(?:please\s+|now\s+)?(?:add|remove|delete|change|rename|replace|make it|redo|again)\b"
    r"|^\s*(?:please\s+|now\s+)?(?:do (?:it|that) again|in (?:chinese|english))\b",
    re.IGNORECASE,
)
_SHORT: Final = 60
_QUESTION_HOLDS: Final = 2000  # characters that `work.ask_document` takes
_NO_MATTER: Final = {
    "zh": "请说清写给谁、写什么，例如“给 li@example.com 写一封邮件：会议改到周五”。",
    "en": "Say to whom and about what: “draft an email to li@example.com: the meeting moves to Friday”.",
}
_NO_SOURCE: Final = {
    "zh": "离线模型只能用附件里的内容做文件，自己不会编写：请带上附件再说一次。",
    "en": "The offline model makes files from attachments and writes nothing of its own: attach some first.",
}
_CANT: Final = {"zh": "离线模型做不了这个：{what}。", "en": "The offline model can't do this: {what}."}
_NAMES: Final[Mapping[str, tuple[str, str]]] = {
    "translate": ("翻译", "translation"),
    "email.draft": ("写邮件", "drafting an email"),
    "presentation.create": ("做演示文稿", "making a presentation"),
    "document.ask": ("回答文档里的问题", "answering from a document"),
}


@dataclass(frozen=True, slots=True)
class Intention:
    """A call the offline model will make."""

    name: str
    arguments: Mapping[str, Any]


class OfflineModel:
    """Needs no key, no network and no state."""

    provider = "offline"
    name = NAME

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        written = 0
        intentions = intentions_of(request)
        for index, intention in enumerate(intentions):
            text = json.dumps(intention.arguments, ensure_ascii=False)
            written += len(text)
            yield CallDelta(index, f"offline_{index}", intention.name, "")
            for start in range(0, len(text), CHUNK):
                yield CallDelta(index, None, None, text[start : start + CHUNK])
        yield FinishDelta("tool_calls")
        yield UsageDelta(sum(len(m.text) for m in request.messages) // 4 + 1, written // 4 + 1)

    async def close(self) -> None:
        """Holds nothing."""


def intentions_of(request: ModelRequest) -> list[Intention]:
    """What it calls, in whatever role it is asked."""
    told = role_answer(request)
    if told is not None:
        return [Intention(*told)]
    refused = not_one_reminder(request)
    if refused is not None:
        return [refused]
    return from_sources(request.context, request.tools) or decide(request.context, request.tools)


def from_sources(context: ModelContext, tools: tuple[ToolSpec, ...]) -> list[Intention]:
    """Files the words ask for, and questions about what is attached; nothing where neither is asked."""
    task = context.task or {}
    known = [tool.name for tool in tools]
    if DRAFT in known and "email" in task.get("contract", {}).get("file_kinds", ()):
        draft = draft_in(str(task["contract"].get("language") or ""), read(context), context.locale)
        said = {"text": _NO_MATTER[_tongue(context)]}
        return [Intention(DRAFT, draft) if draft is not None else Intention(RESPOND, said)]
    makers = wanted_tools(task, known)
    if makers and not task.get("attachments"):  # it composes nothing: a file without a source would be empty
        return [Intention(RESPOND, {"text": _NO_SOURCE[_tongue(context)]})]
    if makers:
        return [Intention(maker, {}) for maker in makers]
    if task.get("contract", {}).get("file_kinds") and HAND_OVER in known and context.module != FILES_HOME:
        return [Intention(HAND_OVER, {"module": FILES_HOME})] if FILES_HOME in context.modules else []
    if task.get("attachments") and ASK_DOCUMENT in known:
        is_question = re.search(r"[?？]", context.text)
        if len(context.text) <= _SHORT and not is_question and _CHANGE.search(context.text):
            return [Intention(RESPOND, {"text": _CHANGES[_tongue(context)]})]
        documents = list(task["attachments"])
        return [Intention(ASK_DOCUMENT, {"documents": documents, "question": context.text[:_QUESTION_HOLDS]})]
    return []


def _tongue(context: ModelContext) -> str:
    return "zh" if is_zh(context.locale) else "en"


def decide(context: ModelContext, tools: tuple[ToolSpec, ...]) -> list[Intention]:
    """What the rules make of the request and the answers so far: never a guess."""
    known = {tool.name: tool for tool in tools}
    result = read(context)
    mine = [part for part in result.intents if TOOLS.get(part.intent, "") in known]
    foreign = [part for part in result.intents if part not in mine]
    if not mine or result.fallback_required:
        return [_without_tools(context, result, known)]
    # Only this module's own parts are asked about; what is another's is named, not filled in.
    parts = tuple(part if part in mine else replace(part, required_slots=()) for part in result.intents)
    if any(part.intent == "reminder.cancel" and "payload" in part.slots for part in mine):
        return [Intention(RESPOND, {"text": _ONE_AT_A_TIME[_tongue(context)]})]
    question = question_for(replace(result, intents=parts), context.locale)
    if question is not None:
        asked = question.to_json()
        body = {"question": asked["text"], "slot": asked["slot"], "intent_index": asked["intent_index"]}
        if asked["candidates"]:
            body["candidates"] = asked["candidates"]
        if asked["input_schema"] is not None:
            body["input_schema"] = asked["input_schema"]
        return [Intention(ASK, body)]
    calls = [
        Intention(TOOLS[part.intent], arguments_for(part, known[TOOLS[part.intent]].schema, result, context))
        for part in mine
    ]
    left = [_words(part, result, context.locale) for part in foreign if part.intent in HOMES]
    return [*calls, Intention(RESPOND, {"text": "", "left_undone": left})] if left else calls


def not_one_reminder(request: ModelRequest) -> Intention | None:
    """What is said when the words fit no reminder, or several: the same call again would only fail again."""
    last = request.messages[-1]
    if last.role != "tool" or '"refused"' not in last.text:
        return None
    details = [one["detail"] for one in json.loads(last.text)["reasons"] if one.get("pointer") in _TOLD]
    if not details:
        return None
    words = _NOT_ONE[_tongue(request.context)]
    return Intention(RESPOND, {"text": words.format(detail=details[0])})


def read(context: ModelContext) -> IntentResult:
    return detect(
        context.text,
        reference=context.reference,
        zone=context.zone,
        locale=context.locale,
        currency=context.currency,
        answers=[Answer(a.slot, a.value, a.text, a.intent_index) for a in context.answers],
    )


def _without_tools(context: ModelContext, result: IntentResult, known: Mapping[str, ToolSpec]) -> Intention:
    """No tool of this module fits: another module's business, small talk, or not understood."""
    homes = [HOMES.get(part.intent) for part in result.intents]
    target = homes[0] if homes else None
    language = _tongue(context)
    is_elsewhere = target is not None and target != context.module and target in context.modules
    if HAND_OVER in known and is_elsewhere and not result.fallback_required:
        return Intention(HAND_OVER, {"module": target})
    if result.intent == "chat":
        return Intention(RESPOND, {"text": _HELLO[language]})
    if result.intent in _NAMES:
        what = _NAMES[result.intent][0 if language == "zh" else 1]
        return Intention(RESPOND, {"text": f"{_CANT[language].format(what=what)} {_CAN[language]}"})
    return Intention(RESPOND, {"text": _CAN[language]})


def _words(part: IntentPart, result: IntentResult, locale: str) -> str:
    """The user's own words of a part, or its name where the span is unknown."""
    start, end = part.span
    said = result.text[start:end].strip(" ,，。.;；")
    names = _NAMES.get(part.intent)
    return said or (names[0 if is_zh(locale) else 1] if names else part.intent)
