"""Ids as people give them: whole, by a unique ending, or `@last`."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from fencepost.client import Client

from fencepost_cli.console import Exit, fail

LAST: Final = "@last"
SEARCHED: Final = 200  # the newest runs; older ones need their whole id


def run_id(client: Client, given: str) -> str:
    """The run that `given` names. Exits with 2 when none or several fit."""
    if given == LAST:
        newest = client.runs.list(limit=1).items
        if not newest:
            raise fail("there is no run yet", Exit.USAGE)
        return str(newest[0]["id"])
    try:
        return str(UUID(given))
    except ValueError:
        pass
    ending = given.removeprefix("…").lower()
    found = (
        [r["id"] for r in client.runs.list(limit=SEARCHED).items if r["id"].endswith(ending)]
        if ending
        else []
    )
    if len(found) == 1:
        return str(found[0])
    why = (
        f"{len(found)} runs end in it; give more of it"
        if found
        else f"none of the newest {SEARCHED} ends in it"
    )
    raise fail(f"no run is named {given!r}: {why}", Exit.USAGE)


def by_ending(given: str, known: list[str], thing: str) -> str:
    """The one of `known` that is `given` or ends in it. Exits with 2 otherwise."""
    ending = given.removeprefix("…").lower()
    found = [one for one in known if one.endswith(ending)] if ending else []
    if len(found) != 1:
        why = f"{len(found)} end in it; give more of it" if found else "there is none to be seen"
        raise fail(f"no {thing} is named {given!r}: {why}", Exit.USAGE)
    return found[0]


def short(whole: str) -> str:
    """The ending shown in lists: unique among recent runs, since ids begin with the time."""
    return whole[-8:]
