"""No message list is sent with an unpaired tool call (I18, case LG-4).

A crash or a cancel between a call and its result leaves a gap; a strict provider would refuse the whole
conversation for ever. The gap is closed in what is sent, never in what is stored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from fencepost_worker.models.port import Message

NOT_EXECUTED: Final = '{"status":"not_executed"}'
OUTCOME_UNKNOWN: Final = '{"status":"outcome_unknown"}'


def paired(messages: Sequence[Message], unknown: frozenset[str] = frozenset()) -> tuple[Message, ...]:
    """Every call followed at once by exactly one answer, in the order of the calls.

    unknown: ids of calls whose effect had started when the line was cut. Answers that belong to no call,
    or answer one a second time, are left out.
    """
    answers: dict[str, Message] = {}
    for message in messages:
        if message.role == "tool" and message.call_id is not None:
            answers.setdefault(message.call_id, message)
    sent: list[Message] = []
    for message in messages:
        if message.role == "tool":
            continue
        sent.append(message)
        for call in message.calls:
            closed = OUTCOME_UNKNOWN if call.id in unknown else NOT_EXECUTED
            sent.append(
                answers.pop(call.id) if call.id in answers else Message("tool", closed, call_id=call.id)
            )
    return tuple(sent)


def is_paired(messages: Sequence[Message]) -> bool:
    """Does each call have exactly one answer, right behind it?"""
    waiting: list[str] = []
    for message in messages:
        if waiting:
            if message.role != "tool" or message.call_id != waiting.pop(0):
                return False
        elif message.role == "tool":
            return False
        waiting += [call.id for call in message.calls]
    return not waiting


def result_text(state: str, result: Mapping[str, object] | None) -> str:
    """What a call's answer says, from the effect's state."""
    if state in ("started", "unknown", "needs_human", "accepted"):
        return OUTCOME_UNKNOWN
    if state in ("completed", "failed"):
        return json.dumps({"status": state, "result": result}, ensure_ascii=False, default=str)
    return NOT_EXECUTED
