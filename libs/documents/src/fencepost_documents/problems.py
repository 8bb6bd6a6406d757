"""Every code a document can end or be read with, in words a person can act on, English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# The file as a whole is not read.
REFUSALS: Final[Mapping[str, tuple[str, str]]] = {
    "empty": ("The file is empty.", "文件是空的。"),
    "too_large": (
        "The file is larger than what is read here; split it or take out its pictures.",
        "文件超过可读取的大小；请拆分或去掉图片。",
    ),
    "unsupported_kind": (
        "This kind of file isn't read: give PDF, DOCX, PPTX, XLSX, CSV, Markdown or text.",
        "不支持这种文件：请提供 PDF、DOCX、PPTX、XLSX、CSV、Markdown 或文本。",
    ),
    "legacy_format": (
        "This is the old binary office format; save it as .docx, .xlsx or .pptx.",
        "这是旧的二进制 Office 格式；请另存为 .docx、.xlsx 或 .pptx。",
    ),
    "strict_format": (
        "This is the “Strict Open XML” variant; save it as an ordinary .docx, .xlsx or .pptx.",
        "这是“Strict Open XML”格式；请另存为普通的 .docx、.xlsx 或 .pptx。",
    ),
    "password_protected": (
        "The file is protected by a password; save a copy without one.",
        "文件有密码保护；请另存一份不带密码的副本。",
    ),
    "corrupt": (
        "The file is damaged and can't be opened; export it again.",
        "文件已损坏，无法打开；请重新导出。",
    ),
    "broken_encoding": (
        "A byte of the text doesn't belong to its encoding; save the file again as UTF-8.",
        "文本中有字节不符合编码；请重新保存为 UTF-8。",
    ),
    "unknown_encoding": (
        "The encoding of the text isn't known (tried UTF-8, UTF-16, GB18030, Windows-1252, Shift-JIS, Big5"
        " and EUC-KR); save it as UTF-8.",
        "无法判断文本编码（已尝试 UTF-8、UTF-16、GB18030、Windows-1252、Shift-JIS、Big5、EUC-KR）；"
        "请另存为 UTF-8。",
    ),
    "zip_bomb": (
        "The file would unpack to far more than it should; it is not opened.",
        "文件解压后的大小异常，已拒绝打开。",
    ),
    "zip_unsafe": (
        "The file's package has unsafe or doubled member names; it is not opened.",
        "文件包内含有不安全或重复的成员名，已拒绝打开。",
    ),
    "xml_forbidden": (
        "The file declares XML entities, which office files never do; it is not opened.",
        "文件声明了 XML 实体（正常的 Office 文件不会这样做），已拒绝打开。",
    ),
    "too_expensive": (
        "Reading the file took longer than allowed; split it.",
        "读取文件超过允许的时间；请拆分文件。",
    ),
    "out_of_memory": (
        "Reading the file took more memory than allowed; split it.",
        "读取文件超过允许的内存；请拆分文件。",
    ),
    "reader_failed": (
        "The file made its reader stop; export it again.",
        "文件使读取程序中止；请重新导出。",
    ),
}

# The rest of the document stands.
PROBLEMS: Final[Mapping[str, tuple[str, str]]] = {
    "name_differs": ("the content isn't what the file's name says", "内容与文件扩展名不符"),
    "no_text": ("nothing in it can be read as text", "其中没有可读取的文字"),
    "page_without_text": (
        "a picture without text (a scan?): nothing is read from it",
        "只有图片没有文字（可能是扫描件），未读取内容",
    ),
    "page_unreadable": ("this page can't be read", "此页无法读取"),
    "page_rotated": ("the page is rotated; its text was read upright", "页面经过旋转，已按正向读取"),
    "text_rotated": ("some text is turned; its order may differ", "部分文字方向不同，顺序可能有出入"),
    "characters_unmapped": (
        "the font doesn't say which characters these are",
        "字体未说明字符对应关系，部分文字无法识别",
    ),
    "merged_cells": ("cells are merged; their value counts for each row", "有合并单元格，其值用于每一行"),
    "hidden_sheet": ("the sheet is hidden; it was read", "工作表是隐藏的，已读取"),
    "hidden_rows": ("rows are hidden; they were read", "有隐藏的行，已读取"),
    "hidden_slide": ("the slide is hidden; it was read", "幻灯片是隐藏的，已读取"),
    "hidden_text": ("hidden text was left out", "隐藏文字未读取"),
    "formula_without_value": (
        "the formula was never computed; its text stands instead",
        "公式没有计算结果，以公式原文代替",
    ),
    "chart_sheet": ("a sheet that is only a chart was left out", "仅含图表的工作表未读取"),
    "row_uneven": ("the row has more or fewer cells than the header", "此行单元格数与表头不一致"),
    "quotes_broken": ("its quotes don't match; read without them", "引号不配对，已按无引号读取"),
    "encoding_guessed": (
        "the encoding was guessed; if letters are wrong, save it as UTF-8",
        "文本编码是推测的；如有乱码，请另存为 UTF-8",
    ),
    "replacement_character": (
        "U+FFFD stands in the file: text was lost before it came here",
        "文件中已有替换字符 U+FFFD：文字在此之前就已丢失",
    ),
    "macros_ignored": ("it has macros; they were neither run nor read", "含有宏，未执行也未读取"),
    "scripts_ignored": ("it has scripts; they were neither run nor read", "含有脚本，未执行也未读取"),
    "external_ignored": ("it refers to something outside; that was not fetched", "引用了外部内容，未获取"),
    "embedded_ignored": ("embedded files were not opened", "内嵌的文件未打开"),
    "changes_pending": (
        "tracked deletions were left out, insertions read",
        "修订：删除的未读取，插入的已读取",
    ),
    "diagram_ignored": ("a diagram's text was left out", "图示中的文字未读取"),
    "truncated": ("reading ended here: the document is longer than what is read", "文档过长，读到此处为止"),
}


def explain(code: str, language: str = "en") -> str:
    """A sentence for the code; the code itself where none is known. language: `zh` or anything else."""
    english, chinese = REFUSALS.get(code) or PROBLEMS.get(code) or (code, code)
    return chinese if language.startswith("zh") else english
