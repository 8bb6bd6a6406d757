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
    HANDED_OVER = "handed_over"
    PARENT_STOPPED = "parent_stopped"
    DONE = "done"
    VERSION_ASKED = "version_asked"
    VERSION_STAY = "version_stay"
    VERSION_STOP = "version_stop"
    VERSION_FORK = "version_fork"
    SIMULATION_UNSERVED = "simulation_unserved"
    VERSION_ENDED = "version_ended"


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
    Text.HANDED_OVER: ("This was handed over.", "已转交。"),
    Text.PARENT_STOPPED: ("The task it belongs to was stopped.", "所属的任务已停止。"),
    Text.DONE: ("Done before: {tools}.", "此前已完成：{tools}。"),
    Text.VERSION_ASKED: (
        "Nobody serves version {graph} of {module} any more, to which this run is bound. "
        "It goes on by itself when a worker serves it again. What shall become of it?",
        "已没有 worker 服务此任务绑定的 {module} 版本 {graph}。有 worker 再次服务时会自动继续。要怎么处理？",
    ),
    Text.VERSION_STAY: ("Stay: wait until it is served", "保留：等到有 worker 服务"),
    Text.VERSION_FORK: (
        "Fork: go on from its last point as a new run under the version that is served",
        "分叉：从最后一步起，以现在提供服务的版本作为新任务继续",
    ),
    Text.SIMULATION_UNSERVED: (
        "Nobody serves the version it was to be simulated under.",
        "没有 worker 服务用于模拟的版本。",
    ),
    Text.VERSION_STOP: ("Stop this run", "停止这个任务"),
    Text.VERSION_ENDED: (
        "Nobody served its version for a week, so it was stopped. You can start it again.",
        "一周内没有 worker 服务它的版本，已停止。你可以重新发起。",
    ),
}


def say(text: Text, locale: str, **values: str) -> str:
    """The sentence in the language of `locale`; English where we have no other."""
    english, chinese = _WORDS[text]
    return (chinese if locale.lower().startswith("zh") else english).format(**values)


def explain(cause: Text, remains: Remains, locale: str) -> str:
    """Why it ended, what was done, and what is unconfirmed."""
    said = [say(cause, locale)]
    for text, effects in ((Text.DONE, remains.done), (Text.UNCONFIRMED, remains.unconfirmed)):
        if effects:
            said.append(say(text, locale, tools=", ".join(str(effect["tool"]) for effect in effects)))
    if not remains.unconfirmed:
        said.append(say(Text.NOTHING_DONE, locale))
    return ("" if locale.lower().startswith("zh") else " ").join(said)
