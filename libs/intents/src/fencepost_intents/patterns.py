"""Regular expressions compiled at first use: compiling all of them at import would take a quarter of a
second.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _Lazy:
    """Stands for a compiled pattern; turns into one at its first use and costs nothing after."""

    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self._source, self._flags)
        for method in ("search", "match", "finditer", "findall", "sub", "groups"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazy(source: str, flags: int = 0) -> re.Pattern[str]:
    """Like `re.compile`, later. A bad pattern raises `re.error` at its first use (a test uses them all)."""
    return cast("re.Pattern[str]", _Lazy(source, flags))
