"""Sentences the api itself writes for people, in the run's language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_CJK: Final = re.compile("[\u3400-\u9fff\uf900-\ufaff]")


def is_chinese(locale: str) -> bool:
    return locale.lower().startswith("zh")


def guess_locale(text: str) -> str:
    """The language of a request that names none: Chinese where a Chinese character stands, else English."""
    return "zh-CN" if _CJK.search(text) else "en-US"


def cancelled(locale: str, done: Sequence[str], unsure: Sequence[str]) -> str:
    """What a cancelled run says: what was done stays done, what is unsure is named."""
    if is_chinese(locale):
        parts = ["已取消。"]
        if done:
            parts.append(f"取消前已完成：{'、'.join(done)}。")
        if unsure:
            parts.append(f"尚不确定是否已生效：{'、'.join(unsure)}。")
        return "".join(parts) if done or unsure else "已取消，没有执行任何操作。"
    parts = ["Cancelled."]
    if done:
        parts.append(f"Already done before: {', '.join(done)}.")
    if unsure:
        parts.append(f"Not known whether it took effect: {', '.join(unsure)}.")
    return " ".join(parts) if done or unsure else "Cancelled. Nothing was done."
