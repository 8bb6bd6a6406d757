"""`stuck`, `repair`, `handoff`: for who looks after runs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import typer
from fencepost.client import Client
from fencepost_runtime.system import SystemIds

from fencepost_cli import render
from fencepost_cli.commands.runs import RunArgument, follow
from fencepost_cli.console import Exit, Json, command, fail, print_json, say
from fencepost_cli.ids import run_id, short

Verb = Literal["release-lease", "requeue", "expire-approval"]


@command
def stuck(
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="Only this one: id, ending, @last.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also runs that are at work or next in line.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say of every live run why it isn't moving and what would move it. Exits with 1 if one is overdue."""
    with Client() as client:
        filters: dict[str, Any] = {"run": _named(client, run)} if run else {}
        if run is None and not everything:
            filters["moving"] = "false"
        found = list(client.stuck(**filters))
    if as_json:
        print_json({"items": found})
    else:
        for one in found:
            _say(one)
        if not found:
            say("It is finished." if run else "Nothing is stuck: no live run waits for anything.")
    raise typer.Exit(int(Exit.FAILED if any("overdue" in one["warnings"] for one in found) else Exit.DONE))


def _named(client: Client, given: str) -> str:
    """An operator names other people's runs too: by the ending that `stuck` shows."""
    ending = given.removeprefix("…").lower()
    found = [one["run_id"] for one in client.stuck() if one["run_id"].endswith(ending)]
    return str(found[0]) if len(found) == 1 else run_id(client, given)


def _say(one: dict[str, Any]) -> None:
    state = one["status"] + (f" on {one['waiting_on']}" if one["waiting_on"] else "")
    say(f"{short(one['run_id'])}  {state}  {one['code']}  since {_time(one['since'])}")
    say(f"          {one['why']}")
    say(f"       -> {one['what_moves_it']}")
    if one["warnings"]:
        say(f"       !! {', '.join(one['warnings'])} (attempt {one['attempt']} of {one['max_attempts']})")
    for verb in one["repairs"]:
        if verb == "settle_effect":
            keys = ", ".join(e["effect_key"] for e in one["details"].get("effects", ()))
            say(f"       repair: settle the effect, with evidence: {keys}")
        else:
            ordered = f"{short(one['run_id'])} {verb.replace('_', '-')}"
            say(f"       repair: fencepost repair {ordered} --reason ...")


def _time(text: str) -> str:
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S")


@command
def repair(
    run: RunArgument,
    verb: Annotated[Verb, typer.Argument(help="As `stuck` names it.")],
    reason: Annotated[str, typer.Option(help="Why; kept in the run's log with your name.")],
    as_json: Json = False,
) -> None:
    """Order a repair that `stuck` names: release-lease, requeue, expire-approval."""
    if not reason.strip():
        raise fail("--reason must say why", Exit.USAGE)
    with Client() as client:
        after = client.repair(_named(client, run), verb.replace("-", "_"), reason)
    if as_json:
        print_json(after)
    else:
        _say(after)


@command
def handoff(
    run: RunArgument,
    note: Annotated[str | None, typer.Option(help="What the next one should know.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="The user who is to go on.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Print the package of a handed-over run.")] = False,
    go_on: Annotated[bool, typer.Option("--continue", help="Start a run that goes on from it.")] = False,
    text: Annotated[str | None, typer.Option(help="With --continue: what to do; its goal if absent.")] = None,
    as_json: Json = False,
) -> None:
    """Hand a run over to a person: it is stopped, and all that is needed to go on from it is kept."""
    with Client() as client:
        whole = run_id(client, run)
        if go_on:
            made = client.runs.go_on(whole, idempotency_key=str(SystemIds().uuid7()), text=text)
            follow(client, made["id"], as_json=as_json)
        if not show:
            if not (note or "").strip():
                raise fail("--note must say what the next one should know", Exit.USAGE)
            client.runs.handoff(whole, note or "", to)
            client.runs.wait(whole)
        package = client.runs.package(whole)
    if as_json:
        print_json(package)
    else:
        for line in render.package_lines(package):
            say(line)
