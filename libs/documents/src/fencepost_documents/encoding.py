"""Bytes to text, as people have them: never with replacement, and a broken byte is named by its position.

Order: a byte order mark; strict UTF-8; UTF-16 without a mark, known by its zero bytes; GB18030 (Chinese
Excel). GB18030 decodes nearly anything, so its text is taken only when it looks like Chinese: a UTF-8 file
with one broken byte, Latin-1 or Shift-JIS would otherwise come out as other people's characters. What is left
is guessed among the encodings of old Windows programs (charset-normalizer), and the guess is said.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

from fencepost_documents.errors import DocumentRefused

MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark starts with the same two bytes
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
GUESSED: Final = ("cp1252", "cp932", "big5", "euc_kr")  # Western Europe, Japan, Taiwan and Hong Kong, Korea
MOST_CHAOS: Final = 0.05  # of charset-normalizer's measure; text in its own encoding has 0 to 0.03
# Polish or Czech read as Western: signs that stand within words (`£ukasz`, `Pawe³`).
_NOT_WESTERN: Final = re.compile(r"[£¯³¹¶¼¾¥][a-zß-ÿ]|[a-zß-ÿ][£¯¹¶¼¾¥]|[a-z]{3}³")
LOOKED_AT: Final = 65_536  # bytes that an encoding is guessed from
# The syllables that Korean is most made of; read as GB18030 they are rare characters.
COMMON_HANGUL: Final = frozenset("이다는의에가을고로하지사은를한도서기인시어라자나리해대수정원주부일아스제보")
COMMON_HANGUL_SHARE: Final = 0.25  # real text has over 0.4, lists of names a little more than this
FEWEST: Final = 6  # characters that tell; of two or three, Chinese ones may be such too
COMMON_SHARE: Final = 0.7  # of characters in GB 2312's symbols and first level; real text has over 0.9


def decode(data: bytes) -> tuple[str, str]:
    """The text without its mark, and the encoding. Raises DocumentRefused broken_ or unknown_encoding."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _strictly(data[len(mark) :], encoding, len(mark)), encoding
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        first = error
    if wide := _wide(data):
        return _strictly(data, wide, 0), wide
    if _mostly_utf8(data):
        raise _broken(data, "utf-8", first.start)
    if _looks_chinese(data) and not _looks_korean(data):
        return _strictly(data, "gb18030", 0), "gb18030"
    guessed = _guessed(data)
    if guessed is None:
        raise DocumentRefused(
            "unknown_encoding", f"byte 0x{data[first.start]:02x} is not UTF-8", _place(data, first.start)
        )
    return _strictly(data, guessed, 0), guessed


def is_guess(encoding: str) -> bool:
    """Whether `decode` took the encoding because it looks right, and not because nothing else fits."""
    return encoding in GUESSED


def _guessed(data: bytes) -> str | None:
    """Which of GUESSED the bytes look like; None when none of them makes text of it."""
    from charset_normalizer import from_bytes  # only these few files pay for its tables

    best = from_bytes(
        data[:LOOKED_AT], cp_isolation=list(GUESSED), threshold=MOST_CHAOS, enable_fallback=False
    ).best()
    if best is None:
        return None
    wrong = best.encoding == "cp1252" and _NOT_WESTERN.search(str(best))
    return None if wrong else best.encoding


def _strictly(data: bytes, encoding: str, skipped: int) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise _broken(data, encoding, error.start, skipped) from None


def _broken(data: bytes, encoding: str, start: int, skipped: int = 0) -> DocumentRefused:
    detail = f"byte 0x{data[start]:02x} is not {encoding.upper()}"
    return DocumentRefused("broken_encoding", detail, _place(data, start, skipped))


def _place(data: bytes, start: int, skipped: int = 0) -> str:
    """`byte 1042, line 7`: the byte counts from 0 as tools show it, the line from 1."""
    return f"byte {start + skipped}, line {data.count(bytes([10]), 0, start) + 1}"


def _wide(data: bytes) -> str | None:
    """UTF-16 without a mark: ASCII in it leaves a zero in every other byte."""
    head = data[:LOOKED_AT]
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if even + odd < len(head) // 20:
        return None
    return "utf-16-le" if odd > 4 * even else "utf-16-be" if even > 4 * odd else None


def _mostly_utf8(data: bytes) -> bool:
    """More whole multi-byte characters than bytes that are none: UTF-8 with damage, not another encoding."""
    text = data[:LOOKED_AT].decode("utf-8", errors="surrogateescape")
    broken = sum(1 for c in text if "\udc80" <= c <= "\udcff")
    whole = sum(1 for c in text if ord(c) > 0x7F) - broken
    return whole > 2 * broken


def _looks_chinese(data: bytes) -> bool:
    """Walks two-byte characters; most of a Chinese text lies in GB 2312's symbols and first level."""
    head, at, seen, common = data[:LOOKED_AT], 0, 0, 0
    while at + 1 < len(head):
        if head[at] < 0x80:
            at += 1
            continue
        seen += 1
        common += 0xA1 <= head[at] <= 0xD7 and head[at + 1] >= 0xA1
        at += 2
    return seen > 0 and common >= COMMON_SHARE * seen


def _looks_korean(data: bytes) -> bool:
    """EUC-KR's Hangul lies where GB 2312 has its first level, so both decode: common syllables tell."""
    text = data[:LOOKED_AT].decode("euc_kr", errors="ignore")
    wide = [char for char in text if char > "\u00ff"]
    hangul = sum("\uac00" <= char <= "\ud7a3" for char in wide)
    common = sum(char in COMMON_HANGUL for char in wide)
    return len(wide) >= FEWEST and hangul >= 0.95 * len(wide) and common >= COMMON_HANGUL_SHARE * len(wide)
