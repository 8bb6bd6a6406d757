"""What the reconciler says to a person, in the run's language: endings that no worker told, and reminders.

Every ending says what was done, what is unconfirmed and what to do next (design 02 §7).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from fencepost_store.sweeps import Remains


class Text(StrEnum):
    CANCELLED = "cancelled"
    DEADLINE = "deadline"
    PAUSE_ENDED = "pause_ended"
    ATTEMPTS = "attempts"
    NOTHING_DONE = "nothing_done"
    UNCONFIRMED = "unconfirmed"
    REMINDER = "reminder"
    REMINDER_LATE = "reminder_late"
    REMINDERS_TITLE = "reminders_title"


_WORDS: Final[Mapping[Text, tuple[str, str]]] = {  # English, Chinese
    Text.CANCELLED: ("You cancelled this.", "已按你的要求取消。"),
    Text.DEADLINE: ("This ran out of time and was stopped.", "已超过时限，任务已停止。"),
    Text.PAUSE_ENDED: (
        "This was paused and nobody resumed it in time, so it was stopped.",
        "任务暂停后一直没有恢复，已停止。",
    ),
    Text.ATTEMPTS: (
        "This failed several times in the same place and was given up. You can start it again.",
        "多次尝试都在同一处失败，已放弃。你可以重新发起。",
    ),
    Text.NOTHING_DONE: ("Nothing was left half done.", "没有留下做到一半的操作。"),
    Text.UNCONFIRMED: (
        "It is not known whether this happened: {tools}. Check before you ask for it again.",
        "以下操作是否完成尚未确认：{tools}。再次发起前请先核实。",
    ),
    Text.REMINDER: ("Reminder: {title}", "提醒：{title}"),
    Text.REMINDER_LATE: ("Reminder (due {due}): {title}", "提醒（原定 {due}）：{title}"),
    Text.REMINDERS_TITLE: ("Reminders", "提醒"),
}


def say(text: Text, locale: str, **values: str) -> str:
    """The sentence in the language of `locale`; English where we have no other."""
    english, chinese = _WORDS[text]
    return (chinese if locale.lower().startswith("zh") else english).format(**values)


def explain(cause: Text, remains: Remains, locale: str) -> str:
    """Why it ended, and what is unconfirmed."""
    tools = ", ".join(str(effect["tool"]) for effect in remains.unconfirmed)
    rest = say(Text.UNCONFIRMED, locale, tools=tools) if tools else say(Text.NOTHING_DONE, locale)
    return f"{say(cause, locale)}{'' if locale.lower().startswith('zh') else ' '}{rest}"
