"""What was not proven and what a gate refused, said to the user: no claim of a whole where a part lacks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fencepost_domain.task_contract import Requirement
from fencepost_quality.gate_words import sentences

R = Requirement
_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    R.ARTIFACT_EXISTS: ("文件已生成", "the file exists"),
    R.ARTIFACT_OPENS: ("文件能打开", "the file opens"),
    R.ARTIFACT_READABLE: ("文件内容可读", "its content can be read"),
    R.FILE_KIND_MATCHES: ("文件类型正确", "it is of the kind you asked for"),
    R.DRAFT_EXISTS: ("邮件草稿已写好", "the draft is written"),
    R.SOURCES_USED: ("内容来自附件", "it is made from your attachments"),
    R.SOURCE_COVERAGE_COMPLETE: ("附件内容全部包含", "all of the sources is in it"),
    R.FIELDS_PRESENT: ("要求的字段齐全", "the fields you named are all there"),
    R.LANGUAGE_MATCHES: ("语言符合要求", "it is in the language you asked for"),
    R.TABLES_PRESENT: ("包含表格", "it has the table"),
    R.PICTURES_PRESENT: ("包含图片或图表", "it has the pictures or charts"),
    R.PAGE_COUNT_FITS: ("页数符合要求", "it has the number of pages you asked for"),
}


def unproven_text(unproven: Sequence[str], zh: bool) -> str:
    """One line naming them; empty when everything was proven."""
    if not unproven:
        return ""
    named = [_WORDS[name][0 if zh else 1] if name in _WORDS else name for name in unproven]
    return f"还没有确认：{'、'.join(named)}。" if zh else f"Not confirmed: {'; '.join(named)}."


_CODE: Final = re.compile(r"[a-z][a-z0-9_]*")


def refused_text(failure: Mapping[str, Any], locale: str) -> str:
    """Why a gate let it through neither the first time nor rewritten; empty where no code says it."""
    codes = str(failure.get("detail") or "").split(", ")
    return sentences((code for code in codes if _CODE.fullmatch(code)), locale)


def unread_text(actions: Sequence[Mapping[str, Any]], told: str) -> str:
    """A line for each attachment that couldn't be read and isn't named yet, in the reading's words."""
    results = [action["result"] for action in actions if isinstance(action.get("result"), Mapping)]
    refused = [one.get("refused") for found in results for one in found.get("documents") or ()]
    said = [one["said"] for one in refused if isinstance(one, Mapping) and one.get("said")]
    return "\n".join(f"- {words}" for words in dict.fromkeys(said) if words not in told)
