"""Which fonts the files name, for both scripts, and how a run of each format is told them."""

from __future__ import annotations

from typing import Any, Final

from .outline import Language

LATIN: Final = "Arial"
EAST_ASIAN: Final = "Microsoft YaHei"  # where it is missing, every system puts its own Chinese font
FONTS: Final = (LATIN, EAST_ASIAN)
_TAGS: Final = {"zh": "zh-CN", "en": "en-US"}


def language_tag(language: Language) -> str:
    """As OOXML writes it."""
    return _TAGS[language]


def set_drawing_fonts(properties: Any) -> None:
    """`a:rPr` or `a:defRPr` (lxml): Latin, East Asian and complex script, in the order the schema wants."""
    from pptx.oxml.ns import qn

    for tag, face in (("a:latin", LATIN), ("a:ea", EAST_ASIAN), ("a:cs", LATIN)):
        for old in properties.findall(qn(tag)):
            properties.remove(old)
        properties.append(properties.makeelement(qn(tag), {"typeface": face}))


def set_word_fonts(properties: Any) -> None:
    """`w:rPr` (lxml) of a run or a style."""
    from docx.oxml.ns import qn

    fonts = properties.get_or_add_rFonts()
    for name in list(fonts.attrib):
        del fonts.attrib[name]
    for name, face in (("ascii", LATIN), ("hAnsi", LATIN), ("cs", LATIN), ("eastAsia", EAST_ASIAN)):
        fonts.set(qn(f"w:{name}"), face)
