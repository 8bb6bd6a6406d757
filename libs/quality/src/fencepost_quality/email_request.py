"""What a mail's gate may know of the people in it, from the user's own words alone: pure, and never a guess.

Who it goes to is read where the request says it ("给客户刘女士写邮件", "email our customer Mrs Alvarez"); how
the two know each other only from words that say so; who writes from "我是…", "署名…", "I'm …", "From …". What isn't
clear stays unknown, and what is unknown isn't judged: a wrong fact would refuse a right draft.
"""

from __future__ import annotations

import re
from typing import Final

from fencepost_quality.draft import EmailFacts, wants_action
from fencepost_quality.person_names import SURNAMES

LONGEST_PHRASE: Final = 60
_ADDRESS: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_NAME_ZH: Final = "[\u4e00-\u9fff]{2,4}"

# Where a request names whom the mail goes to.
_TO_ZH: Final = re.compile(
    r"(?:回复|通知|邀请|感谢|提醒|给|向|跟|致)(?P<whom>[^，。,；;：:]{1,24}?)"
    r"(?:写|发|说|回邮件|汇报|投稿|咨询|致谢|上周|上个?月|昨天|帮忙|参加|周[一二三四五六日]|下周|明天|[，。,；;：:]|$)"
)
_TO_EN: Final = re.compile(
    r"\b(?i:apologi[sz]e to|announce to|write to|writing to|reply to|submit [^.,]{1,60}? to|complaint to|apply to"
    r"|(?:re)?mail to|e-?mail to|to|e-?mail|write|tell|ask|remind|invite|thank|send|warn|answer|chase|inform)\s+"
    r"(?P<whom>(?:(?i:my|our|the|all|a|an|client|customer|supplier|supervisor)|Professor|Prof|Dr|Mrs?|Ms|[A-Z][\w'-]+)\b[^.,:;]{0,48}?)"
    r"(?=\s+(?:that|to|about|asking|for|whether|how|by|in|of|when|until|from|because|why|if|the)\b|[.,:;]|$)",
)
# What the words say of how the two know each other; the first that is found counts.
_RELATIONS_ZH: Final = (
    ("friend", "前同事|老同学|同学们|朋友|闺蜜|发小|室友|哥们|邻居|妈妈?$|爸爸?$|妈$|爸$"),
    ("new", "招聘|面试官|组委会|编辑部|陌生|不认识"),
    ("customer", "客户|甲方|买家|供应商|房东|租客|业主委员会"),
    ("superior", "领导|老板|上司|导师|班主任|我们?(?:的)?(?:经理|主管|总监|部长|主任)"),
    ("colleague", "同事|团队|全组|全体成员|搭档|组员|^(?:HR|人事|财务|行政)"),
)
_NEVER_MET_ZH: Final = re.compile(
    "从?没(?:有)?(?:联系|打过交道|打交道|见过面?|合作)过?|不认识|素不相识|初次(?:联系|写信|接触)|第一次(?:联系|写信)|冒昧|求职信"
    "|(?:^|[，,。；]|我(?:想|要)?)(?:应聘|投稿)"
)
_RELATIONS_EN: Final = (
    ("friend", r"\b(?:friends?|buddy|pal|roommate|classmates?|neighbou?rs?|mum|mom|dad)\b"),
    ("new", r"\b(?:hiring|recruiter|interviewer|organi[sz]ing committee|editors?)\b"),
    ("customer", r"\b(?:customers?|clients?|landlord|landlady|(?:our|my) (?:suppliers?|vendors?))\b"),
    ("superior", r"\b(?:boss|manager|supervisor|advisor|class teacher|my (?:director|professor|lead))\b"),
    ("colleague", r"\b(?:colleagues?|co-?workers?|teammates?|the team|HR|in (?:finance|accounting))\b"),
)
_NEVER_MET_EN: Final = re.compile(
    r"\bcold e-?mail\b|\bnever (?:met|spoken|written|worked)\b|\b(?:don't|do not) know (?:him|her|them)\b"
    r"|\bapplication (?:e-?mail|letter)\b|\bintroduce (?:myself|our)\b",
    re.IGNORECASE,
)
_NOT_OURS: Final = re.compile(
    r"\b(?:bank|hotel|store|account|case|product|project) (?:manager|advisor)\b", re.I
)

# Who writes. Roles stand before a Chinese name without a mark between them.
_ROLE: Final = (
    "部的?|组的?|公司的?|科技的?|集团的?|大学的?|的|租客|会员|客户|业主|候选人|客服|女儿|儿子|学生|研究生|博士生|项目经理|产品经理"
    "|经理|售前|销售|运维|家长|班长|负责人|讲师|老师|工程师|助理|实习生|员工|志愿者|作者"
)
_SURNAMES: Final = SURNAMES + "肖闫陶尹小老阿大晓欧司"  # and how people call each other
_SAYS_ZH: Final = re.compile(
    r"(?:我是|(?P<sure>我叫|我的名字是|发件人是?|署名是?|落款是?))\s*(?P<said>[^，。,；;、\s]{2,16})"
)
_ROLED_ZH: Final = re.compile(rf"^(?:.*?(?:{_ROLE}))(?P<name>[{_SURNAMES}][\u4e00-\u9fff]{{1,2}})$")
_PLAIN_ZH: Final = re.compile(rf"^[{_SURNAMES}][\u4e00-\u9fff]{{1,2}}$")
_LAST_ZH: Final = re.compile(rf"[，。,；;]\s*(?:{_ROLE})(?P<name>[{_SURNAMES}][\u4e00-\u9fff]{{1,2}})[。.]?$")
_NAME_EN: Final = r"[A-Z][a-z'’-]+(?:-[A-Z][a-z]+)?(?: (?:[A-Z]\.|(?:van|de|von|al|bin)|[A-Z][a-z'’-]+)){0,3}"
# An everyday word, whatever its first sign; what is to be signed how, and by nobody.
_NO_NAME_ZH: Final = re.compile(
    "周[一二三四五六日末]|大学|大家|小区|小组|老板|老客户|程序|司机|高兴|方便|马上|任何|于是|谢谢|文员|金融|石油|安排|万分"
    "|[处用请写要为留一人不在和可就随我你他她]"
)
_CALLINGS: Final = "的生员人们长者师工机手家区部了"
_SAYS_EN: Final = re.compile(
    rf"(?:\b(?:I'm|I am|I’m|[Mm]y name is|[Ss]igned:?|[Ss]ign as)\s+|(?:^|[.,;]\s*)(?:[Oo]wner|[Pp]arent"
    r"|[Tt]enant|[Ss]tudent|[Aa]uthor|[Cc]andidate|[Mm]ember|[Cc]ustomer)\b:?\s+)"
    rf"(?P<name>{_NAME_EN})(?=[,.;]|\s+(?:from|at|in|of|and|with)\b|$)"
)
_FROM_EN: Final = re.compile(rf"(?:^|[.,;:]?\s+)[Ff]rom\s+(?P<name>{_NAME_EN})(?=\.?$|, [A-Z][^.]*\.?$)")
_NO_NAME: Final = frozenset(
    re.findall(
        r"[a-z]+",
        "american british chinese german french japanese korean indian italian spanish canadian australian russian"
        " dutch swedish here there sorry happy glad late monday tuesday wednesday thursday friday saturday sunday"
        " january february march april may june july august september october november december",
    )
)
_ORG_ZH: Final = re.compile(
    rf"落款{_NAME_ZH}，\s*([\u4e00-\u9fffA-Za-z0-9]{{2,20}})|公司是([\u4e00-\u9fffA-Za-z0-9]{{2,20}})"
    r"|我是([\u4e00-\u9fff]{2,16}(?:公司|科技|集团|大学|学院|医院|银行))"
)
_ORG_EN: Final = re.compile(
    rf"(?:I'm|From|from|I am) {_NAME_EN},(?: [a-z ]+(?: at|,))? (?P<org>[A-Z][\w&.' -]{{1,40}}?)(?=[.,;]|$)"
)


def facts_of(request: str, language: str | None = None) -> EmailFacts:
    """All that the gate judges a draft against. language: the contract's, `zh` or `en`; None: the request's."""
    relation, sender = relation_in(request), sender_in(request)
    if relation == "new" and sender is None:
        relation = None  # nobody can be introduced whose name isn't known
    return EmailFacts(
        request=request,
        language=language,
        relation=relation,
        sender_name=sender,
        sender_organization=organization_in(request),
        recipients=recipients_in(request),
        needs_action=wants_action(request),
    )


def recipients_in(request: str) -> tuple[str, ...]:
    """Whom the words say it goes to, as they call them, and every address in them."""
    named = [phrase for phrase in (_whom(request),) if phrase]
    return tuple(dict.fromkeys([*named, *_ADDRESS.findall(request)]))


def relation_in(request: str) -> str | None:
    """One of RELATIONS, where the words say how the user knows the recipient; else None."""
    if _NEVER_MET_ZH.search(request) or _NEVER_MET_EN.search(request):
        return "new"
    phrase = _whom(request)
    if not phrase or _NOT_OURS.search(phrase):
        return None
    found = [
        (match.end(), relation)
        for relation, cues in (*_RELATIONS_ZH, *_RELATIONS_EN)
        for match in re.finditer(cues, phrase)
        if not phrase.startswith(("的", "'s", "’s"), match.end())  # somebody of theirs is somebody else
    ]
    return max(found)[1] if found else None


def _whom(request: str) -> str:
    found = _TO_ZH.search(request) or _TO_EN.search(request)
    return found["whom"].strip()[:LONGEST_PHRASE] if found else ""


def sender_in(request: str) -> str | None:
    """The user's name as they give it; None where they don't, or where it can't be told from their role."""
    for found in _SAYS_ZH.finditer(request):
        said = found["said"]
        roled = _ROLED_ZH.match(said)
        if roled and _is_name(roled["name"]):
            return roled["name"]
        is_plain = _PLAIN_ZH.match(said) or (found["sure"] and re.fullmatch(_NAME_ZH, said))
        if is_plain and _is_name(said):
            return said
    last = _LAST_ZH.search(request)
    if last and _is_name(last["name"]):
        return last["name"]
    for form in (_SAYS_EN, _FROM_EN):
        for found in form.finditer(request):
            name = found["name"].strip()
            if name.split()[0].casefold() not in _NO_NAME:
                return name
    return None


def _is_name(said: str) -> bool:
    """Not an everyday word that begins with a surname's sign, or a calling that ends as they do."""
    return _NO_NAME_ZH.match(said) is None and said[-1] not in _CALLINGS


def without_sender(text: str, sender: str) -> str:
    """The words without a last clause that only says who writes: it belongs below a mail, not into it."""
    found = _SELF.search(text)
    return text[: found.start()].rstrip(" ，,。.;；") if found and sender in found.group() else text


_SELF: Final = re.compile(
    r"[，,。.;；:：]?\s*(?:我是|我叫|我的名字是|发件人|署名|落款|\b(?:I'm|I am|I’m|My name is|Signed|From)\b)[^。；;]*$",
    re.I,
)


def organization_in(request: str) -> str | None:
    """The organization the user writes for, where they say it beside their name."""
    found = _ORG_ZH.search(request)
    if found:
        return next(part for part in found.groups() if part)
    found = _ORG_EN.search(request)
    return found["org"].strip() if found else None
