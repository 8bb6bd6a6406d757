"""`grants`, `approvals`, `link`: what is remembered, what waits for me, and a link to decide by."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer
from fencepost.client import Client

from fencepost_cli import render
from fencepost_cli.approvals import interrupt_of
from fencepost_cli.console import Exit, Json, command, fail, print_json, say, table
from fencepost_cli.ids import by_ending, short
from fencepost_cli.span import seconds_of

COLUMNS: Final = {
    "short": "ID",
    "status": "STATUS",
    "tool": "TOOL",
    "user_id": "FOR",
    "granted_by": "BY",
    "left": "USES",
    "condition": "IF",
    "expires_at": "UNTIL",
}


@command
def grants(
    grant: Annotated[str | None, typer.Argument(metavar="[GRANT]", help="An id, or its ending.")] = None,
    revoke: Annotated[bool, typer.Option("--revoke", help="End it for good.")] = False,
    tool: Annotated[str | None, typer.Option(help="Only of this tool.")] = None,
    as_json: Json = False,
) -> None:
    """Approvals that are remembered: list them, look at one, revoke one."""
    with Client() as client:
        if grant is None:
            if revoke:
                raise fail("which one? fencepost grants GRANT --revoke", Exit.USAGE)
            rows = client.grants.list(limit=100, tool=tool).items
            _list([dict(row) for row in rows], as_json=as_json)
            return
        whole = by_ending(grant, [str(row["id"]) for row in client.grants.list(limit=200).items], "grant")
        found = dict(client.grants.revoke(whole) if revoke else client.grants.get(whole))
    if as_json:
        print_json(found)
        return
    for line in _lines(found):
        say(line)


def _list(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json({"items": rows})
        return
    for row in rows:
        row["short"], row["left"] = short(str(row["id"])), _uses(row)
        row["status"] = row["ended_reason"] or row["status"]
    table(rows, COLUMNS, "nothing is remembered")


def _uses(row: dict[str, Any]) -> str:
    return f"{row['uses']} of {row['max_uses']}" if row["max_uses"] else str(row["uses"])


def _lines(row: dict[str, Any]) -> list[str]:
    ended = f" ({row['ended_reason']})" if row["ended_reason"] else ""
    lines = [
        f"grant      {row['id']}",
        f"status     {row['status']}{ended}",
        f"tool       {row['tool']}, risk {row['risk']}",
        f"for        {row['user_id']}, by {row['granted_by']}",
        f"if         {row['condition'] or '(any arguments)'}",
        f"uses       {_uses(row)}, until {row['expires_at']}",
    ]
    return [
        *lines,
        *(f"used       {u['used_at']}  run {u['run_id']}  action {u['index']}" for u in row["recent"] or []),
    ]


@command
def approvals(as_json: Json = False) -> None:
    """What waits for an approval that I may see, the newest first."""
    with Client() as client:
        rows = [dict(row) for row in client.interrupts.list(kind="approval", status="open", limit=100).items]
    if as_json:
        print_json({"items": rows})
        return
    if not rows:
        say("nothing waits for an approval")
    for row in rows:
        say(f"approval   {row['id']}   for {row['requested_by']}")
        for line in render.interrupt_lines(row):
            say(line)


@command
def link(
    which: Annotated[str, typer.Argument(metavar="RUN|APPROVAL", help="A run that asks, or an approval.")],
    approver: Annotated[str | None, typer.Option("--for", help="For whom; needs the role notifier.")] = None,
    lives: Annotated[str, typer.Option("--within", help="How long it can be used: 30m, 24h, 7d.")] = "24h",
    as_json: Json = False,
) -> None:
    """Make a link for mail or chat that decides once. Opening it decides nothing."""
    with Client() as client:
        _, interrupt = interrupt_of(client, which)
        made = client.interrupts.link(
            interrupt["id"], approver=approver, seconds=seconds_of(lives, "--within")
        )
    if as_json:
        print_json(dict(made))
        return
    say(made["url"])
    say(f"for {made['approver']}, once, until {made['expires_at']}")
