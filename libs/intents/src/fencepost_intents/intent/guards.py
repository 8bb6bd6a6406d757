# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""What keeps a cue from being a request: negation, withdrawal, condition, a tale of the past, somebody
else's words.
"""

from __future__ import annotations

from typing import Final

from fencepost_intents.patterns import lazy

_ZH_NOT: Final = lazy(
    r"(?:不要|别|不用|不必|不需要|无需|没有|没|勿|千万别|先别|甭|不想|不希望|用不着|不许|禁止)(?:再|给|帮|让你|你|急着|总是|老是|老|一直|帮我)*$"
)
_ZH_NOT_FORGET: Final = lazy(r"(?:别|不要|勿)(?:忘了?|忘记)(?:要|记得)?$")
_EN_NOT: Final = lazy(
    r"(?:\bdon't|\bdo not|\bdont|\bnever|\bno need to|\bdidn't|\bdid not|\bwon't|\bwouldn't|\bnot going to|\bwithout|\bnot|\bno longer|\bshouldn't|\bneedn't|\bdoesn't)"
    r"(?: (?:need|want|have|you|to|ever|bother|please|even|actually|like|me))*\s*$"
)
_EN_NOT_FORGET: Final = lazy(r"(?:don't|do not|dont|never) forget(?: to)?\s*$")
WITHDRAWN: Final = lazy(
    r"^\s*(?:哦|啊|呃|嗯|不|额)*\s*(?:算了|不用了|不需要了|不要了|当我没说|取消吧|还是别|还是不|别提醒了|不提醒了|作罢|免了|没事了|不必了|撤回)"
    r"|\bactually[, ]+(?:no\b|don't|do not|never ?mind|forget|scratch|cancel|skip)|\bnever ?mind\b|\bscratch that\b|\bforget (?:it|that|about it)\b"
    r"|\bon second thoughts?,? (?:no|don't|never)|^\s*cancel that\b|^\s*(?:no|nah),? (?:don't|forget)|^\s*wait,? don't|\bdon't bother\b|^\s*(?:please )?ignore that|^\s*actually,? (?:i don't|not)"
    r"|^\s*don't\s*$|^\s*(?:but )?don't do it|^\s*不用提醒|^\s*又?不想"
)
CORRECTED: Final = lazy(
    r"(?:^|(?<=[,。;!?]))\s*(?:哦|啊|呃|嗯|噢)*(?:不对|不是|算了|还是|错了|说错了|改成|应该是|更正)|不对(?=[,，]?)|(?:^|(?<=[,.;!?]))\s*(?:no|oh|wait|sorry)?,? ?(?:i mean|make (?:it|that)|rather|i meant|correction|no wait|wait no|sorry)\b|\b(?:no wait|wait no|i mean|make that|or rather|sorry i meant)\b"
)
_ZH_IF: Final = lazy(
    r"^\s*(?:如果|要是|假如|假使|倘若|万一|若(?!干)|除非|一旦|只要|等(?:我|他|她|到|.{0,8}(?:了|时|后|的时候))|(?:当|每当).{1,20}(?:时|的时候)|.{0,10}的话(?!题))|(?:股价|汇率|金价|油价|价格|气温|温度|电量|余额)[^,]{0,8}(?:到|涨|跌|低于|高于|超过|少于)|如果[^,]{1,20}(?:就|再)提醒|(?:到|到了|回到|路过|经过|离开)(?:家|公司|学校|超市|办公室|单位|机场|车站|医院)(?:的?时候|时|后|之后|以后|就)?(?=.{0,4}提醒)"
)
_EN_IF: Final = lazy(
    r"^\s*(?:and |but |please |hey )?(?:if|unless|in case|whenever|once(?! (?:a|an|every|per|each|more|again)\b)|as soon as|when)\b(?! (?:it\'s|it is) (?:noon|midnight|\d|time))|\b(?:remind|alert|notify|ping|tell) (?:me|us) (?:when|if|unless|whenever|once(?! (?:a|an|every|per|each|more|again)\b)|as soon as)\b(?! (?:it\'s|it is) (?:noon|midnight|\d|time))"
    r"|(?<!see )(?<!check )(?<!ask )(?<!know )(?<!wonder )(?<!sure )(?<!decide )(?<!confirm )(?<!find out )(?<!ask him )(?<!ask her )(?<!tell me )\b(?:only )?(?:if|unless) (?:it|i|he|she|they|we|you|the|there|my|nobody|no one)\b(?! can\b)"
)
_POLITE_IF: Final = lazy(
    r"(?:如果|要是|若)?(?:可以|方便|有空|不麻烦|能|行|没问题)的话|如果(?:可以|方便|不麻烦|你有空|能)|\bif (?:you (?:can|could|don't mind|wouldn't mind|please|will|may|have time)|possible|that's (?:ok|okay|alright|fine)|it's (?:not too much|ok|okay|possible)|not too much)"
)
_ZH_TALE: Final = lazy(
    r"(?:他|她|它|他们|她们|老板|老师|妈妈|爸爸|老婆|老公|同事|经理|领导|客户|朋友|谁|手机|系统|医生|老妈|老爸|女友|男友|小[王李张刘陈赵杨周吴徐孙马朱胡林郭何高罗明红丽])[^,]{0,8}?(?:提醒|叫|通知|让|喊)(?:了|过)?我"
    r"|提醒(?:过|了)(?:我|我们)|(?:我|你|你们)?(?:昨天|前天|上周|刚才|(?<![\u4e00-\u9fff])之前|(?<=[我你您们])之前|上次|已经|早就)[^,]{0,6}提醒(?:我|过)|提醒我[^,]{0,16}(?:了(?:吗|么|没)|过)[?]?$|(?<!别)(?<!不要)(?<!勿)(?<!别忘)忘(?:了|记)提醒|感谢.{0,4}提醒|谢谢.{0,4}提醒|多亏.{0,8}提醒|多谢提醒"
)
_EN_TALE: Final = lazy(
    r"\b(?:he|she|they|it|who|someone|somebody|nobody|everyone|mom|dad|(?:my|the|our) \w+|[a-z]+ing|that|this|which|always|just|already|\w+ (?:just|already|always|kindly)) (?:just |already |always |kindly )?(?:reminded|reminds|woke|wakes|told|pinged|notified|alerted|remind)\b"
    r"|\b(?:did|have|had|has|were|was) (?:you|i|he|she|they|it|anyone)\b[^.?]{0,20}\b(?:remind|reminded|wake|woke|set|told|log|logged|record|add|added|pay|paid|spend|spent)\b|\b(?:he|she|they|it|mom|dad|someone|everyone)(?:'ll| will| would|'d| can| could| should| always| usually)+ (?:always )?(?:remind|wake|tell|notify|text) me\b|\breminded me\b|\breminds me (?:of|that)\b|\bfor reminding\b|\bdid you (?:remind|wake|set|log|record)\b|\b(?:said|says|told|asked|wrote|heard|yelled)\b[^.?]{0,24}\bremind\b"
)


def is_refused(before: str, zh: bool) -> bool:
    """Whether the words right before a cue refuse it. "don't forget to remind me" doesn't."""
    if zh:
        return bool(_ZH_NOT.search(before)) and not _ZH_NOT_FORGET.search(before)
    return bool(_EN_NOT.search(before)) and not _EN_NOT_FORGET.search(before)


def is_conditional(text: str, zh: bool) -> bool:
    """Whether the clause hangs on something that only the future tells. Politeness doesn't count."""
    rule = _ZH_IF if zh else _EN_IF
    found = rule.search(text)
    return found is not None and not _POLITE_IF.search(text)


def is_tale(text: str, zh: bool) -> bool:
    """Whether the clause tells of a reminder (others', or the past's) instead of asking for one."""
    return bool((_ZH_TALE if zh else _EN_TALE).search(text))
