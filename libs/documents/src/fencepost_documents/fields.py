"""Names of fields as people head their columns and lines, in Chinese and English, and what counts as one.

A synonym gives a field its canonical name; a header that nobody listed keeps its own words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "name": (
        "名称", "名字", "姓名", "项目名称", "项目", "活动名称", "活动", "会议名称", "课程名称", "课程",
        "产品名称", "产品",
        "商品名称", "商品", "品名", "主题", "标题", "事项", "任务", "任务名称", "议题", "name", "title",
        "item", "subject",
        "event", "event name", "project", "project name", "product", "product name", "course", "task",
        "topic", "session",
    ),
    "time": (
        "时间", "日期", "日期时间", "开始时间", "举办时间", "活动时间", "会议时间", "起止时间",
        "时间安排", "年月", "发生时间",
        "time", "date", "when", "start", "start time", "start date", "date and time", "datetime",
        "date/time", "schedule",
    ),
    "end_time": ("结束时间", "截止时间", "截止日期", "完成时间", "到期日", "end", "end time", "end date",
        "deadline", "due", "due date"),
    "place": (
        "地点", "地址", "位置", "场所", "会场", "城市", "举办地点", "活动地点", "会议地点", "所在地",
        "教室", "会议室",
        "place", "location", "venue", "address", "where", "city", "room", "site",
    ),
    "amount": (
        "金额", "价格", "单价", "总价", "费用", "合计金额", "预算", "总金额", "收入", "支出", "成本",
        "付款金额", "报价",
        "amount", "price", "cost", "total", "fee", "budget", "sum", "value", "unit price", "expense",
        "revenue",
    ),
    "quantity": ("数量", "件数", "人数", "个数", "quantity", "qty", "count", "number of items", "pcs",
        "headcount"),
    "person": (
        "负责人", "联系人", "主持人", "主讲人", "经办人", "讲师", "申请人", "报告人", "参与人",
        "参加人员", "人员",
        "owner", "person", "contact", "responsible", "speaker", "assignee", "host", "lecturer",
        "attendees", "person in charge",
    ),
    "organization": (
        "单位", "公司", "部门", "机构", "主办单位", "客户", "供应商", "组织",
        "organization", "organisation", "company", "department", "customer", "client", "supplier",
        "vendor", "team",
    ),
    "status": ("状态", "进度", "完成情况", "status", "state", "progress"),
    "phone": ("电话", "手机", "手机号", "联系电话", "联系方式", "phone", "tel", "telephone", "mobile"),
    "email": ("邮箱", "电子邮件", "电子邮箱", "邮件", "email", "e-mail", "mail"),
    "number": ("编号", "序号", "号码", "单号", "合同编号", "no", "no.", "number", "id", "#", "index",
        "code"),
    "category": ("类别", "类型", "分类", "种类", "category", "type", "kind", "class"),
    "note": ("备注", "说明", "描述", "内容", "简介", "摘要", "remark", "remarks", "note", "notes",
        "description", "comment", "details"),
}  # fmt: skip
SHOWN: Final[Mapping[str, tuple[str, str]]] = {
    "name": ("名称", "Name"), "time": ("时间", "Time"), "end_time": ("结束时间", "End"), "place": ("地点",
        "Place"),
    "amount": ("金额", "Amount"), "quantity": ("数量", "Quantity"), "person": ("负责人", "Person"),
    "organization": ("单位", "Organization"), "status": ("状态", "Status"), "phone": ("电话", "Phone"),
    "email": ("邮箱", "E-mail"), "number": ("编号", "Number"), "category": ("类别", "Category"),
        "note": ("备注", "Note"),
}  # fmt: skip
_CANONICAL: Final = {word: field for field, words in SYNONYMS.items() for word in words}
_UNIT: Final = re.compile(r"\s*[（(\[【][^（()）\[\]【】]{0,20}[)）\]】]\s*$")  # 金额（元）, Price (USD)
_MARKS: Final = re.compile(r"[*＊:：\s]+$|^[*＊\s]+")
_LABEL: Final = re.compile(
    r"^\s*(?:[-*•·●▪◦]\s*|\(?\d{1,3}[.)、）]\s*)?([^\s:：|，。；;,!?！？][^:：|，。；;!?！？\n]{0,23}?)\s*[:：]\s*(\S.*)?$"
)
_ENDS: Final = (
    "合计",
    "总计",
    "小计",
    "共计",
    "总和",
    "total",
    "grand total",
    "subtotal",
    "sum total",
    "totals",
)


def folded(text: str) -> str:
    """Comparable: width and case folded, inner space single."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def without_unit(header: str) -> str:
    """A header's words alone, folded: 金额（元）* is 金额."""
    return _MARKS.sub("", _UNIT.sub("", _MARKS.sub("", folded(header))))


def canonical(header: str) -> str | None:
    """The field a header names; None when the list doesn't know it."""
    plain, words = _MARKS.sub("", folded(header)), without_unit(header)
    squeezed = words.replace(" ", "")  # 名 称, as forms space their headers
    spellings = (plain, words, squeezed, singular(words))
    return next((_CANONICAL[one] for one in spellings if one in _CANONICAL), None)


def singular(word: str) -> str:
    """dates: date. An English word by its end alone, so for comparing, not for showing."""
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if word.isascii() and word.endswith("s") and not word.endswith("ss") else word


def field_name(header: str) -> str:
    """The canonical field, or the header's own words."""
    return canonical(header) or " ".join(header.split())


def shown(field: str, language: str) -> str:
    """A field's name for a reader; a header's own words stay as they are."""
    chinese, english = SHOWN.get(field, (field, field))
    return chinese if language.startswith("zh") else english


def labelled(line: str) -> tuple[str, str] | None:
    """(`label`, `value`) of a line such as `时间：3 月 5 日`; None for other lines, a URL or a clock time."""
    found = _LABEL.match(line)
    if not found:
        return None
    label, value = found[1].strip(), (found[2] or "").strip()
    if value.startswith("//") or label.isdigit() or (label[-1].isdigit() and value[:2].isdigit()):
        return None
    return label, value


def is_total(cells: list[str]) -> bool:
    """A row that sums others up is no item of its own."""
    words = [folded(cell).strip(" :：") for cell in cells if cell.strip()]
    return any(word.replace(" ", "") in _ENDS or word in _ENDS for word in words[:2])
