# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Fields that every record of the result must have: 包含名称、时间、地点; "with name, date and place columns"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from fencepost_intents.contract.scope import Scope, negated
from fencepost_intents.patterns import lazy
from fencepost_intents.result import Span

MOST: Final = 40
_NAME_ZH: Final = r"[\u4e00-\u9fffa-z0-9_（）()/%“”\"「」‘’#-]{1,16}?"
_SEP_ZH: Final = r"\s*(?:、|，|,|和|与|及|以及|还有|;|；)\s*"
_CUE_ZH: Final = (
    r"(?P<strong>(?:字段|列名|列(?=[为是有:分包])|表头|栏目?|每[一]?[行条项页个](?:记录|数据)?(?:都|要|需要?|应该?|必须)*(?:包含|包括|有|含|列出|写[上明出]|注明|标[明出]))(?:有|为|是|要有|包括|包含|分别[是为])?\s*[:：]?)"
    r"|(?P<weak>(?:包含|包括|含有?|带有?|带上|列出|写[上明出]|注明|标[明出]|展示|显示|体现|要有|需有|需要有|必须有|提取|(?<![所没只还具拥中里内])有|(?:excel|xlsx|表格)(?=[:：]))(?:以下|下列|下面)?(?:这?些|几[个项]|[一二三四五六七八九十\d]+[个项])?(?:字段|信息|内容|列|要素)?(?:是|有)?\s*[:：]?)"
)
_LIST_ZH: Final = lazy(
    rf"(?:{_CUE_ZH})\s*(?P<list>{_NAME_ZH}(?:{_SEP_ZH}{_NAME_ZH}){{0,{MOST - 1}}})(?P<tail>等?(?:这)?(?:[一二三四五六七八九十两\d]+|几)?(?:个)?(?:字段|列|栏|信息|要素|属性|项目?|内容|数据)|等)?(?=[。;!?\n\ufffc]|的(?:表格?|ppt|excel|word|文档|幻灯片)|$)"
)
# 把每个员工的工号、绩效、奖金汇总成Excel: what is taken over stands before the verb.
_LIST_BA: Final = lazy(
    rf"(?P<weak>(?:把|将)[^,，。;、\ufffc]{{0,24}}?的)(?P<strong>\ufffe)?(?P<list>{_NAME_ZH}(?:{_SEP_ZH}{_NAME_ZH}){{1,{MOST - 1}}})(?P<tail>\ufffe)?(?=(?:都|全部?|逐一|分别)?(?:汇总|整理|列|做成|导出|提取|写进|填|放进|录入))"
)
_NAME_EN: Final = r"(?:the |a |an |its |their |each )?[a-z][\w/%#'-]*(?: [a-z][\w/%#'-]*){0,2}?"
_LIST_EN: Final = lazy(
    rf"\b(?:(?P<strong>(?:columns?|fields?|headers?)(?: (?:for|named|called|are|should be|must be|being|like))?\s*:?|(?:each|every) (?:row|record|entry|item|line|slide) (?:should |must |needs to |has to |to )?(?:has|have|show|list|include|contain|with)s?:?)"
    rf"|(?P<weak>(?:with )?(?:a |one |the )?tables? (?:of(?! contents\b)|with|listing|showing|that (?:has|lists|shows))|with(?: the)?|including|includes?:?|containing|contains?|showing|shows?|listing|lists?|covering|that has|it needs|needs?|must have|should have|must include|should include|extract(?:ing)?|give|(?:excel|spreadsheet|workbook|table) ?:))"
    rf" ?(?:the |these |following |columns? |fields? |for |named |of |:|both )*(?P<list>\"?{_NAME_EN}\"?(?:(?:\s*,\s*(?:and |or )?| and | & | plus )\"?{_NAME_EN}\"?){{0,{MOST - 1}}})"
    rf"(?P<tail> ?(?:columns?|fields?)\b)?(?=[.;!?\n\ufffc]|$| (?:for|of|from|per|in|as|to|by|using|based|on) |,? (?:in|as) |, (?:every|all|each|please|nothing|no|one|sorted|grouped) )"
)
_SPLIT_ZH: Final = re.compile(r"\s*(?:、|，|,|;|；|以及|还有|和|与|及)\s*")
_SPLIT_EN: Final = re.compile(r"\s*,\s*(?:and |or )?| and | & | plus ")
# No fields by themselves (包含附件的内容), and fields among others: 编号、内容、责任人.
_AMONG_OTHERS: Final = frozenset({"内容", "备注", "来源"})
# What is named beside fields but is none: parts of the file, ways to make it, amounts.
_NO_FIELD: Final = lazy(
    r"表格?$|^表|图片|图表|配图|插图|照片|柱状|饼图|折线|封面|目录|总结|备注$|演讲|附件|全部|所有|每|完整|不|中文|英文|英语|页|ppt|word|excel|文档|幻灯|以上|以下|内容$|信息$|数据$|字段|动画|^(?:发|给|用|请|做|写|生成|导出|不要|要|需|并|再|然后|按|以|把|将|根据|基于|输出)|标题页|结尾|来源$|^[\d.%-]+$|\d+[个张页条]|^(?:我|你|他|她|它)"
    r"|\b(?:tables?|charts?|graphs?|pictures?|images?|photos?|notes?|covers?|agenda|summary|slides?|pages?|attachment|attached|english|chinese|all|every|each|everything|animations?|bullets?|text|sections?|title slide|details?|information|data|rows?|sources?|illustrations?|diagrams?|references?|me|it|them|him|her|you|us|my|your|love|care|regards|that|this|how|what|real|nothing|examples?|conclusions?|introduction|appendix)\b|^(?:send|e-?mail (?:it|me|him|her|them)|make|use|please|then|do|put|create|write|in|for|without|no|not|don't)\b"
)
# Made of many rows, so a column of none: with the average units per quarter, with total revenue by region.
_MADE_OF_MANY: Final = lazy(r"^(?:the )?(?:average|mean|sum|total|number|count)\b")
_FOR_EACH: Final = lazy(r"\s+(?:per|by|for each|for every)\b")
_COMMA: Final = re.compile(r"[,;]")
_TRIM: Final = " \t\"'“”‘’「」《》()（）"
_LEAD_EN: Final = re.compile(r"^(?:the|a|an|its|their|each|both|columns?|fields?)\s+")
_TAIL_EN: Final = re.compile(r"\s+(?:columns?|fields?|for each|of each)\b.*$")


@dataclass(frozen=True, slots=True)
class FieldList:
    """A list of fields in the text: from its cue to its end. sure: its cue speaks of fields, rows or columns."""

    span: Span
    names: tuple[str, ...]
    sure: bool


def required_fields(scope: Scope) -> tuple[str, ...]:
    """Names as the user wrote them, each once, in order."""
    return tuple(dict.fromkeys(name for one in field_lists(scope) for name in one.names))[:MOST]


def field_lists(scope: Scope) -> list[FieldList]:
    """Every list of fields in the order, in both languages."""
    found: list[FieldList] = []
    text = _readable(scope)
    for rule, splitter in ((_LIST_ZH, _SPLIT_ZH), (_LIST_BA, _SPLIT_ZH), (_LIST_EN, _SPLIT_EN)):
        for match in rule.finditer(text):
            if not _is_ordered(scope, match.start()) or negated(scope.masked, match.start(), scope.zh):
                continue
            names, end = _names(scope, match, splitter)
            if _FOR_EACH.match(scope.norm, end):
                names = [name for name in names if not _MADE_OF_MANY.match(name.lower())]
            sure = bool(match.group("strong")) or bool((match.group("tail") or "").strip(" 等"))
            if len(names) >= (1 if sure else 2):
                cue = "strong" if match.group("strong") else "list"  # a weak cue may be a file: in Excel: ...
                found.append(FieldList((match.start(cue), end), tuple(names), sure))
    return found


def _readable(scope: Scope) -> str:
    """The order with short quotations readable: fields may be named in quotation marks."""
    return re.sub(r"[“\"「'‘]([^“”\"「」'‘’\n\ufffc]*)[”\"」'’]", lambda one: one.group(), _unquoted(scope))


def _unquoted(scope: Scope) -> str:
    masked = list(scope.masked)
    for one in re.finditer(r"[“\"「](\ufffc{1,10})[”\"」]", scope.masked):
        masked[one.start(1) : one.end(1)] = scope.norm[one.start(1) : one.end(1)]
    return "".join(masked)


def _is_ordered(scope: Scope, at: int) -> bool:
    return any(clause.start <= at < clause.end for clause in scope.clauses)


def _names(scope: Scope, match: re.Match[str], splitter: re.Pattern[str]) -> tuple[list[str], int]:
    start, end = match.span("list")
    if "、" in scope.norm[start:end] and (comma := _COMMA.search(scope.norm, start, end)):
        end = comma.start()  # 名称、时间、地点，发给张三
    written, norm = scope.text[start:end], scope.norm[start:end]
    found: list[str] = []
    doubtful: set[str] = set()
    at = 0
    pieces = [*((one.start(), one.end()) for one in splitter.finditer(norm)), (len(norm), len(norm))]
    for stop, following in pieces:
        name = written[at:stop].strip(_TRIM)
        name = _TAIL_EN.sub("", _LEAD_EN.sub("", name)).rpartition("的")[2].strip(_TRIM)
        at = following
        if name and (name in _AMONG_OTHERS or not _NO_FIELD.search(name.lower())):
            found.append(name)
            doubtful |= {name} & _AMONG_OTHERS
    if len(found) - len(doubtful) < 2:
        found = [name for name in found if name not in doubtful]
    strong = bool(match.group("strong")) or bool(match.group("tail"))
    people = [name for name in found if name.isascii() and name[:1].isupper()]
    return ([] if people and len(people) == len(found) and not strong else found), end
