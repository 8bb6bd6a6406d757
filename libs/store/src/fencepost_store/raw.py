"""Named statements for raw psycopg: the group writer's and the heartbeat's connections, outside the pool."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from fencepost_store.sql import source

_PARAMETER: Final = re.compile(r"(?<![:\w]):([a-z_][a-z0-9_]*)")


@cache
def raw(name: str, **completed: str) -> str:
    """The statement with `%(name)s` parameters; `completed` fills its `{places}` (never with values)."""
    text = source(name)
    for place, words in completed.items():
        text = text.replace("{" + place + "}", words)
    text = re.sub(r"--[^\n]*", "", text)  # a colon in a comment is no parameter
    return _PARAMETER.sub(r"%(\1)s", text.replace("%", "%%"))
