"""The same outline gives the same bytes: a package with fixed times, in the order it was written."""

from __future__ import annotations

import io
import re
import zipfile
from datetime import UTC, datetime
from typing import Final

_DOS_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_STAMP: Final = re.compile(rb"(<dcterms:(created|modified)[^>]*>)[^<]*(</dcterms:)")


def normalise(package: bytes, made_at: datetime) -> bytes:
    """`package` (OOXML) with `made_at` wherever a library wrote the clock: zip entries, core properties, and
    the workbooks embedded behind charts.
    """
    stamp = made_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").encode()
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(package)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("docProps/core.xml"):
                data = _STAMP.sub(rb"\g<1>" + stamp + rb"\g<3>", data)
            elif name.endswith(".xlsx"):
                data = normalise(data, made_at)
            entry = zipfile.ZipInfo(name, date_time=_DOS_EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o600 << 16
            new.writestr(entry, data)
    return out.getvalue()
