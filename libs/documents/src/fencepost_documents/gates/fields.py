"""Whether a column is the field that a user named, in either language."""

from __future__ import annotations

import re
from typing import Final

from fencepost_documents.fields import canonical

# Words for one thing. A field named by any of them is met by a column that holds any of them.
_SAME: Final = (
    ("名称", "名字", "姓名", "标题", "主题", "name", "title", "subject", "event", "item"),
    ("时间", "日期", "时刻", "起止时间", "time", "date", "when", "schedule"),
    ("地点", "地址", "位置", "场所", "会场", "place", "location", "venue", "address", "where", "site"),
    ("代码", "编号", "编码", "序号", "code", "id", "number", "no", "identifier"),
    ("金额", "价格", "费用", "总价", "amount", "price", "cost", "fee", "total"),
    ("数量", "人数", "quantity", "count", "qty"),
    ("状态", "进度", "status", "state", "progress"),
    ("负责人", "联系人", "人员", "owner", "contact", "person", "responsible"),
    ("部门", "单位", "机构", "组织", "department", "organisation", "organization", "organiser", "organizer"),
    ("说明", "描述", "内容", "备注", "简介", "description", "content", "remarks", "notes", "remark", "note"),
    ("类别", "类型", "分类", "category", "type", "kind"),
)
_TIMES: Final = frozenset(_SAME[1])
_WORDS: Final = re.compile(r"[a-z0-9]+|[^\sa-z0-9]+")


def normal(name: str) -> str:
    """Without case, spaces and marks: how names are compared."""
    return "".join(char for char in name.casefold() if char.isalnum())


def meets(column: str, field: str) -> bool:
    """`column` names what `field` asks for: the same, a longer name of it, or a word for the same thing."""
    have, want = normal(column), normal(field)
    known = canonical(field) or field
    if not have or not want:
        return False
    if have == want or (want in have if not want.isascii() else want in _english(column)):
        return True
    if canonical(column) == known:
        return True
    return any(_holds(column, group) for group in _SAME if _holds(field, group, whole=True))


def is_time(name: str) -> bool:
    return _holds(name, tuple(_TIMES))


def _holds(name: str, words: tuple[str, ...], *, whole: bool = False) -> bool:
    flat = normal(name)
    if whole:
        return flat in words
    return any(word in _english(name) if word.isascii() else word in flat for word in words)


def _english(name: str) -> set[str]:
    """Words of a name; `startDate` and `start_date` are two."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold().replace("_", " ")
    words = [word for word in _WORDS.findall(parted) if word.isascii()]
    return {*words, "".join(words)}
