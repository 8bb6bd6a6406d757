# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Coverage, language, tables and pictures: what a request asks of its result beside the kind of file."""

from __future__ import annotations

import re
from typing import Final

from fencepost_intents.contract.fields import field_lists
from fencepost_intents.contract.scope import Scope, negated
from fencepost_intents.intent.languages import NAMES
from fencepost_intents.patterns import lazy
from fencepost_intents.result import SlotValue

_ALL: Final = lazy(
    r"全部(?!门|队|落|长)|所有(?!权|制|者)|每一?[项条行笔份款章](?!不|最多|至多|限|一[个条位项份])|每一(?:个|页|张|家|位|名)(?!月|人|星期|季度|小时|礼拜|周|工作日)|每个(?!月|人|星期|季度|小时|礼拜|周|工作日|部分|页面)(?=[\u4e00-\u9fff])|逐[项条行个一页]|(?<!不)完整(?!性|句|路径|姓名|地址|的(?:一天|句子|姓名|地址))|全量|一[个条项]都?不[能许要]?[漏落少]|(?:不|别|勿|无|没有?)(?:要|能|得|许|可|准)?(?:有)?(?:任何)?(?:遗漏|漏掉|漏(?!洞)|落下|缺失|省略)|全都|悉数|一网打尽|全文|整[本份篇](?!的?价)|毫无遗漏"
    r"|\b(?:all(?! (?:right|the best|day|night|week|year|over|about|in all|of a sudden|along|kinds|sorts|hands|set|good|done|caps|levels|ages|audiences|staff))|every(?! (?:day|week|month|year|morning|evening|night|hour|monday|tuesday|wednesday|thursday|friday|saturday|sunday|time|other|now|quarter|weekday|few|\d+|one of us|slide|page))|everything(?! (?:they|you|we|he|she) (?:did|do|does|have done|has done))|each(?! (?:other|day|week|month|year|time|slide|page|of us|team|quarter))|complete(?! (?:sentences?|stranger|guide|the|novice|it|name))|completely|the entire|entire|the whole|in full(?! \w)|full(?:y)? (?:coverage|list|content|text|table|document|file|report|dataset|cover\w*)|without (?:omissions?|leaving|omitting|skipping|missing|exceptions?)|(?:don't|do not|never) (?:leave (?:anything|any|out)|miss|skip|omit|drop)|nothing (?:(?:may|must|should|can) be )?(?:left out|missing|omitted|lost)|exhaustive(?:ly)?|no omissions)\b"
)
_SELF_NEGATED: Final = lazy(r"漏|落下|缺失|省略|without|don't|do not|never|no omissions|nothing|都不|不")
_TO_PEOPLE: Final = lazy(r"(?:给|向|对|面向|通知|邀请|发给|抄送|感谢|祝)$")
_PEOPLE: Final = lazy(
    r"^(?:的)?(?:人|同事|员工|成员|客户|同学|家长|老师|朋友|部门|团队|读者|听众|观众)|^(?:一?个|位|名)?(?:人|同事|员工|同学)"
)
_TO_PEOPLE_EN: Final = lazy(
    r"\b(?:to|for|cc|thank|invite|notify|tell|with|at|after|by|of|us|we|you|them)\s*$"
)
_PEOPLE_EN: Final = lazy(
    r"^\s*(?:of |the |my |our |of our |of my )*(?:people|colleagues?|employees?|members?|customers?|clients?|staff|team|students?|parents?|friends?|teams|managers?|us|them|participants|attendees|hands|$)"
)
_PART_ONLY: Final = lazy(
    r"(?:只|仅|光)(?:要|需要?|用|取|做|看|列|保留|挑|选|提取|列出|包含|讲|写|整理)[^,。]{0,6}?(?:前|重点|要点|部分|一部分|摘要|关键|最|第|其中|主要|几|[一二三四五六七八九十\d]+[条项个])|前[\d一二三四五六七八九十]+[条项个名行]|(?:挑|选|摘)(?:几|些|重点|出?重点)|(?:一|大)部分(?:即可|就行|就好)|大概就行|简要概括即可"
    r"|\bonly (?:the |a )?(?:top|first|last|highlights?|key|main|most|summary|few|some|part|important)|\b(?:the )?(?:top|first) (?:\d+|ten|five|three|few)\b|\bjust (?:the )?(?:top|first|highlights?|key|main|summary|gist|important)|\b(?:highlights|summary) only\b|\ba (?:sample|selection|few) of\b"
)
_LANGUAGE_NAMES: Final = "|".join(sorted((re.escape(name) for name in NAMES), key=len, reverse=True))
_THINGS: Final = r"(?:pptx?|幻灯|演示|课件|word|docx?|文档|excel|xlsx?|表格|邮件|版|报告|简报|输出|回[复答]|撰写|书写|写|制作|生成|呈现|summary|decks?|slides?|presentations?|power ?points?|documents?|e-?mails?|reports?|spreadsheets?|workbooks?|versions?|workbook|letter|output)"
_LANGUAGE: Final = lazy(
    rf"(?:用|以|使用|采用|输出|转成|转为|翻译?成|译成|做成|写成|语言(?:为|是|用|[:：])?|改成|换成)(?:纯|标准)?(?P<zh1>{_LANGUAGE_NAMES})(?!老师|课|考试|作业|单词|角)"
    rf"|(?P<zh2>{_LANGUAGE_NAMES})的?(?={_THINGS})"
    rf"|\b(?:in|into|use|using)(?: (?:plain|simple|formal|good|proper|business|fluent|clear))? (?P<en1>{_LANGUAGE_NAMES})\b(?! (?:class|lessons?|market|companies|company|history|new year|schools?|literature|customers?|restaurants?|cities|teachers?|medicine|food|culture))"
    rf"|\b(?P<en2>{_LANGUAGE_NAMES})(?:-language)? (?={_THINGS}\b)|\blanguage\s*(?::|is|should be|=)\s*(?P<en3>{_LANGUAGE_NAMES})\b|^\s*(?:我?要|需要|请?用|最好是?)?(?P<zh3>{_LANGUAGE_NAMES})(?:的|版的?)?\s*[。.!]?$|(?P<mine>(?:用|以)?我(?:的|自己的)?(?:语言|母语)|\bmy (?:own |native )?language\b)"
)
_SOURCE_LANGUAGE: Final = lazy(
    r"(?:把|将|这[份个]|那[份个]|附件(?:的|里的?|中的?)?|原文是?|从|上传的|基于|根据|阅读)$|\b(?:from|attached|this|these|the attached|based on(?: the| an?)?|of the|original)\s*$"
)
_BILINGUAL: Final = lazy(
    r"双语|中英(?:文)?对照|中英文(?:各|都)|\bbilingual\b|\b(?:both )?(?:english|chinese) and (?:english|chinese)\b|中文和英文"
)
_TABLE: Final = lazy(
    r"表格(?!文件)|对照表|对比表|明细表|一览表|数据表|汇总表|列表格|(?<!报|图|代|手)表(?:呈现|展示|形式)|\btables?\b(?! of contents|spoon|t| tennis)|\btabular\b|列(?:名|为|分别)|字段|表头|\bcolumns?\b|\bgrid\b"
)
_TABLE_IDIOM: Final = lazy(
    r"\b(?:on|under|round|off|to|at) the $|\b(?:dinner|coffee|kitchen|pool|negotiating) $|\btime$"
)
_SOURCE_THING: Final = lazy(
    r"(?:附件(?:中|里)?的?|这[个张份些]|那[个张份]|上传的|根据|基于|从|把|将|我的|原有?的?)$|\b(?:the attached|attached|this|these|that|from the|from|based on the|in the|my|uploaded)\s*$"
)
_SOURCE_AFTER: Final = lazy(
    r"^(?:里|中|内|上)的?|^的(?:内容|数据)|^ (?:i|in the attachments?|above|attached|from the)\b"
)
_PICTURE: Final = lazy(
    r"图片|配图|插图|图表|柱状?图|条形图|饼图|折线图|曲线图|示意图|流程图|趋势图|照片|插画|图文并茂|配上?图|(?<![a-z])logo(?![a-z])|雷达图|热力图|甘特图"
    r"|\b(?:charts?|graphs?|pictures?|images?|photos?|illustrations?|diagrams?|visuals?|bar charts?|pie charts?|infographics?|visuali[sz]ations?)\b(?! (?:a|the) (?:course|path|plan)\b)"
)
_PICTURE_IDIOM: Final = lazy(
    r"\b(?:big|whole|bigger|full|get the|out of the|org) $|\b(?:to|public|brand|we|i|you|self-?) $"
)


def full_coverage(scope: Scope) -> bool:
    """Whether nothing of the sources may be left out. Fewer than all said anywhere in the order: no."""
    rows = [one.span for one in field_lists(scope) if one.sure]
    asked = False
    for clause in scope.clauses:
        if _PART_ONLY.search(clause.words):
            return False
        for found in _ALL.finditer(clause.words):
            at = clause.start + found.start()
            if any(first <= at < last for first, last in rows):
                continue  # "each row has name and date" says how a row looks
            asked = asked or _asks_for_all(clause.words, found, scope.zh)
    return asked


def _asks_for_all(words: str, found: re.Match[str], zh: bool) -> bool:
    before, after = words[: found.start()], words[found.end() :]
    said = found.group()
    if not _SELF_NEGATED.search(said) and negated(words, found.start(), zh):
        return False
    if _PEOPLE.search(after) and _TO_PEOPLE.search(before):
        return False
    if said == "everything":
        return True  # nobody is called that: "a report of everything"
    return not (said.isascii() and _PEOPLE_EN.search(after) and _TO_PEOPLE_EN.search(before))


def output_language(scope: Scope, locale: str | None) -> str | None:
    """BCP 47 tag of the language asked for, the last one said; None when none was, or two at once."""
    if any(_BILINGUAL.search(clause.words) for clause in scope.clauses):
        return None
    said: str | None = None
    for clause in scope.clauses:
        for found in _LANGUAGE.finditer(clause.words):
            before = clause.words[: found.start()]
            beside = found.lastgroup in ("zh2", "en2")  # the language of the thing named right after it
            if negated(clause.words, found.start(), scope.zh) or (beside and _SOURCE_LANGUAGE.search(before)):
                continue
            said = locale if found.group("mine") else NAMES[found.group(str(found.lastgroup))]
    if said is None:
        slots = [part.slots.get("target_language") for part in scope.parts if part.intent == "translate"]
        said = next((str(slot.value) for slot in slots if isinstance(slot, SlotValue)), None)
    return said


def tables(scope: Scope) -> bool:
    """Whether a table is asked for, or fields of rows; one that is only read from isn't."""
    return _thing(scope, _TABLE, _TABLE_IDIOM) or any(one.sure for one in field_lists(scope))


def pictures(scope: Scope) -> bool:
    """Whether pictures or charts are asked for."""
    return _thing(scope, _PICTURE, _PICTURE_IDIOM)


def _thing(scope: Scope, rule: re.Pattern[str], idiom: re.Pattern[str]) -> bool:
    wanted = refused = False
    for clause in scope.clauses:
        if clause.asks and not _MADE.search(clause.words):
            continue  # how many tables are in it?
        for found in rule.finditer(clause.words):
            before, after = clause.words[: found.start()], clause.words[found.end() :]
            if negated(clause.words, found.start(), scope.zh):
                wanted, refused = False, True
                continue
            if refused and not _MADE.search(clause.words):
                continue  # "no table: tables are hard to read" asks for none; "but one of the prices" does
            read_from = _SOURCE_THING.search(before) or _SOURCE_AFTER.search(after) or idiom.search(before)
            wanted = wanted or not read_from
    return wanted


_MADE: Final = lazy(
    r"做|生成|制作|写|加|放|画|配|要|含|带|导出|整理|\b(?:make|use|create|build|add|with|include|write|generate|draw|put|need)\b"
)
_IGNORED: Final = lazy(
    r"(?:不(?:要|用|必|需要?)|别|无需)(?:再)?(?:看|管|用|参考|考虑|读|使用)(?:上面的|任何)?附件|(?:忽略|无视|抛开|撇开)(?:掉)?(?:所有|全部)?附件|附件(?:不用|不必|不要)(?:看|管|理|用)"
    r"|\b(?:ignore|disregard|forget about|don't (?:use|read|look at)|do not (?:use|read)|without (?:using )?)\s*(?:the |all |my |any )*(?:attachments?|attached files?|files?)\b"
)


def ignores_attachments(scope: Scope) -> bool:
    """Whether the work is not to be bound to what came with it."""
    return any(_IGNORED.search(clause.words) for clause in scope.clauses)
