"""`fencepost budgets`: what a tenant and its users may use, and what of it was used."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from fencepost.client import Client
from fencepost.requests import Request, plain_list

from fencepost_cli.console import Exit, Json, command, fail, print_json, say

budgets = typer.Typer(help="What a tenant and its users may use.", no_args_is_help=True)
Per = Annotated[str, typer.Option(help="day, month (of UTC), or total.")]
User = Annotated[str | None, typer.Option(help="Whose; absent: the whole tenant's.")]
KINDS = ("model_calls", "input_tokens", "output_tokens", "cost", "actions")


@budgets.command("show")
@command
def show(as_json: Json = False) -> None:
    """How budgets stand: your own; with the role operator or admin the tenant's and everybody's."""
    with Client() as client:
        found = client.page(plain_list("/v1/budgets")).items
    _tell(found, as_json)


@budgets.command("set")
@command
def set_budget(
    per: Per = "day",
    user: User = None,
    cost: Annotated[str | None, typer.Option(help="Decimal, in the price table's currency.")] = None,
    model_calls: Annotated[int | None, typer.Option()] = None,
    input_tokens: Annotated[int | None, typer.Option()] = None,
    output_tokens: Annotated[int | None, typer.Option()] = None,
    actions: Annotated[int | None, typer.Option(help="Tool actions.")] = None,
    as_json: Json = False,
) -> None:
    """Set the limits of a budget; those not named are not limited. Needs the role admin."""
    said = (model_calls, input_tokens, output_tokens, cost, actions)
    limits = {kind: value for kind, value in zip(KINDS, said, strict=True) if value is not None}
    if not limits:
        raise fail("name at least one limit, such as --cost 5.00 or --model-calls 200", Exit.USAGE)
    _put({"user_id": user, "per": per, "limits": limits}, as_json)


@budgets.command("clear")
@command
def clear(per: Per = "day", user: User = None, as_json: Json = False) -> None:
    """Take a budget away. Needs the role admin."""
    _put({"user_id": user, "per": per, "limits": None}, as_json)


def _put(body: dict[str, Any], as_json: bool) -> None:
    with Client() as client:
        found = client.get(Request("PUT", "/v1/budgets", body))
    _tell(found["items"], as_json)


def _tell(found: Any, as_json: bool) -> None:
    if as_json:
        print_json(list(found))
        return
    for one in found:
        whose = one["user_id"] or "the tenant"
        say(f"{whose}, per {one['per']}{', until ' + one['ends_at'] if one['ends_at'] else ''}")
        for kind, most in one["limits"].items():
            flying = one["reserved"].get(kind, "0")
            say(
                f"  {kind:<14} {one['used'].get(kind, '0')} of {most}"
                + (f", {flying} in flight" if flying != "0" else "")
            )
    if not found:
        say("no budget is set: only the limits of each run hold (fencepost show RUN)")
