"""One pass over the normal form: tokens of one-character kinds, so that rules are patterns over kinds.

Numbers: n number, o ordinal, h half, k quarter, a "a", # "a few", * "and some", ! minus, ~ short of.
Written: T clock (9:30), L date (2026-03-05).  Days: D relative day, W weekday, V sat/sun/wed, M month name,
U may/march, E weekend, H holiday, l lunar, i 初三, j 正月, X edge of a period (月底), ^ "end of".
Relative: p this/next/last, q relative year, A after, B before, G ago, I in, N within, F from, t to, b by.
Units: u unit, g 个, m 月, d 日, y 年, c 点, f 分, x am/pm or ten-day third, S "half past", P part of day.
Repetition: R every, r every other, Q daily, z times, 4 for, v starting, w until, e except, O excepted.
Money: C currency, K 块, J 毛 and cents.  Rest: Z zone, & and, s glue, @ at, comma, brackets, . all else.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from fencepost_intents import lexicon_zh
from fencepost_intents.literals import IANA, ISO_OFFSET, OFFSET, URL, is_quarter, offset_name, read_written
from fencepost_intents.numbers import (
    EN_ONES,
    EN_ORDINALS,
    EN_SCALES,
    EN_TENS,
    NUMERALS,
    Number,
    read_arabic,
    read_en,
    read_zh,
    zh_run_end,
)
from fencepost_intents.patterns import lazy
from fencepost_intents.spelled import and_a_half, hyphenated, read_half, read_row, read_zh_decimal
from fencepost_intents.tokens import EN_PHRASES, EN_SINGLE, ONE_CHARACTER, ZH, Tokens

_SPACE: Final = lazy(r" +")
_WORD: Final = lazy(r"[a-z]+(?:['.&-](?=[a-z])[a-z]+)*\.?")
_NEXT_LAST: Final = lazy(
    r"(下下下|下下|上上上|上上|下|上|这|本|当|那)(?:一|1)?个?(?=周|星期|礼拜|月(?![亮饼球])|季|年|双休)"
)
_ZH_ORDINAL: Final = lazy(r"第([一二三四五六七八九十]{1,3}|\d{1,3})个?|最后(?:一|1)个?")
_GLUED_UNIT: Final = lazy(r"(?:hrs?|h|mins?|m|secs?|s|d|w)(?![a-z$])")
_UNIT_LETTERS: Final = {"h": "hour", "m": "minute", "s": "second", "d": "day", "w": "week"}
_HOUR_DIGITS: Final = frozenset("0123456789一二两三四五六七八九十")
_AFTER_PASSING: Final = NUMERALS | frozenset("0123456789半几个")
_MONEY_UNITS: Final = frozenset("块元美欧英日港台")


def lex(norm: str) -> Tokens:
    """All tokens of a normal form, in one pass; time linear in its length."""
    return _Lexer(norm).run()


class _Lexer:
    __slots__ = ("at", "ends", "kinds", "norm", "starts", "values")

    def __init__(self, norm: str) -> None:
        self.norm, self.at = norm, 0
        self.kinds: list[str] = []
        self.values: list[Any] = []
        self.starts: list[int] = []
        self.ends: list[int] = []

    def run(self) -> Tokens:
        norm, size = self.norm, len(self.norm)
        while self.at < size:
            char = norm[self.at]
            if char == " ":
                found = _SPACE.match(norm, self.at)
                self.at = found.end() if found else self.at + 1
            elif "a" <= char <= "z":
                self._latin()
            elif "0" <= char <= "9":
                self._digits()
            elif char in ZH or char in lexicon_zh.NEXT_LAST or char in "多余早晚":
                self._han(char)
            elif char in NUMERALS:
                self._numeral()
            elif char in EN_SINGLE:
                kind, value = EN_SINGLE[char]
                self._put(kind, value, self.at + 1)
            elif char in ",;":
                self._put(",", None, self.at + 1)
            elif char in "()":
                self._put(char, None, self.at + 1)
            else:
                self._other()
        return Tokens("".join(self.kinds), self.values, self.starts, self.ends)

    def _put(self, kind: str, value: Any, end: int) -> None:
        if kind == "n2":
            kind, value = "n", Number(Decimal(value), False, 6)
        self.kinds.append(ONE_CHARACTER.get(kind, kind) if len(kind) > 1 else kind)
        self.values.append(value)
        self.starts.append(self.at)
        self.ends.append(end)
        self.at = end

    def _other(self) -> None:
        # Runs of unknown characters are one token, so that a pattern never sees through them.
        if self.kinds and self.kinds[-1] == "." and self.ends[-1] == self.at and self.values[-1] is None:
            self.ends[-1] = self.at = self.at + 1
        else:
            self._put(".", None, self.at + 1)

    def _latin(self) -> None:
        norm, at = self.norm, self.at
        found = _WORD.match(norm, at)
        end = found.end() if found else at + 1
        word = norm[at:end]
        if "/" in norm[end : end + 1] and (zone := IANA.match(norm, at)):
            return self._put("Z", zone.group(), zone.end())
        if word.startswith(("utc", "gmt")) and (offset := OFFSET.match(norm, at)):
            return self._put("Z", offset_name(offset), offset.end())
        if norm[end : end + 1] == "@" and (link := URL.match(norm, at)):
            return self._put(".", "mail", link.end())
        if word.startswith("http") and (link := URL.match(norm, at)):
            return self._put(".", "url", link.end())
        for phrase, entry in EN_PHRASES.get(word, ()):
            stop = at + len(phrase)
            if norm.startswith(phrase, at) and not norm[stop : stop + 1].isalnum():
                return self._put(entry[0], entry[1], stop)
        if word.endswith(".") and word not in EN_SINGLE:
            word, end = word[:-1], end - 1
        entry = EN_SINGLE.get(word)
        if norm[end : end + 1] == "$" and word + "$" in EN_SINGLE:
            entry, end = EN_SINGLE[word + "$"], end + 1  # A$30: the letter is no article
            return self._put(entry[0], entry[1], end)
        if word.startswith("mid-") and len(word) > 4:
            return self._put("^", "middle", at + 4)  # mid-March
        if word == "half" and (half := read_half(norm, at)):
            return self._put("n", *half)
        return self._word(word, end, entry)

    def _word(self, word: str, end: int, entry: Any) -> None:
        if word in EN_ONES or word in EN_TENS:
            found = read_en(self.norm, word, end)
            if found is not None:
                # "twenty fifth" is an ordinal.
                rest = _WORD.match(self.norm, found[1] + 1)
                if rest and found[0] in (20, 30) and EN_ORDINALS.get(rest.group(), 10) < 10:
                    return self._put("o", int(found[0]) + EN_ORDINALS[rest.group()], rest.end())
                value, stop = and_a_half(self.norm, *found)
                return self._put("n", Number(value, False, len(word)), stop)
        if word in ("a", "an") and (scale := _WORD.match(self.norm, end + 1)) and scale.group() in EN_SCALES:
            found = read_en(self.norm, "one", end)
            if found is not None:
                return self._put("n", Number(found[0], False, 9), found[1])
        if "-" in word and (joined := hyphenated(self.norm, word, self.at)):
            return self._put(*joined)
        if word == "q" and is_quarter(self.norm, end):
            return self._put("L", ("named_quarter", int(self.norm[end])), end + 1)
        if word in EN_ORDINALS and not (word == "second" and self.kinds[-1:] in (["n"], ["a"])):
            return self._put("o", EN_ORDINALS[word], end)
        if entry is None and word.endswith("'s"):
            entry = EN_SINGLE.get(word[:-2])
        if entry is None:
            return self._put(".", word, end)
        return self._put(entry[0], entry[1], end)

    def _digits(self) -> None:
        norm, at = self.norm, self.at
        if (row := read_row(norm, at, self.kinds)) is not None:
            return self._put(*row)
        if (written := read_written(norm, at)) is not None:
            self._put(*written)
            return self._iso_offset()
        end = zh_run_end(norm, at)
        number = read_arabic(norm, at)
        if (
            number is not None
            and end > number[1]
            and norm[number[1]] not in ",."
            and (mixed := read_zh(norm[at:end]))
        ):
            return self._put("n", mixed, end)
        if number is None:
            return self._put(".", None, at + 1)
        return self._scaled(*number)

    def _iso_offset(self) -> None:
        """The Z or +08:00 of an instant written in full."""
        if self.kinds[-2:] == ["L", "T"] and (found := ISO_OFFSET.match(self.norm, self.at)):
            sign, hours, minutes = found.group(2), found.group(3), found.group(4)
            self._put("Z", f"UTC{sign}{hours}:{minutes}" if sign else "UTC", found.end())

    def _scaled(self, number: Number, end: int) -> None:
        """`12.5k`, `3m` after a currency, `2 million`."""
        norm = self.norm
        after_money = bool(self.kinds) and self.kinds[-1] == "C"
        tail = _WORD.match(norm, end)
        scale = 1
        if tail and (
            tail.group() in ("k", "w") or (tail.group() in ("m", "mn", "mm", "bn", "b") and after_money)
        ):
            scale, end = (
                {"k": 10**3, "w": 10**4, "b": 10**9, "bn": 10**9}.get(tail.group(), 10**6),
                tail.end(),
            )
        elif (
            (word := _WORD.match(norm, end + 1)) and norm[end : end + 1] == " " and word.group() in EN_SCALES
        ):
            scale, end = EN_SCALES[word.group()], word.end()
        if scale == 1:
            self._put("n", number, end)
            if glued := _GLUED_UNIT.match(norm, end):
                self._put("u", _UNIT_LETTERS[glued.group()[0]], glued.end())
            return None
        return self._put("n", Number(number.value * scale, True, end - self.at), end)

    def _numeral(self) -> None:
        norm, at = self.norm, self.at
        if (decimal := read_zh_decimal(norm, at)) is not None:
            return self._put("n", *decimal)
        end = zh_run_end(norm, at)
        number = read_zh(norm[at:end])
        if number is None:
            if norm.startswith(("百八十", "千八百", "万八千"), at):
                return self._put("#", "vague", at + 3)  # 百八十块: about a hundred
            return self._put(".", None, max(end, at + 1))
        return self._put("n", number, end)

    def _han(self, char: str) -> None:
        norm, at = self.norm, self.at
        if char == "上" and norm[at - 1 : at] in lexicon_zh.ADDED_ON and at:
            return self._other()  # 加上周五的聚会
        if char in lexicon_zh.NEXT_LAST and (found := _NEXT_LAST.match(norm, at)):
            word = found.group(1)
            return self._put("p", lexicon_zh.NEXT_LAST[word[0]] * len(word), found.end())
        if char in "第最" and (found := _ZH_ORDINAL.match(norm, at)):
            said = found.group(1)
            number = read_zh(said) if said and not said.isdigit() else None
            if said and not said.isdigit() and number is None:
                return self._other()
            value = -1 if said is None else int(number.value) if number else int(said)
            return self._put("o", value, found.end())
        if (
            char in "早晚"
            and norm[at + 1 : at + 2] in _HOUR_DIGITS
            and norm[at + 1 : at + 3] not in ("一点", "一些", "一步")
        ):
            return self._put("P", "morning" if char == "早" else "evening", at + 1)
        if (
            char == "晚"
            and self.kinds[-1:] in (["W"], ["D"])
            and self.ends[-1] == at
            and norm[at + 1 : at + 2] not in lexicon_zh.AFTER_LATE
        ):
            return self._put("P", "evening", at + 1)  # 周五晚
        if char in "多来余" and self.kinds[-1:] == ["n"] and norm[at + 1 : at + 2] in _MONEY_UNITS:
            return self._put("*", None, at + 1)
        for word, entry in ZH.get(char, ()):
            if norm.startswith(word, at):
                return self._zh_word(word, entry)
        return self._numeral() if char in NUMERALS else self._other()

    def _zh_word(self, word: str, entry: tuple[str, Any]) -> None:
        norm, at = self.norm, self.at
        kind, value = entry
        end = at + len(word) - (word == "半钟" and norm.startswith("头", at + 2))
        following = norm[end : end + 1] or " "
        tails = lexicon_zh.WEEKDAY_TAILS.get(word[-1], ()) if kind == "W" else ()
        weather = norm.startswith("天气", end) and word[-1] not in "天日"
        if tails and norm.startswith(tails, end) and not weather:
            return self._put("u", "week", end - 1)
        if kind == "." and self._is_unit(word):
            # 十点二十分开会: behind a number it is the unit, not the head of 分开.
            return self._put(*lexicon_zh.WORDS[word[0]], at + 1)
        if word in ("月中", "月") or (kind == "Q" and len(word) > 2 and word[0] == "隔"):
            kind, value, end = self._month_or_other_week(word, entry, end, following)
            return self._put(kind, value, end)
        if kind == "X" and word[-1] == "初" and following in lexicon_zh.LUNAR_DAYS:
            return self._put("m", None, end - 1)  # 八月初三 is 月 + 初三
        if kind == "H" and word[0] in NUMERALS and following in "点号月块元个":
            return self._numeral()
        if self._joins_nothing(word, kind, following):
            return self._other()
        return self._put(kind, value, end)

    def _is_unit(self, word: str) -> bool:
        behind_number = self.kinds[-1:] == ["n"] and self.ends[-1] == self.at
        return behind_number and word != "年代" and word[0] in lexicon_zh.UNITS_OF_TIME

    def _month_or_other_week(
        self, word: str, entry: tuple[str, Any], end: int, following: str
    ) -> tuple[str, Any, int]:
        if word == "月中" and following == "旬":
            return "m", None, end - 1
        if word[0] == "隔" and following in "次遍回起定直般样":
            return "Q", ("WEEKLY", 2, None), end - 1  # 隔周一次
        if word == "月" and self.norm[self.at - 1 : self.at] in ("两", "俩") and self.kinds[-1:] == ["n"]:
            self._put("g", None, self.at)  # 两月 is two months, no February
        return *entry, end

    def _joins_nothing(self, word: str, kind: str, following: str) -> bool:
        """过 leads a length only before a number, 又 joins only 两元又三分; 三号楼 is no day."""
        if word == "又":
            return not (self.kinds[-1:] in (["C"], ["K"]) and following in NUMERALS)
        if word == "号":
            return following in lexicon_zh.NUMBERED
        return kind == "I" and following not in _AFTER_PASSING
