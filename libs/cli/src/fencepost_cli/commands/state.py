"""`state`: what a conversation's state is, was at an instant, and how it came to be."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

import typer
from fencepost.client import Client
from fencepost.errors import ApiError

from fencepost_cli.console import Json, command, print_json, say, table
from fencepost_cli.ids import run_id

COLUMNS: Final = ("seq", "at", "key", "operation", "old", "new", "source")
MOST_SHOWN: Final = 60  # characters of a value in a table; --json has it whole


@command
def state(
    of: Annotated[
        str, typer.Argument(metavar="RUN|CONVERSATION", help="A run, @last, or a conversation's id.")
    ],
    at: Annotated[str | None, typer.Option(help="An instant, RFC 3339 with its zone; now if absent.")] = None,
    events: Annotated[bool, typer.Option("--events", help="Every change instead, oldest first.")] = False,
    key: Annotated[str | None, typer.Option(help="With --events: of this key alone.")] = None,
    as_json: Json = False,
) -> None:
    """Show a conversation's state, now or at any instant, or its changes."""
    with Client() as client:
        conversation = _conversation(client, of)
        if events:
            changes = [dict(change) for change in client.state_events(conversation, key)]
            print_json({"items": changes}) if as_json else _show_changes(changes)
            return
        found = client.conversation_state(conversation, at)
        if as_json:
            print_json(found)
            return
        say(
            f"conversation {conversation}, change {found['seq']}, {found['at'] or 'nothing was ever written'}"
        )
        rows = [{"key": name, "value": _short(value)} for name, value in sorted(found["values"].items())]
        table(rows, {"key": "KEY", "value": "VALUE"}, "the state is empty")


def _conversation(client: Client, of: str) -> str:
    """The id itself when it is a conversation's; else that of the run which `of` names."""
    if len(of) == 36:
        try:
            return str(client.conversation(of)["id"])
        except ApiError as error:
            if error.status != 404:
                raise
    return str(client.runs.get(run_id(client, of))["conversation_id"])


def _show_changes(changes: list[dict[str, Any]]) -> None:
    rows = [
        {
            **change,
            "old": _short(change["old"]) if change["existed"] else "",
            "new": _short(change["new"]) if change["exists"] else "",
        }
        for change in changes
    ]
    table(rows, {name: name.upper() for name in COLUMNS}, "nothing was ever written to this state")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + "…"
