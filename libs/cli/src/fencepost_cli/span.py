"""Spans of time as people give them: 30m, 24h, 7d."""

from __future__ import annotations

import re
from typing import Final

from fencepost_cli.console import Exit, fail

_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def seconds_of(given: str, option: str) -> int:
    """Exits with 2 for what is no span."""
    found = re.fullmatch(r"([1-9][0-9]{0,5})([smhd])", given.strip())
    if not found:
        raise fail(f"{option}: a number and s, m, h or d, such as 24h", Exit.USAGE)
    return int(found[1]) * _SECONDS[found[2]]
