"""Names in a text, by form: addresses, titles in quotes, people with a title, capitalized words. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

SURNAMES: Final = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎"
    "余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文"
)
_DOUBLE: Final = "欧阳|司马|上官|诸葛|司徒|夏侯|皇甫|令狐|慕容"
_TITLES: Final = (
    "先生|女士|小姐|老师|经理|总监|主任|医生|律师|教授|同学|阿姨|叔叔|师傅|局长|部长|院长|校长"
    "|总(?![是共计额量的之数体结])"
)
_SURNAME: Final = rf"(?:{_DOUBLE}|[{SURNAMES}])"
_TITLED: Final = re.compile(rf"{_SURNAME}[\u4e00-\u9fff]{{0,2}}?(?:{_TITLES})")
# Somebody named by what is done with them, or what they do: the surname and the sign behind it.
_MET: Final = re.compile(
    rf"(?:发给|交给|联系|通知|告诉|提醒|邀请|约见|给|跟|和|与|向|找|约)({_SURNAME}[\u4e00-\u9fff])"
)
_ACTING: Final = re.compile(
    rf"({_SURNAME}[\u4e00-\u9fff]{{1,2}})(?=说|要求|希望|负责|参加|同意|表示|回复|询问)"
)
# Everyday words that begin with a surname's sign, two signs each.
_NO_NAMES: Final = frozenset(
    re.findall(
        "..",
        "方案方式方面方法方向高效高质高度高中高级白天白色文件文档文本文字文章任务任何任意金额金融金钱金色"
        "常用常规万元余额余下时间石油江苏江西史料易用武汉钱款周末周报周会周期周年周边周一周二周三周四周五"
        "周六周日马上程序程度许可许多于是成都田地黄色何时何地谢谢段落顾客顾问雷达汤料",
    )
)
_ADDRESS: Final = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}|https?://[^\s<>\"'，。）)]{1,300}"
)
_QUOTED: Final = re.compile(r"《([^《》\n]{1,60})》|「([^「」\n]{1,60})」|“([^“”\n]{1,60})”")
_WORD: Final = re.compile(r"(?<!\w)[A-Z][A-Za-z0-9'’-]*")
_STARTS: Final = frozenset('.!?:;。！？：；\n[](){}"“”*•>-')
_ENGLISH: Final = frozenset(
    re.findall(
        r"[a-z']+",
        "a an the i i'm i'd i'll i've my me we our you your he she it they their this that these those "
        "there in on at for from to of by with and or but if as when while after before since no not yes "
        "user users assistant asked wants wanted wishes needs need open done all any each every both "
        "also still then now new please summary task tasks request requests reminder reminders note "
        "january february march april may june july august september october november december jan feb "
        "mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday "
        "sunday am pm utc gmt cny usd eur gbp jpy hkd rmb ok ",
    )
)


def names_in(text: str) -> Iterator[tuple[str, bool]]:
    """Each name, case and width folded, and whether it surely is one: a capitalized word that begins a
    sentence may be any word."""
    plain = unicodedata.normalize("NFKC", text)
    for found in _ADDRESS.finditer(plain):
        yield found[0].rstrip(".").casefold(), True
    plain = _ADDRESS.sub(" ", plain)
    for found in _QUOTED.finditer(text):
        yield next(part for part in found.groups() if part).casefold(), True
    for found in _TITLED.finditer(plain):
        yield found[0], True
    for form in (_MET, _ACTING):
        for found in form.finditer(plain):
            if found[1][:2] not in _NO_NAMES:
                yield found[1], True
    for found in _WORD.finditer(plain):
        word = found[0].replace("’", "'").removesuffix("'s").rstrip("'-")
        if word.casefold() not in _ENGLISH:
            before = plain[max(0, found.start() - 8) : found.start()].rstrip(" \t")
            begins = not before or before[-1] in _STARTS
            if not (begins and word.endswith(("ed", "ing", "ly", "tion", "ment"))):
                yield word.casefold(), not begins
