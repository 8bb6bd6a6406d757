"""Text files as programs save them: the same table in many encodings, and with one byte broken."""

import codecs

TABLE = (
    '日期,金额,备注\r\n2026-03-01,128.50,打车\r\n2026-03-02,42,"午餐, 两人\n含饮料"\r\n'
    "2026-03-03,9.9,文具\r\n"
)
OTHERS = (
    ("latin1.txt", "latin-1", "Größe und Übermaß, café à côté"),
    ("cp1252.txt", "cp1252", "He said “hello” – and it’s 5 €."),
    ("sjis.txt", "cp932", "これは日本語の文章です。資料を確認してください。"),
    ("big5.txt", "big5", "這是繁體中文的文件，請確認內容與時間。"),
    ("euckr.txt", "euc_kr", "회의는 내일 아침 아홉 시에 시작합니다."),
)
MARKDOWN = """# 计划

正文有**重点**和[链接](http://evil.test/x)。

- 第一项
- 第二项
  - 子项

| 名称 | 地点 |
|---|---|
| 开工会 | 上海 |
| 复盘会 | 北京 |

<script>alert(1)</script>

![图](http://evil.test/pixel.png)
""".encode()


def ledger(encoding: str) -> bytes:
    """`utf-16` has a mark (little endian), `utf-16-le` has none."""
    if encoding == "utf-16-be-marked":
        return codecs.BOM_UTF16_BE + TABLE.encode("utf-16-be")
    return TABLE.encode(encoding)


def broken(encoding: str) -> bytes:
    """A byte in the middle that its encoding doesn't know."""
    data = bytearray(TABLE.encode(encoding))
    at = data.index("打".encode(encoding)[-2:] if encoding == "utf-16" else "打".encode(encoding))
    if encoding == "utf-16":
        data[at : at + 2] = b"\x00\xd8"  # half of a pair
    else:
        data[at] = 0xFF
    return bytes(data)


def broken_at(encoding: str) -> int:
    return TABLE.encode(encoding).index("打".encode(encoding))
