"""What each code of a quality gate says to a person, in Chinese and English: what is wrong, what they can do.

A violation's own `detail` and `fix` are for the model that rewrites; these are for who asked. Loads nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

Words = tuple[str, str]  # Chinese, English
MOST_SAID: Final = 3  # sentences of one message; the rest is in quality_reports

_MAIL: Final[Mapping[str, Words]] = {
    "header_injection": (
        "主题、姓名或地址里有换行或控制字符。",
        "The subject, a name or an address holds a line break or a control character.",
    ),
    "address_invalid": ("有一个邮箱地址不成立，请给出完整地址。", "An address isn't one; give it in full."),
    "name_like_address": (
        "收件人的名字写成了另一个邮箱地址。",
        "A recipient's name is written as another address.",
    ),
    "recipient_unasked": (
        "草稿写给了您没有提到的地址；请在请求里写明收件人。",
        "The draft goes to an address you didn't name; name the recipients in your request.",
    ),
    "subject_missing": ("邮件没有主题。", "The mail has no subject."),
    "subject_vague": ("主题没有说明内容。", "The subject says nothing of the content."),
    "subject_too_long": ("主题太长。", "The subject is too long."),
    "greeting_missing": ("邮件没有称呼。", "The mail has no greeting."),
    "greeting_wrong_name": (
        "称呼里的人您没有提到；请写明收件人的名字。",
        "It greets somebody you didn't name; give the recipient's name.",
    ),
    "relation_mismatch": (
        "称呼不符合您与收件人的关系；可以说明对方是客户、同事还是朋友。",
        "The greeting doesn't fit how you know each other; say whether it is a client, colleague or friend.",
    ),
    "introduction_missing": (
        "写给初次联系的人，却没有自我介绍；请说明您是谁。",
        "It goes to somebody new and doesn't say who writes; say who you are.",
    ),
    "introduction_unneeded": (
        "对方认识您，却写了自我介绍。",
        "It introduces you to somebody who knows you.",
    ),
    "body_missing": ("邮件没有正文。", "The mail has no body."),
    "placeholder_left": (
        "草稿里留有没填的空位；请补充缺少的内容。",
        "A blank was left unfilled; give what is missing.",
    ),
    "language_mixed": ("有几处混入了另一种语言。", "Pieces of another language stand in it."),
    "action_missing": (
        "没有写出您希望对方做什么。",
        "It doesn't say what you want the recipient to do.",
    ),
    "courtesy_missing": ("没有致谢或祝愿。", "It has no thanks and no good wish."),
    "closing_missing": ("没有结尾敬语。", "It has no closing formula."),
    "sender_missing": ("没有署名。", "It isn't signed."),
    "sender_forged": (
        "署名不是您，或代表了您没有提到的人；请写明您的姓名。",
        "It is signed by, or speaks for, somebody who isn't you; give your own name.",
    ),
    "blocks_repeat": ("两段说了同样的话。", "Two parts of it say the same."),
}
_OUTLINE: Final[Mapping[str, Words]] = {
    "arguments_invalid": ("内容的结构不对，无法生成文件。", "What it was to be made of has a wrong shape."),
    "language_wrong": ("语言与您要求的不同。", "It is in another language than you asked for."),
    "title_blank": ("有标题是空的。", "A title is empty."),
    "slide_without_content": ("有一页没有内容。", "A slide says nothing."),
    "table_missing": ("缺少您要求的表格。", "The table you asked for isn't there."),
    "chart_missing": (
        "缺少您要求的图表；来源里可能没有可以画图的数字。",
        "The chart you asked for isn't there; the sources may hold no numbers for one.",
    ),
    "chart_mismatch": ("图表的数据与标签对不上。", "A chart's values and labels don't match."),
    "field_missing": (
        "您点名的字段没有对应的列；请核对附件里的列名。",
        "A field you named has no column; compare it with the columns of your files.",
    ),
    "cells_mismatch": ("有一行的单元格数与列数不同。", "A row has more or fewer cells than columns."),
    "columns_repeated": ("有两列同名。", "Two columns have the same name."),
    "entity_repeated": ("同一项出现了两次。", "The same entry stands there twice."),
    "cell_empty": ("有单元格是空的。", "A cell is empty."),
    "cell_punctuation": ("有单元格只有标点。", "A cell holds nothing but punctuation."),
    "cell_separators": ("有单元格里挤了几个值。", "A cell holds several values at once."),
    "untranslated": (
        "有内容没有译成要求的语言；离线模型不会翻译，可以改用来源的语言。",
        "Parts aren't in the language asked for; offline nothing is translated: ask for that of the sources.",
    ),
    "production_note": (
        "制作说明混进了给观众看的内容。",
        "A note for the maker stands where the audience reads.",
    ),
    "source_ir_missing": ("有附件没有读到。", "Not every attachment was read."),
    "source_unknown": ("引用了不存在的来源。", "It names a source that isn't there."),
    "source_unused": ("有附件没有用到。", "An attachment wasn't used."),
    "locator_missing": ("有一行没有注明出处。", "A row doesn't say where it is from."),
    "locator_unknown": ("有一行的出处不存在。", "A row names a place that its source doesn't have."),
    "locator_ambiguous": ("有一行的出处不唯一。", "A row's place isn't the only one it could be."),
    "record_set_missing": ("没有从附件里读出条目。", "No entries were read from the attachments."),
    "record_missing": ("附件里的条目没有全部包含。", "Entries of the attachments are left out."),
    "record_mismatch": ("有条目与附件里的不同。", "An entry differs from its source."),
    "time_incomplete": ("有时间比附件里写的少了。", "A time says less than its source."),
}
_FILE: Final[Mapping[str, Words]] = {
    "artifact_missing": ("没有生成文件。", "No file was made."),
    "artifact_unreadable": ("生成的文件打不开。", "The file that was made doesn't open."),
    "artifact_empty": ("生成的文件没有内容。", "The file that was made says nothing."),
    "hash_mismatch": ("文件内容与登记的不一致。", "The file isn't the one that was registered."),
    "name_unsafe": ("文件名不安全。", "The file's name isn't safe."),
    "suffix_mismatch": ("文件名的后缀与内容不符。", "The name's suffix doesn't fit the content."),
    "kind_unwanted": ("文件类型不是您要的。", "It is of another kind than you asked for."),
    "active_content": (
        "文件里有宏、公式或外部链接。",
        "The file holds macros, formulas or links that lead out.",
    ),
    "page_count": (
        "页数与您要求的不同；内容放不下或不够时，可以换一个页数。",
        "It has another number of pages than you asked for; where the content doesn't fit, ask for another.",
    ),
    "blank_page": ("文件里有空白页。", "The file has an empty page."),
    "content_differs": ("文件里的内容与要求写入的不同。", "The file says something else than it was to say."),
    "report_missing": ("没有质量报告。", "There is no quality report."),
    "report_differs": ("质量报告与文件不符。", "The quality report isn't true of the file."),
    "source_not_covered": ("有附件没有写进文件。", "An attachment isn't in the file."),
    "coverage_unknown": ("无法确认附件是否全部包含。", "Whether all of the sources is in it isn't known."),
    "coverage_incomplete": (
        "附件没有全部包含；请看未能读取的部分，或只要求其中一部分。",
        "Not all of the sources is in it; look at what couldn't be read, or ask for a part.",
    ),
    "truncated": ("内容被截断了。", "It was cut off."),
}
_ANSWER: Final[Mapping[str, Words]] = {
    "answer_empty": ("回答没有内容。", "The answer has no words."),
    "nearly_repeated": ("回答里有几乎重复的话。", "The answer says nearly the same thing twice."),
}
_JUDGE: Final[Mapping[str, Words]] = {
    "judge_error": (
        "质量检查本身出错，结果不算通过；请再试一次。",
        "The check itself failed, which is no pass; try again.",
    ),
    "judge_unreadable": ("质量检查的结果无法读取。", "The check's answer can't be read."),
    "judge_incomplete": ("质量检查没有做完。", "The check wasn't completed."),
    "score_too_low": ("质量评分太低。", "A quality score is too low."),
    "tool_not_allowed": ("要用的工具不在这个模块里。", "The tool it wanted isn't one of this module."),
    "identity_argument": (
        "参数里写了身份，这不被允许。",
        "It named an identity in its arguments, which isn't allowed.",
    ),
}
WORDS: Final[Mapping[str, Words]] = {**_MAIL, **_OUTLINE, **_FILE, **_ANSWER, **_JUDGE}


def sentence(code: str, locale: str) -> str | None:
    """What a code means to who asked, in their language; None for a code of an author's own gate."""
    words = WORDS.get(code)
    return words[0 if locale.lower().startswith("zh") else 1] if words is not None else None


def sentences(codes: Iterable[str], locale: str) -> str:
    """The first few as one text, each once; an unknown code stands there as it is."""
    said = [sentence(code, locale) or f"{code}." for code in dict.fromkeys(codes) if code]
    return ("" if locale.lower().startswith("zh") else " ").join(said[:MOST_SAID])
