"""`contract pins`, `accept`, `revoke`: what sources declare of their tools, and an operator's word on it.

It is for the role platform. On the machine of a local `fencepost up`, whoever holds its signing key is that.
"""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer
from fencepost.client import Client
from fencepost.profile import default_data_dir
from fencepost.requests import Request

from fencepost_cli.console import Exit, Json, command, fail, print_json, say

PATH = "/v1/admin/tool-pins"
MINUTES = 5
Module = Annotated[str | None, typer.Option("--module", help="Of this module only.")]
Tool = Annotated[str, typer.Argument(help="As the module names it: helpdesk.open_ticket.")]
Fingerprint = Annotated[
    str | None, typer.Option(help="The declaration you looked at; its first 12 characters will do.")
]


def _client() -> Client:
    secrets = default_data_dir() / "secrets"
    if os.environ.get("FENCEPOST_TOKEN") or not secrets.is_dir():
        return Client()
    from fencepost_cli.embedded.identity import ALL_ROLES, Identity

    return Client(token=Identity(secrets).mint_token(roles=ALL_ROLES, seconds=MINUTES * 60))


def _pins(client: Client, module: str | None) -> list[dict[str, Any]]:
    params = {"module": module} if module else {}
    items: list[dict[str, Any]] = client.send(Request("GET", PATH, params=params)).json()["items"]
    return items


@command
def pins(module: Module = None, as_json: Json = False) -> None:
    """Declarations of tools as they were seen, the accepted ones, and what changed since."""
    with _client() as client:
        found = _pins(client, module)
    if as_json:
        print_json({"items": found})
        return
    for pin in found:
        say(f"{pin['status']:<9} {pin['tool']}  {pin['fingerprint'][:12]}  from {pin['source']}")
        for line in pin["changes"]:
            say(f"          {_plain(line)}")
        if pin["status"] == "seen":
            shown = pin["fingerprint"][:12]
            say(f"          -> fencepost contract accept {pin['tool']} --fingerprint {shown}")
    if not found:
        say("no source has declared a tool yet")


@command
def accept(tool: Tool, fingerprint: Fingerprint = None, as_json: Json = False) -> None:
    """Accept what a source declares of a tool: new runs may call it so, until it changes."""
    _decide(tool, fingerprint, "accept", as_json)


@command
def revoke(tool: Tool, fingerprint: Fingerprint = None, as_json: Json = False) -> None:
    """Take an accepted declaration back: no run calls the tool any more, also none in flight."""
    _decide(tool, fingerprint, "revoke", as_json)


def _decide(tool: str, fingerprint: str | None, decision: str, as_json: bool) -> None:
    module = tool.partition(".")[0]
    wanted = "seen" if decision == "accept" else "accepted"
    with _client() as client:
        found = [pin for pin in _pins(client, module) if pin["tool"] == tool]
        if fingerprint is not None:
            chosen = [pin for pin in found if pin["fingerprint"].startswith(fingerprint)]
        else:
            chosen = [pin for pin in found if pin["status"] == wanted]
        if len(chosen) != 1:
            why = "none is waiting" if not chosen else "several are: say --fingerprint"
            raise fail(f"{tool}: {why}; see fencepost contract pins --module {module}", Exit.USAGE)
        body = {"module": module, "tool": tool, "fingerprint": chosen[0]["fingerprint"], "decision": decision}
        pin = client.send(Request("POST", PATH, body, key=f"{decision}-{body['fingerprint']}")).json()
    if as_json:
        print_json(pin)
    else:
        say(f"{pin['status']} {tool} {pin['fingerprint'][:12]}")


def _plain(text: str) -> str:
    """Somebody else's text at our terminal: one line, without control characters."""
    return "".join(char if char.isprintable() else " " for char in text)[:400]
