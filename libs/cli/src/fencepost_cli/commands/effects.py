"""`fencepost effects`: what happened to the world, and an operator's word on what nobody else can know."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer
from fencepost.client import Client
from fencepost.requests import Request, plain_list
from fencepost_runtime.system import SystemIds

from fencepost_cli.console import Exit, Json, command, fail, print_json, say

MOST_SHOWN: Final = 8
effects = typer.Typer(help="What happened to the world; what a person has to settle.", no_args_is_help=True)


@effects.command("list")
@command
def list_effects(
    state: Annotated[str | None, typer.Option(help="needs_human, unknown, completed, ...")] = None,
    as_json: Json = False,
) -> None:
    """Effects by key; `--state needs_human` is what waits for you."""
    with Client() as client:
        found = _all(client, state)
    if as_json:
        print_json(found)
        return
    for one in found:
        say(
            f"{one['id']}  {one['state']}  {one['tool']}  tries {one['attempts']}  {one['external_id'] or ''}"
        )
    if not found:
        say("none")


@effects.command("resolve")
@command
def resolve(
    effect: Annotated[str, typer.Argument(help="Its id, or a part of it that only it has.")],
    outcome: Annotated[str, typer.Argument(help="completed, absent, abandoned, or compensated.")],
    evidence: Annotated[str, typer.Option(help="Where you looked and what you saw; kept for good.")],
    external_id: Annotated[str | None, typer.Option(help="The other side's name for it.")] = None,
    as_json: Json = False,
) -> None:
    """Say what became of an effect. Its run goes on with that."""
    body = {"outcome": outcome, "evidence": evidence, "external_id": external_id}
    said = {name: value for name, value in body.items() if value is not None}
    with Client() as client:
        key = _one(client, effect, "needs_human")["id"]
        request = Request("POST", f"/v1/effects/{key}/resolution", said, key=str(SystemIds().uuid7()))
        settled = client.get(request)
    if as_json:
        print_json(settled)
        return
    say(f"{settled['id']} is {settled['state']}")


@effects.command("compensate")
@command
def compensate(
    effect: Annotated[str, typer.Argument(help="Its id, or a part of it that only it has.")],
    reason: Annotated[str, typer.Option(help="Why; who approves it reads this, and it is kept for good.")],
    as_json: Json = False,
) -> None:
    """Undo a completed effect by the tool that its contract names, in a run of its own."""
    with Client() as client:
        key = _one(client, effect, "completed")["id"]
        path = f"/v1/effects/{key}/compensation"
        ordered = client.get(Request("POST", path, {"reason": reason}, key=str(SystemIds().uuid7())))
    if as_json:
        print_json(ordered)
        return
    say(f"{ordered['id']} is being undone by run {ordered['compensation_run_id']}")
    say(f"follow it: fencepost watch {ordered['compensation_run_id']}")


def _all(client: Client, state: str | None) -> list[Any]:
    found: list[Any] = []
    cursor = None
    while True:
        page = client.page(plain_list("/v1/effects", state=state, cursor=cursor, limit=100))
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


def _one(client: Client, part: str, state: str) -> Any:
    """The one effect that `part` means: among those in this state, which alone can be asked for; else any."""
    among = [one for one in _all(client, state) if part in one["id"]]
    found = among or [one for one in _all(client, None) if part in one["id"]]
    if len(found) == 1:
        return found[0]
    if not found:
        raise fail("no effect has this id; `fencepost effects list` shows them", Exit.USAGE)
    listed = "".join(f"\n  {one['id']}  {one['state']}" for one in found[:MOST_SHOWN])
    raise fail(f"several effects have this in their id; say more of it:{listed}", Exit.USAGE)
