"""`retry`, `fork`, `simulate`: a run from a run. Only the last of them touches nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated, Any, Final

import typer
from fencepost.client import TERMINAL, Client
from fencepost_runtime.system import SystemIds

from fencepost_cli.commands.runs import RunArgument, follow
from fencepost_cli.console import Exit, Json, command, fail, print_json, say
from fencepost_cli.ids import run_id, short
from fencepost_cli.render import value_lines

Key = Annotated[str | None, typer.Option("--key", help="Idempotency-Key: the same key is the same run.")]
Detach = Annotated[bool, typer.Option("--detach", help="Print the run's id and leave.")]
LONGEST_SECONDS: Final = 600.0
LOOK_SECONDS: Final = 0.3


def _new_key(given: str | None) -> str:
    return given or str(SystemIds().uuid7())


@command
def retry(run: RunArgument, key: Key = None, detach: Detach = False, as_json: Json = False) -> None:
    """Ask for the same again as a new live run; it is approved anew."""
    with Client() as client:
        made = client.runs.retry(run_id(client, run), idempotency_key=_new_key(key))
        _watch(client, made, detach=detach, as_json=as_json)


@command
def fork(
    run: RunArgument,
    at_seq: Annotated[
        int | None, typer.Option(min=1, help="One of its fork_points; the last if absent.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Other words from here on.")] = None,
    definition: Annotated[str | None, typer.Option(help="Another graph, by version or fingerprint.")] = None,
    key: Key = None,
    detach: Detach = False,
    as_json: Json = False,
) -> None:
    """Go on from a point of a run as another run; what was done up to there counts as done."""
    with Client() as client:
        whole = run_id(client, run)
        points = client.runs.get(whole)["fork_points"]
        if at_seq is None and not points:
            raise fail("nobody has worked on this run yet: there is no point to fork it at")
        made = client.runs.fork(
            whole,
            points[-1] if at_seq is None else at_seq,
            idempotency_key=_new_key(key),
            definition=definition,
            input={"text": text} if text else None,
        )
        _watch(client, made, detach=detach, as_json=as_json)


def _watch(client: Client, made: Any, *, detach: bool, as_json: bool) -> None:
    if detach:
        print_json(made) if as_json else say(made["id"])
        return
    follow(client, made["id"], as_json=as_json)


@command
def simulate(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="A run; or --module and --last.")] = None,
    module: Annotated[
        str | None, typer.Option(help="The last real runs of this module, instead of one.")
    ] = None,
    last: Annotated[int, typer.Option(min=1, max=200, help="How many of them.")] = 20,
    model: Annotated[str | None, typer.Option(help="Ask this model instead; it is really asked.")] = None,
    prompt: Annotated[
        str | None, typer.Option(help="This system prompt instead; the model is asked.")
    ] = None,
    graph: Annotated[str | None, typer.Option(help="This graph instead, by version or fingerprint.")] = None,
    contract: Annotated[str | None, typer.Option(help="This contract instead, by version or hash.")] = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """What would have happened? On frozen results, touching nothing. Exits with 1 if it differs."""
    if (run is None) == (module is None):
        raise fail("say which RUN, or --module", Exit.USAGE)
    wanted = {"model": model, "prompt": prompt, "graph": graph, "contract": contract}
    with Client() as client:
        if module is not None:
            made = client.runs.simulate_last(module, last, idempotency_key=_new_key(key), **wanted)
            found = _until(lambda: client.runs.simulation(made["id"]), lambda report: report["finished"])
            same = found["counts"].get("same", 0) == len(found["runs"])
        else:
            made = client.runs.simulate(run_id(client, run or ""), idempotency_key=_new_key(key), **wanted)
            _until(lambda: client.runs.get(made["id"]), lambda now: now["status"] in TERMINAL)
            found = client.runs.difference(made["id"])
            same = found["same"]
    if as_json:
        print_json(found)
    else:
        for line in _told(found):
            say(line)
    raise typer.Exit(int(Exit.DONE if same else Exit.FAILED))


def _until(look: Any, is_done: Any) -> Any:
    ends = time.monotonic() + LONGEST_SECONDS
    while not is_done(found := look()):
        if time.monotonic() > ends:
            raise fail("it is still running; look again later", Exit.UNREACHABLE)
        time.sleep(LOOK_SECONDS)
    return found


def _told(found: Any) -> Iterator[str]:
    if "runs" in found:
        yield f"simulated  {len(found['runs'])} runs of {found['module']}"
        yield "           " + ", ".join(f"{count} {word}" for word, count in sorted(found["counts"].items()))
        for one in found["runs"]:
            if one["outcome"] != "same":
                yield f"{short(one['origin_run_id'])}   {one['outcome']} from step {one['first']}"
                yield from value_lines(one["changes"], 1)
        return
    yield f"run        {found['run_id']}"
    yield f"of         {found['origin_run_id']}"
    yield "difference " + ("none: the same path" if found["same"] else f"from step {found['first']} on")
    yield from value_lines(found["changes"], 1)
