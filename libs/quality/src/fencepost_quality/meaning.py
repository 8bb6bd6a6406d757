"""What two texts may differ in although they look alike: amounts, times, names, a no (design 08 §3).

Measured there: `转账100元` and `转账1000元` are 95 % alike, `call mom` and `call Tom` too, a paraphrase 83 %.
So what is compared first is what they say; only texts that say the same are near repeats.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from rapidfuzz import fuzz

NEAR: Final = 85.0  # of 100; below it two texts are two texts
NEAR_LONG: Final = 80.0  # two texts as long as LONG that agree in every fact are a paraphrase below NEAR too
LONG: Final = 24  # characters, of the shorter one
SHORTEST: Final = 10  # characters worth comparing: `好的。` may be said twice

# Not the list of `person_names`: here a name that is none only makes two texts differ, so nothing is left out
# for an everyday word that begins with it; and the commonest stand first, since 28 count without a title.
_SURNAMES: Final = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢"
    "姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
)
_TITLES: Final = "总|经理|老师|先生|女士|主任|博士|教授|工|姐|哥"
_COUNTED: Final = "点时分刻号日月年元块毛角人个份页天周次楼室折成岁件台吨"
_NUMBERS: Final = re.compile(r"\d+(?:[.,:/-]\d+)*%?")
_NUMERALS: Final = re.compile(f"[零〇一二两三四五六七八九十百千万亿半]+(?=[{_COUNTED}])")
_ZH_TIMES: Final = re.compile(
    "今天|明天|后天|昨天|前天|今早|明早|今晚|明晚|上午|中午|下午|晚上|凌晨"
    "|[上下本这]?周[一二三四五六日天末]|星期[一二三四五六日天]|[上下本这]个?月"
)
_EN_TIMES: Final = re.compile(
    r"\b(?:today|tomorrow|yesterday|tonight|noon|morning|afternoon|evening|am|pm)\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:jan|febr)uary\b"
    r"|\b(?:march|april|may|june|july|august)\b|\b(?:septem|octo|novem|decem)ber\b",
    re.IGNORECASE,
)
_ZH_NO: Final = re.compile("不(?![仅但只过])|没|无|未|别(?!人|的)|勿|取消|拒绝")
_EN_NO: Final = re.compile(
    r"\b(?:not|no|never|none|without|neither|nor|cancel\w*|declin\w+|reject\w*)\b|n['’]t\b", re.IGNORECASE
)
_EN_NAMES: Final = re.compile(r"(?<![.!?] )(?<!^)(?<!\n)\b[A-Z][\w'’-]+")
_ZH_NAMES: Final = re.compile(
    f"[{_SURNAMES}][\u4e00-\u9fff]{{0,2}}?(?:{_TITLES})|(?<=[给请找和与跟由向叫])[{_SURNAMES[:28]}][\u4e00-\u9fff]{{1,2}}"
)
_SIGNS: Final = re.compile(r"[\s\W_]+", re.UNICODE)


def folded(text: str) -> str:
    """A text without what doesn't change what it says: case, width, spaces, punctuation."""
    return _SIGNS.sub("", unicodedata.normalize("NFKC", text).casefold())


def facts(text: str) -> tuple[tuple[str, ...], ...]:
    """Numbers, times, names and how often it says no, each sorted."""
    plain = unicodedata.normalize("NFKC", text).strip()
    numbers = [found.replace(",", "") for found in _NUMBERS.findall(plain)] + _NUMERALS.findall(plain)
    times = [found.casefold() for found in _ZH_TIMES.findall(plain) + _EN_TIMES.findall(plain)]
    names = [found.casefold() for found in _ZH_NAMES.findall(plain) + _EN_NAMES.findall(plain)]
    denials = ["no"] * (len(_ZH_NO.findall(plain)) + len(_EN_NO.findall(plain)))
    return tuple(tuple(sorted(kind)) for kind in (numbers, times, names, denials))


def nearly_the_same(one: str, other: str) -> float | None:
    """How alike two texts are (0 to 100) that say the same; None where they don't, or are too short.

    Words in another order count as the same in Latin script, where they are words.
    """
    a, b = folded(one), folded(other)
    if min(len(a), len(b)) < SHORTEST or facts(one) != facts(other):
        return None
    at_least = NEAR_LONG if min(len(a), len(b)) >= LONG else NEAR
    alike = max(fuzz.ratio(a, b), _reordered(one, other))
    return alike if alike >= at_least else None


def _reordered(one: str, other: str) -> float:
    if " " not in one.strip() or " " not in other.strip():
        return 0.0
    return float(fuzz.token_sort_ratio(one.casefold(), other.casefold()))
