"""Files that are wrong below what libraries can make."""

import io
import struct
import warnings
import zipfile
from collections.abc import Mapping

from tests.documents.made.pdfs import Page, Text, lines, pdf, stream, table, written

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def locked_office() -> bytes:
    """A protected .docx is a compound file with this stream in its directory."""
    return OLE + b"\x00" * 1016 + "EncryptedPackage".encode("utf-16-le") + b"\x00" * 512


def legacy_office() -> bytes:
    return OLE + b"\x00" * 1016 + "WordDocument".encode("utf-16-le") + b"\x00" * 512


def package(members: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as new:
        for name, content in members.items():
            new.writestr(name, content)
    return made.getvalue()


def doubled(data: bytes, member: str) -> bytes:
    """The member a second time: which of the two is shown depends on the program."""
    made = io.BytesIO(data)
    with zipfile.ZipFile(made, "a") as both, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both.writestr(member, b"<other/>")
    return made.getvalue()


def lying_size(data: bytes, member: str) -> bytes:
    """The directory says that the member is 10 bytes long."""
    made = bytearray(data)
    at = made.rindex(member.encode()) - 46  # its entry in the central directory
    assert made[at : at + 4] == b"PK\x01\x02"
    made[at + 24 : at + 28] = struct.pack("<I", 10)
    return bytes(made)


def encrypted_members(data: bytes) -> bytes:
    made = bytearray(data)
    at = 0
    while (at := made.find(b"PK\x01\x02", at)) >= 0:
        made[at + 8] |= 1
        at += 4
    return bytes(made)


def wrapped_table() -> tuple[Text, ...]:
    """A cell that goes on in a second line, closer than rows are."""
    head = table((("名称", "时间", "地点"),), y=700)
    rows = table(
        (
            ("很长的名称", "2026-03-05", "上海"),
            ("总结会", "2026-05-01", "北京"),
            ("复盘会", "2026-04-01", "广州"),
        ),
        y=0,
    )
    placed = [Text(one.x, 670 - 30 * int(-one.y // 18), one.text) for one in rows]
    return (*head, *placed, Text(72, 657, "换了行"))


def page_loop() -> bytes:
    """Pages that are their own parents' children."""
    return written(
        {
            1: b"<< /Type /Catalog /Pages 2 0 R >>",
            2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            3: b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>",
        }
    )


def deep_arrays() -> bytes:
    return written(
        {
            1: b"<< /Type /Catalog /Pages 2 0 R >>",
            2: b"<< /Type /Pages /Count 1 /Kids " + b"[" * 50_000 + b"]" * 50_000 + b" >>",
        }
    )


def external_stream(path: str) -> bytes:
    """A content stream whose data is in another file (`/F`): no reader may fetch it."""
    return written(
        {
            1: b"<< /Type /Catalog /Pages 2 0 R >>",
            2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R >>",
            4: b"<< /Length 0 /F (" + path.encode() + b") >>\nstream\n\nendstream",
        }
    )


def thirty_pages() -> bytes:
    places = ("北京", "上海", "广州")
    return pdf(
        *(
            Page(
                lines(f"第{n}章", size=18)
                + lines(
                    f"名称：活动{n}",
                    f"时间：2026-{(n - 1) % 12 + 1:02d}-10 14:00",
                    f"地点：{places[(n + 1) % 3]}",
                    y=720,
                )
            )
            for n in range(1, 31)
        )
    )


__all__ = ["stream"]
