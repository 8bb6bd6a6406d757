"""Sentences the api itself writes for people, in the run's language."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from fencepost_domain.vocabulary import Stop

_CJK: Final = re.compile("[\u3400-\u9fff\uf900-\ufaff]")


def is_chinese(locale: str) -> bool:
    return locale.lower().startswith("zh")


def guess_locale(text: str) -> str:
    """The language of a request that names none: Chinese where a Chinese character stands, else English."""
    return "zh-CN" if _CJK.search(text) else "en-US"


_CAUSES: Final[Mapping[Stop, tuple[str, str]]] = {  # English, Chinese
    Stop.CANCEL: ("Cancelled.", "已取消。"),
    Stop.HANDOFF: ("Handed over.", "已转交。"),
    Stop.DEADLINE: ("Its time was over.", "已超过时限。"),
}


def stopped(locale: str, stop: Stop, done: Sequence[str], unsure: Sequence[str]) -> str:
    """What a stopped run says: what was done stays done, what is unsure is named, and what to do next."""
    english, chinese = _CAUSES[stop]
    if is_chinese(locale):
        parts = [chinese]
        if done:
            parts.append(f"此前已完成：{'、'.join(done)}。")
        if unsure:
            parts.append(f"尚不确定是否已生效：{'、'.join(unsure)}，再次发起前请先核实。")
        return "".join(parts) if done or unsure else f"{chinese}没有执行任何操作，可以重新发起。"
    parts = [english]
    if done:
        parts.append(f"Already done before: {', '.join(done)}.")
    if unsure:
        parts.append(f"Not known whether it took effect: {', '.join(unsure)}. Check before you ask again.")
    return " ".join(parts) if done or unsure else f"{english} Nothing was done. You can ask for it again."


def goes_on_as(locale: str, run_id: object) -> str:
    """What a run says that was forked because nobody served its version any more."""
    if is_chinese(locale):
        return f"已没有 worker 服务它的版本：由任务 {run_id} 从最后一步接着进行。"
    return f"Nobody served its version any more: it goes on from its last point as run {run_id}."


def next_step(locale: str, *, open_: bool, left: bool, done: bool) -> str:
    """What a person who takes a run over does first."""
    if open_:
        english, chinese = "First find out what became of the open effects.", "先核实未确认的操作。"
    elif left:
        english, chinese = (
            "Carry out what is left, or start a run that continues this one.",
            "执行剩余部分，或发起接续的任务。",
        )
    elif done:
        english, chinese = "Check that what was done is what was wanted.", "核对已完成的部分是否符合要求。"
    else:
        english, chinese = (
            "Nothing was done yet: start a run that continues this one.",
            "尚未执行任何操作：发起接续的任务即可。",
        )
    return chinese if is_chinese(locale) else english


def undo_words(locale: str, key: str) -> str:
    """What a compensating run says it is for."""
    return f"撤销 {key}。" if is_chinese(locale) else f"Undo {key}."
