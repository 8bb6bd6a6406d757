"""The time zone of this machine, as an IANA name, for runs started at its terminal."""

from __future__ import annotations

import os
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


def local_zone() -> str | None:
    """TZ, else where /etc/localtime points; None when neither names a zone (the run asks then)."""
    for name in (os.environ.get("TZ", "").lstrip(":"), _from_link()):
        if name:
            try:
                return ZoneInfo(name).key
            except (ZoneInfoNotFoundError, ValueError):
                continue
    return None


def _from_link() -> str:
    try:
        target = str(Path("/etc/localtime").resolve())
    except OSError:
        return ""
    return target.partition("zoneinfo/")[2]
