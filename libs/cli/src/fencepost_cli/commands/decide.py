"""`approve`, `reject`, `answer`, `cancel`, `pause`, `resume`: a person's word to a run."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from fencepost.client import Client
from fencepost_runtime.system import SystemClock, SystemIds

from fencepost_cli import render
from fencepost_cli.approvals import interrupt_of
from fencepost_cli.ask import answer_to, ask_person
from fencepost_cli.commands.recover import resume_all
from fencepost_cli.commands.runs import RunArgument, parse_arguments
from fencepost_cli.console import Exit, Json, at_a_terminal, command, fail, print_json, say
from fencepost_cli.ids import run_id
from fencepost_cli.span import seconds_of

Note = Annotated[str | None, typer.Option(help="Why; kept with the decision.")]
QUESTIONS: Final = ("input", "version")
NoWait = Annotated[bool, typer.Option("--no-wait", help="Don't wait for what the run does next.")]


@command
def approve(
    run: RunArgument,
    note: Note = None,
    arguments: Annotated[str | None, typer.Option(help="Edited arguments, a JSON object.")] = None,
    remember: Annotated[
        str | None,
        typer.Option(help="Approve later ones of the same kind too, this long: 12h, 7d; 30d at most."),
    ] = None,
    only_if: Annotated[
        str | None, typer.Option("--if", help="With --remember: only if this CEL over `args` holds.")
    ] = None,
    uses: Annotated[int | None, typer.Option(min=1, help="With --remember: so many times at most.")] = None,
    no_wait: NoWait = False,
    as_json: Json = False,
) -> None:
    """Say yes to what a run asks to do, and wait for what comes of it."""
    body = {
        "decision": "approve",
        "note": note,
        "arguments": parse_arguments(arguments),
        "remember": _remember(remember, only_if, uses),
    }
    _decide(run, body, no_wait=no_wait, as_json=as_json)


def _remember(span: str | None, condition: str | None, uses: int | None) -> dict[str, Any] | None:
    if span is None:
        if condition is not None or uses is not None:
            raise fail("--if and --uses belong to --remember", Exit.USAGE)
        return None
    until = SystemClock().now() + timedelta(seconds=seconds_of(span, "--remember"))
    body = {"expires_at": until.isoformat(), "condition": condition, "max_uses": uses}
    return {name: value for name, value in body.items() if value is not None}


@command
def reject(run: RunArgument, note: Note = None, no_wait: NoWait = False, as_json: Json = False) -> None:
    """Say no: nothing is done, and the run says so."""
    _decide(run, {"decision": "reject", "note": note}, no_wait=no_wait, as_json=as_json)


def _decide(run: str, body: dict[str, Any], *, no_wait: bool, as_json: bool) -> None:
    given = {name: value for name, value in body.items() if value is not None}
    with Client() as client:
        whole, interrupt = interrupt_of(client, run)
        indexes = [p["index"] for p in interrupt.get("preview") or [] if isinstance(p, dict) and "index" in p]
        if len(indexes) > 1:
            if "arguments" in given:
                raise fail(
                    "several actions are asked for; edit them at a terminal: fencepost watch", Exit.USAGE
                )
            given = {"decisions": [{"index": index, **given} for index in indexes]}
        _send(client, whole, interrupt, given, no_wait=no_wait, as_json=as_json)


@command
def answer(
    run: RunArgument,
    given: Annotated[
        str | None, typer.Argument(metavar="[CHOICE|TEXT]", help="A choice's id or number, or words.")
    ] = None,
    no_wait: NoWait = False,
    as_json: Json = False,
) -> None:
    """Answer what a run asks; without an answer, be shown the question and asked."""
    with Client() as client:
        whole, interrupt = interrupt_of(client, run, QUESTIONS)
        if given is None:
            if not at_a_terminal():
                raise fail("give the answer: fencepost answer RUN CHOICE", Exit.USAGE)
            if not ask_person(client, interrupt):
                raise typer.Exit(int(Exit.WAITS))
            _after(client, whole, no_wait=no_wait, as_json=as_json)
        else:
            _send(client, whole, interrupt, answer_to(interrupt, given), no_wait=no_wait, as_json=as_json)


def _send(
    client: Client,
    whole: str | None,
    interrupt: dict[str, Any],
    body: dict[str, Any],
    *,
    no_wait: bool,
    as_json: bool,
) -> None:
    key = str(SystemIds().uuid7())
    decided = client.interrupts.resolve(interrupt["id"], body, idempotency_key=key)
    if whole is None or decided["status"] == "open":
        _told(decided, as_json=as_json)  # another's run, or more persons are needed: that was all
    _after(client, whole, no_wait=no_wait, as_json=as_json)


def _told(decided: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(decided)
    else:
        rule = f", {len(decided['votes'])} so far" if decided["status"] == "open" else ""
        say(f"{decided['id']}: stored{rule}")
    raise typer.Exit(int(Exit.WAITS if decided["status"] == "open" else Exit.DONE))


def _after(client: Client, whole: str | None, *, no_wait: bool, as_json: bool) -> None:
    assert whole is not None  # _told ended otherwise
    state = client.runs.get(whole) if no_wait else client.runs.wait(whole)
    if as_json:
        print_json(state)
    else:
        for line in render.run_lines(state):
            say(line)
    raise typer.Exit(int(Exit.DONE if no_wait else render.exit_code(state)))


def _verb(run: str, verb: str, as_json: bool) -> None:
    with Client() as client:
        whole = run_id(client, run)
        state = getattr(client.runs, verb)(whole, str(SystemIds().uuid7()))
    if as_json:
        print_json(state)
    else:
        say(f"{whole}: {state.get('status', verb)}")


@command
def cancel(run: RunArgument, as_json: Json = False) -> None:
    """Stop a run. Nothing of it starts after this; what it did stays done."""
    _verb(run, "cancel", as_json)


@command
def pause(run: RunArgument, as_json: Json = False) -> None:
    """Halt a run at its next safe point, until `resume`."""
    _verb(run, "pause", as_json)


@command
def resume(
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="An id, its ending, or @last.")] = None,
    all_recovered: Annotated[
        bool, typer.Option("--all-recovered", help="Every run that `fencepost recover` paused, of all users.")
    ] = False,
    reason: Annotated[str, typer.Option(help="With --all-recovered: why; it is kept.")] = "",
    data_dir: Annotated[Path | None, typer.Option(help="With --all-recovered: of the embedded mode.")] = None,
    as_json: Json = False,
) -> None:
    """Let a paused run go on where it was."""
    if (run is None) == (not all_recovered):
        raise fail("name a run, or say --all-recovered", Exit.USAGE)
    if run is None:
        resume_all(reason, data_dir, as_json=as_json)
    else:
        _verb(run, "resume", as_json)
