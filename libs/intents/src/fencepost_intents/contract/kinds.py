# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Which kinds of file are to be made. A file that is only read from (这个PPT, the attached deck) isn't one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fencepost_intents.contract.fields import field_lists
from fencepost_intents.contract.scope import Clause, Scope, negated
from fencepost_intents.patterns import lazy
from fencepost_intents.result import Span

_KIND: Final = lazy(
    r"(?P<pptx>pptx?(?![a-z])|幻灯片?|演示文稿|演示稿|课件|简报(?!会)|胶片|(?<![a-z])(?:slide ?decks?|slide ?shows?|slides?|decks?|presentations?|power ?points?|keynote)(?![a-z]))"
    r"|(?P<xlsx>xlsx?(?![a-z])|excel(?![a-z])|电子表格|工作簿|表格文件|(?<![a-z])(?:spread ?sheets?|workbooks?)(?![a-z]))"
    r"|(?P<docx>docx?(?![a-z])|(?<!in a )(?<!in one )\bword\b(?! (?:for|count|by|limit|of|cloud))|(?<![a-z])(?<!in a )(?<!in one )word(?![a-z ])|文档|\b(?:word )?documents?\b)"
    r"|(?P<email>e-?mails?\b(?! address)|邮件)"
)
_MAKE_ZH: Final = r"(?:做|制作|生成|创建|写|准备|弄|整|搞|设计|产出|输出|导出|起草|拟|编写|撰写|编制|画|要|需要|想要|来|给我|出|建|汇总|整理|归纳|形成|交付|提供|返回|回复)"
_MAKE: Final = lazy(
    rf"{_MAKE_ZH}|\b(?:make|create|build|prepare|generate|design|put|draft|need|do|write|produce|want|give|turn|assemble|develop|whip|convert|export|deliver|compile|send|compose|get|output|return|transform|provide|i'd like|save|format|render|summari[sz]e|organi[sz]e)\b"
)
# Words by which the file after them is where something comes from. Between them and the file: no goal.
_FROM: Final = lazy(
    r"(?:基于|根据|依据|依照|按照?|参考|参照|从|由|把|将|这[个份篇些]?|那[个份篇些]|该|附件(?:中|里)?的?|上传的|已有的?|现有的?|原来?的?|我的|打开|阅读|读取?|解析|分析|提取|查看|看看?|翻译|校对|修改|(?:检查|总结)(?!的))(?:全部|所有|一?下|我|两?[个份]|附件|的|上传|中文|英文|每一?[个份]|\d+|[一二三四五六七八九十两几]+[个份])*$"
    r"|\b(?:from|based on|using|according to|of|in|attached|uploaded|this|that|these|those|existing|my|read|open|analy[sz]e|summari[sz]e|sum up|review|extract|check|proofread|per|given|original|old|source|both|two|three|all|every|each)(?: (?:the|this|that|these|my|our|attached|uploaded|all|every|each|of|existing|following|english|chinese|original|two|three|both|from|\d+))* *$"
)
# Words by which the file after them is the goal, whatever stands before.
_INTO: Final = lazy(
    r"(?:成|为|作|到|以|用)(?:一?[个份套]|新的?|[中英双]文|英语|繁体|简体|中英双语|双语|(?:不超过|最多|至多)?\d+页(?:左右|以内|之内|以上|上下)?的?|[一二三四五六七八九十]+页(?:左右|以内|之内|以上|上下)?的?|的|漂亮的|正式的)*$"
    r"|\b(?:on(?: (?:a|one|each|every|new|single))+|in an? (?:table|chart|list) on the) *$|\b(?:into|to|as|in|source for|basis for|input for)(?: (?:an?|the|one|new|short|formal|\d+-?(?:page|slide)|english|chinese|real|proper|single|nice|editable|bilingual))* *$"
)
_AFTER_SOURCE: Final = lazy(
    r"^\S*?(?:里面?|中|内|上)(?:的|提取|找|摘|读|有|所)|^(?:附件|文件)?的(?:内容|数据|文字|要点|信息|第|每|全部|所有|页|表格)|^ (?:attachment|i (?:sent|attached|uploaded)|you (?:made|sent)|that i|attached|above)\b|^的?(?:大纲|提纲|目录结构|思路)|^ (?:outline|structure)\b|^(?:文件)?(?:是|有)(?:什么|哪|多少)|^(?:打不开|坏了|损坏)"
)
_ABOUT: Final = lazy(
    r"(?:关于|介绍|主题是|讲|讲述|谈|论)[^,]{0,20}$|\b(?:about|on|titled|called|regarding|explaining|for (?:a|my|the))\b[^,]{0,30}$"
)
_FORMAT: Final = lazy(r"^(?:文件|文档)?(?:格式|版本?|形式)|^ (?:format|form|version|file)\b")
_BARE: Final = lazy(
    r"^\s*(?:请|麻烦|帮我|我|给|来|一|[份个套]|a |an |the |one |new |中文|英文|英语|(?:正好|恰好|刚好|不超过|最多|至多|至少|少于|大?约)?[\d一二三四五六七八九十]+(?:[-~到至][\d一二三四五六七八九十]+)?页(?:左右|以内|之内|以上|以下)?的?|chinese |english |[\w-]+ ){0,4}$"
)
_BARE_AFTER: Final = lazy(
    r"^\s*(?:$|吧|一?[份个套]|就[行好]|也?可以|文件|格式|版|[包含括]{2}|含|要|不|和|与|及|(?:正好|恰好|超过|最多|至多|至少|少于|控制|大?约|[\d一二三四五六七八九十])[^,。]{0,5}页|(?:里面?|中)?每|做[好完]|写[好完]|完成|、|\+|的?$)|^(?:\s*$|,| (?:documents?|docs?|files?|please|pls|plz|with|without|in|about|on|for|from|covering|and|or|not|that|must|should|will do|is (?:fine|enough|ok|okay))\b)"
)
_AFTER_MAKE: Final = lazy(
    r"^[^,。]{0,8}?(?:也|再|都|帮我|给我|麻烦)?(?:做|生成|写|制作|要|来|出|准备)(?!好的|过|了)(?:一?[份个套下]|成|出来|$)|^(?:里面?|中|上)?(?:都|也)?(?:要|需要?|必须|应该|得)(?:有|体现|包[含括]|列|放|写|显示|含)|^(?:里面?|中|上)(?:都|也)?(?:写[明上出]|注明|列[出上]|加[上入]?|放[上入]?|体现|展示)|^ (?:please|too|as well)\b|^ (?:must|should|has to|needs? to) (?:have|include|show|contain|list)\b"
)


def file_kinds(scope: Scope) -> tuple[str, ...]:
    """The kinds asked for, in the order of the words; of FILE_KINDS. A correction takes back those before."""
    wanted: list[str] = []
    refused: set[str] = set()
    listed = [one.span for one in field_lists(scope)]
    corrects = False
    for clause in scope.clauses:
        named, not_named = _of_clause(clause, scope.zh, listed)
        corrects = corrects or clause.corrects
        if corrects and named:
            wanted.clear()
            corrects = False
        wanted += named
        refused |= not_named - set(named)
    if any(part.intent == "email.draft" for part in scope.parts) and "email" not in refused and not wanted:
        wanted.append("email")
    return tuple(kind for kind in dict.fromkeys(wanted) if kind not in refused)


def _of_clause(clause: Clause, zh: bool, listed: Sequence[Span]) -> tuple[list[str], set[str]]:
    wanted: list[str] = []
    refused: set[str] = set()
    at = 0
    for found in _KIND.finditer(clause.words):
        kind, start = str(found.lastgroup), found.start()
        before, after = clause.words[at:start], clause.words[found.end() :]
        if any(first <= clause.start + start < last for first, last in listed):
            continue  # a field of that name
        if negated(clause.words, start, zh):
            refused.add(kind)
            at = found.end()
            continue
        if _is_goal(clause, start, before, after, bool(wanted)):
            wanted.append(kind)
        at = found.end()
    return wanted, refused


def _is_goal(clause: Clause, start: int, before: str, after: str, joined: bool) -> bool:
    """Whether the file named between `before` and `after` is to be made. joined: one before it is."""
    if _AFTER_SOURCE.search(after):
        return False
    if _INTO.search(before) and (not clause.asks or _MAKE.search(clause.words[:start])):
        return True
    if joined and ((len(before) <= 12 and _JOINS.search(before)) or _joins_with_noun(before, after)):
        return True
    if _FROM.search(before):
        return False
    if verbs := [*_MAKE.finditer(before)]:
        between = before[verbs[-1].end() :]
        return not _ABOUT.search(between) or _goes_on(between)
    if _FORMAT.search(after) or _AFTER_MAKE.search(after):
        return True
    alone = before == clause.words[:start] and _BARE.search(before) and _BARE_AFTER.search(after)
    return bool(alone) and not clause.asks  # 中文PPT; not 文档里说了什么


def _joins_with_noun(before: str, after: str) -> bool:
    """A Word *handout and a* deck, a Word *file and* email *draft*; not: a Word file and email it."""
    found = _NOUN_JOINS.search(before)
    return found is not None and bool(found.group("article") or _A_DRAFT.search(after))


def _goes_on(between: str) -> bool:
    """关于X的PPT: the file stands behind its topic; "about how people hate slides" doesn't."""
    return bool(_TOPIC_DONE.search(between))


_TOPIC_DONE: Final = lazy(r"的\s*(?:中文|英文|英语|\d+页)?\s*$")
_NOUN_JOINS: Final = lazy(r"^ [a-z]+ (?:and|plus|&)(?P<article> an?| one)?(?: also)? $")
_A_DRAFT: Final = lazy(r"^ drafts?\b")
_JOINS: Final = lazy(
    r"^\s*(?:和|与|及|以及|、|/|\+|或|加|还有|and|or|plus|&|,)?\s*(?:and |or )?(?:an? |one |the |also )?(?:一?[份个])?(?:中文|英文|english |chinese )?\s*$"
)
