"""How a mutant is made: the text of a named statement, the schema of one database, or one function.

Each names what it changes, and refuses to change what isn't there any more: a mutant that no longer applies
must be written anew, since it would pass for caught or survive for no reason.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from unittest import mock

import psycopg
from fencepost_store import raw, record, sql

from tests.support.lives import Lives
from tests.support.postgres import Database

Change = Callable[[Database], AbstractContextManager[None]]


Check = Callable[[Lives], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """`check` passes on the code as it is and fails under `change`."""

    name: str
    change: Change
    check: Check


class Stale(AssertionError):
    """The code no longer has what this mutant changes."""


@dataclass(frozen=True, slots=True)
class Text:
    """`old` -> `new` in a named statement; `old` has to stand there."""

    statement: str
    old: str
    new: str


def _forget() -> None:
    sql.statement.cache_clear()
    record._statement.cache_clear()
    raw.raw.cache_clear()


def texts(*changes: Text) -> Change:
    """The statements of the store with other words in them."""

    @contextmanager
    def changed(_: Database) -> Iterator[None]:
        load = sql.load_folder

        def loaded(folder: Any) -> Mapping[str, str]:
            statements = dict(load(folder))
            for change in changes:
                if change.statement in statements:
                    if change.old not in statements[change.statement]:
                        raise Stale(f"{change.statement} has no {change.old!r}")
                    body = statements[change.statement].replace(change.old, change.new)
                    statements[change.statement] = body
            return MappingProxyType(statements)

        with mock.patch.object(sql, "load_folder", loaded):
            _forget()
            try:
                yield
            finally:
                _forget()

    return changed


def schema(*statements: str) -> Change:
    """The database without a constraint, trigger or index of it."""

    @contextmanager
    def changed(database: Database) -> Iterator[None]:
        with psycopg.connect(database.admin, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)  # type: ignore[arg-type]
        yield

    return changed


def functions(*replaced: tuple[Any, str, Callable[[Any], Any]]) -> Change:
    """(module, name, what makes the mutant of the original): where its callers look it up."""

    @contextmanager
    def changed(_: Database) -> Iterator[None]:
        patches = []
        for module, name, make in replaced:
            if not hasattr(module, name):
                raise Stale(f"{module.__name__} has no {name}")
            patches.append(mock.patch.object(module, name, make(getattr(module, name))))
        for patch in patches:
            patch.start()
        try:
            yield
        finally:
            for patch in reversed(patches):
                patch.stop()

    return changed


def together(*changes: Change) -> Change:
    @contextmanager
    def changed(database: Database) -> Iterator[None]:
        if not changes:
            yield
            return
        with changes[0](database), together(*changes[1:])(database):
            yield

    return changed
