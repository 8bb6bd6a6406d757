"""Named SQL: one loader for all statements with a lock, an upsert, a writing CTE or a fence.

A file holds one or more statements, each under its header `-- name --` with Why, Locks, Clock and Result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sqlalchemy import TextClause

_HEADER: Final = re.compile(r"^-- (?P<name>[a-z0-9_]+) --$", re.MULTILINE)


def parse(source: str) -> dict[str, str]:
    """Split a file into its statements by name. Raises ValueError on a name used twice or none at all."""
    found = list(_HEADER.finditer(source))
    if not found:
        raise ValueError("no `-- name --` header")
    statements: dict[str, str] = {}
    for this, following in zip(found, [*found[1:], None], strict=True):
        body = source[this.end() : following.start() if following else None].strip()
        if this["name"] in statements:
            raise ValueError(f"{this['name']} stands twice")
        statements[this["name"]] = body.rstrip(";")
    return statements


@cache
def load_folder(folder: Path) -> Mapping[str, str]:
    """All statements of a folder's `.sql` files, by name; names are unique across its files."""
    statements: dict[str, str] = {}
    for path in sorted(folder.glob("*.sql")):
        for name, body in parse(path.read_text(encoding="utf-8")).items():
            if name in statements:
                raise ValueError(f"{path.name}: {name} stands in another file too")
            statements[name] = body
    return MappingProxyType(statements)


@cache
def statement(name: str) -> TextClause:
    """A statement of this package, ready to execute with `:name` parameters."""
    from sqlalchemy import text  # raw connections use this package without it: a fifth of a second

    return text(load_folder(Path(__file__).parent)[name])


def source(name: str) -> str:
    """The statement's text, for the few that are completed (never with values) before they run."""
    return load_folder(Path(__file__).parent)[name]
