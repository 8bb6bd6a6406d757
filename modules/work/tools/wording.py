"""Words of the reading tools, Chinese and English."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fencepost import Change, Plan, Preview
from fencepost_documents.fields import shown
from fencepost_documents.ir import Problem, RecordSet
from fencepost_documents.problems import explain

PROBLEMS_SAID: Final = 6
LEFT_OUT_SAID: Final = 10


def is_zh(locale: str) -> bool:
    return locale.lower().startswith("zh")


def pick(locale: str, zh: str, en: str) -> str:
    return zh if is_zh(locale) else en


def reading(title: str) -> Plan:
    """The plan of a tool that only reads."""
    return Plan(Preview(title=title, lines=(), text=title), Change(before=None, after=None, summary=title))


def refused_words(name: str, code: str, detail: str, where: str, locale: str) -> str:
    """`报告.docx：文件有密码保护；…（…）`."""
    fact = f"{detail}, {where}" if where else detail
    said = explain(code, "zh" if is_zh(locale) else "en")
    return pick(locale, f"{name}：{said}（{fact}）", f"{name}: {said} ({fact})")


def problem_words(problem: Problem, locale: str) -> str:
    said = explain(problem.code, "zh" if is_zh(locale) else "en")
    place = f"{problem.locator}: " if problem.locator else ""
    return f"{place}{said}" + (f" ({problem.detail})" if problem.detail else "")


def document_words(name: str, kind: str, units: int, problems: Sequence[Problem], locale: str) -> str:
    """A line about one document, and what could not be read of it."""
    head = pick(locale, f"{name}：{kind}，{units} 个单元", f"{name}: {kind}, {units} units")
    said = [problem_words(problem, locale) for problem in problems[:PROBLEMS_SAID]]
    if len(problems) > PROBLEMS_SAID:
        more = len(problems) - PROBLEMS_SAID
        said.append(pick(locale, f"另有 {more} 项", f"and {more} more"))
    if not said:
        return head
    return head + pick(locale, "；注意：", "; note: ") + pick(locale, "；", "; ").join(said)


def coverage_words(found: RecordSet, locale: str) -> str:
    coverage = found.coverage
    names = pick(locale, "、", ", ").join(
        shown(name, "zh" if is_zh(locale) else "en") for name in found.fields[:12]
    )
    head = pick(
        locale,
        f"共 {len(found.records)} 条记录（{coverage.units_used}/{coverage.units_total}）",
        f"{len(found.records)} records ({coverage.units_used} of {coverage.units_total})",
    )
    if names:
        head += pick(locale, f"，字段：{names}", f", fields: {names}")
    if coverage.left_out:
        some = ", ".join(coverage.left_out[:LEFT_OUT_SAID])
        more = len(coverage.left_out) - LEFT_OUT_SAID
        some += f" (+{more})" if more > 0 else ""
        head += pick(locale, f"；未用：{some}", f"; left out: {some}")
    return head + pick(locale, "。", ".")
