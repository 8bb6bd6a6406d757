"""What every command shares: output as lines or JSON, exit codes, errors in one sentence.

Exit codes (design 05): 0 done, also for a rejection that was asked for; 1 failed, blocked or expired;
2 usage; 3 the service is unreachable; 4 waits on a person.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from functools import wraps
from typing import Annotated, Any, Final, ParamSpec

import typer

P = ParamSpec("P")
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


class Exit(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    WAITS = 4


ENDED_BADLY: Final = frozenset({"failed", "blocked", "expired"})


def at_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def say(line: str = "") -> None:
    """A line on stdout. A pipe gets plain text."""
    typer.echo(line)


def warn(line: str) -> None:
    typer.echo(line, err=True)


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, default=str))


def fail(line: str, code: Exit = Exit.FAILED) -> typer.Exit:
    """Say why on stderr; raise what it returns."""
    typer.secho(line, fg="red", err=True)
    return typer.Exit(int(code))


@contextmanager
def told_errors() -> Iterator[None]:
    """Turn what the SDK raises into one sentence and an exit code."""
    from fencepost.errors import ApiError, Unreachable
    from fencepost.profile import NoProfile

    try:
        yield
    except Unreachable as error:
        raise fail(f"{error}. Is it up? Try: fencepost up", Exit.UNREACHABLE) from None
    except NoProfile as error:
        raise fail(f"{error}", Exit.UNREACHABLE) from None
    except ApiError as error:
        pointed = "; ".join(
            ": ".join(filter(None, (e.get("pointer") or e.get("parameter"), e.get("detail"))))
            for e in error.errors
        )
        usage = error.status in (400, 404, 422)
        line = f"{error.detail} ({error.code}){': ' + pointed if pointed else ''}"
        raise fail(line, Exit.USAGE if usage else Exit.FAILED) from None
    except TimeoutError as error:
        raise fail(str(error)) from None


def command(function: Callable[P, None]) -> Callable[P, None]:
    """A command whose SDK errors are told in a sentence."""

    @wraps(function)
    def told(*args: P.args, **kwargs: P.kwargs) -> None:
        with told_errors():
            function(*args, **kwargs)

    return told


def table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], empty: str) -> None:
    """Rows as a table at a terminal, as tab-separated lines in a pipe. columns: member -> heading."""
    if not rows:
        say(empty)
        return
    cells = [["" if row.get(c) is None else str(row.get(c)) for c in columns] for row in rows]
    if not sys.stdout.isatty():
        for line in cells:
            say("\t".join(line))
        return
    from rich.console import Console
    from rich.table import Table

    made = Table(*columns.values(), box=None, pad_edge=False)
    for line in cells:
        made.add_row(*line)
    Console().print(made)
