"""Names that a person may be shown, and contents that may pretend to be what they say (case FI-1)."""

from __future__ import annotations

import pytest
from fencepost_domain.artifact import (
    LONGEST_BYTES,
    LONGEST_NAME,
    MEDIA_TYPES,
    NAMELESS,
    contradicts,
    media_type_of,
    safe_name,
    understood_type,
)

NAMES = [
    ("报告-三月.pptx", "报告-三月.pptx"),
    ("a\r\nSet-Cookie: x", "aSet-Cookie_ x"),
    ("../../etc/passwd", "passwd"),
    ("..%2f..%2fx", "%2f.%2fx"),
    ("/etc/x", "x"),
    ("C:\\Users\\me\\plan.xlsx", "plan.xlsx"),
    ("", NAMELESS),
    ("...", NAMELESS),
    ("/", NAMELESS),
    ("..", NAMELESS),
    (" . ", NAMELESS),
    ("invoice\u202efdp.exe", "invoicefdp.exe"),
    ("a\u200bb\ufeffc.txt", "abc.txt"),
    ("a\u2028b.txt", "a b.txt"),
    ("a\x00b.txt", "ab.txt"),
    ("half\ud800.txt", "half.txt"),
    ("CON", "_CON"),
    ("nul.txt", "_nul.txt"),
    ("Com1.pdf", "_Com1.pdf"),
    ("console.txt", "console.txt"),
    (".htaccess", "htaccess"),
    ("name.txt. . ", "name.txt"),
    ('a<b>c:d"e|f?g*h.txt', "a_b_c_d_e_f_g_h.txt"),
    ("e\u0301.txt", "\u00e9.txt"),
    ("  many   spaces\t.txt ", "many spaces.txt"),
    ("\u3000全角\u3000.txt", "全角.txt"),
]


@pytest.mark.parametrize(("given", "shown"), NAMES)
def test_a_name_is_cleaned_of_what_could_be_something_else(given: str, shown: str) -> None:
    assert safe_name(given) == shown
    assert safe_name(shown) == shown, "cleaning again changes nothing"


@pytest.mark.parametrize(
    "given", ["报" * 300 + ".pptx", "a" * 500, "x." * 200, "😀" * 100 + ".pdf", "a." + "b" * 300]
)
def test_a_long_name_is_cut_before_its_suffix(given: str) -> None:
    name = safe_name(given)
    assert 0 < len(name) <= LONGEST_NAME and len(name.encode()) <= LONGEST_BYTES
    suffix = given.rpartition(".")[2]
    assert len(suffix) > 16 or "." not in given or name.endswith("." + suffix) or not suffix


@pytest.mark.parametrize(
    ("media_type", "start", "wrong"),
    [
        ("application/pdf", b"%PDF-1.7", False), ("application/pdf", b"MZ\x90", True),
        ("image/png", b"GIF89a", True),
        ("text/plain", "日期,金额".encode("utf-16"), False), ("text/csv", b"PK\x03\x04", True),
        ("text/plain", b"\x7fELF", True), ("application/json", b"{}", False),
    ],
)  # fmt: skip
def test_bytes_that_begin_as_something_else_are_told(media_type: str, start: bytes, wrong: bool) -> None:
    assert contradicts(media_type, start) is wrong


@pytest.mark.parametrize(
    ("claimed", "name", "meant"),
    [
        ("application/vnd.ms-excel", "账.csv", "text/csv"), ("", "a.MD", "text/markdown"),
        ("application/octet-stream", "报告.docx", media_type_of("x.docx")),
        ("application/vnd.ms-word.document.macroEnabled.12", "a.docm", media_type_of("x.docx")),
        ("text/csv; charset=gbk", "a.pdf", "text/csv"), ("application/pdf", "a.csv", "application/pdf"),
        ("application/octet-stream", "a.exe", "application/octet-stream"),
        ("application/zip", "zip", "application/zip"), ("text/html", "a.txt", "text/html"),
    ],
)  # fmt: skip
def test_a_vague_type_gives_way_to_the_suffix_and_a_clear_one_does_not(
    claimed: str, name: str, meant: str
) -> None:
    assert understood_type(claimed, name) == meant


def test_every_suffix_has_a_type_that_is_taken() -> None:
    names = ["a.txt", "a.csv", "a.md", "a.pdf", "a.docx", "a.xlsx", "a.pptx", "a.XLSM", "a.jpeg", "a.json"]
    assert {media_type_of(name) for name in names} <= set(MEDIA_TYPES)
    assert media_type_of("a.exe") is None and media_type_of("docx") is None
