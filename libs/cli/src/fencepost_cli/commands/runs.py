"""`run`, `runs`, `show`, `watch`: start a run and see what becomes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from fencepost.client import Client, is_settled
from fencepost_domain.artifact import media_type_of
from fencepost_runtime.system import SystemIds

from fencepost_cli import render
from fencepost_cli.ask import ask_person
from fencepost_cli.console import Exit, Json, at_a_terminal, command, fail, print_json, say, table, warn
from fencepost_cli.ids import run_id, short
from fencepost_cli.zone import local_zone

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="An id, its ending, or @last.")]


@command
def run(
    text: Annotated[str, typer.Argument(help="What you want, as you would say it.")],
    module: Annotated[
        str | None, typer.Option(help="companion, life, ...; found from the words if absent.")
    ] = None,
    zone: Annotated[str | None, typer.Option(help="Time zone (IANA); this machine's if absent.")] = None,
    locale: Annotated[str | None, typer.Option(help="zh or en; found from the words if absent.")] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Print the run's id and leave.")] = False,
    key: Annotated[str | None, typer.Option(help="Idempotency-Key: the same key is the same run.")] = None,
    deadline: Annotated[
        int | None, typer.Option(help="Seconds; time spent asking you doesn't count.")
    ] = None,
    attach: Annotated[list[Path] | None, typer.Option(help="A file to work from; may be repeated.")] = None,
    after: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Goes on in this run's conversation; @last is the newest."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Start a run; at a terminal, watch it and be asked."""
    key = key or str(SystemIds().uuid7())
    with Client() as client:
        made = client.runs.create(
            text,
            idempotency_key=key,
            attachments=upload_all(client, attach or [], key) or None,
            module=module,
            conversation_id=client.runs.get(run_id(client, after))["conversation_id"] if after else None,
            zone=zone or local_zone(),
            locale=locale,
            deadline_seconds=deadline,
        )
        if detach:
            print_json(made) if as_json else say(made["id"])
            return
        follow(client, made["id"], as_json=as_json)


def upload_all(client: Client, paths: list[Path], key: str) -> list[str]:
    """The files' artifact ids. Repeated under the same key they are the same artifacts."""
    ids = []
    for place, path in enumerate(paths):
        try:
            content = path.read_bytes()
        except OSError as error:
            raise fail(f"--attach {path}: {error.strerror}", Exit.USAGE) from None
        kind = media_type_of(path.name) or "text/plain"
        made = client.upload(path.name, content, kind, idempotency_key=f"{key[:240]}.{place}")
        ids.append(str(made["id"]))
    return ids


def follow(client: Client, whole_id: str, *, as_json: bool) -> None:
    """Show the run's stream; ask at its questions when there is a person to ask; exit as it ended."""
    asked: set[str] = set()
    while True:
        if not as_json:
            _show_stream(client, whole_id)
        state = client.runs.wait(whole_id)
        interrupt = state.get("interrupt") if state["status"] == "waiting" else None
        if interrupt is None or interrupt["id"] in asked or as_json or not at_a_terminal():
            break
        asked.add(interrupt["id"])
        if not ask_person(client, interrupt):
            break
    if as_json:
        print_json(state)
    else:
        _say_ending(state)
    raise typer.Exit(int(render.exit_code(state)))


def _show_stream(client: Client, whole_id: str) -> None:
    """Lines until the run is finished or asks; deltas are shown by the finished message instead."""
    for event in client.runs.stream(whole_id):
        if event.type in (
            "run.status",
            "action.prepared",
            "action.committed",
            "action.failed",
            "action.rejected",
        ):
            warn(f"  {event.type} {_told(event.data)}")
        if event.type == "interrupt.opened" or is_settled(client.runs.get(whole_id)):
            return


def _told(data: dict[str, Any]) -> str:
    return " ".join(str(data[k]) for k in ("status", "tool", "index", "code") if data.get(k) is not None)


def _say_ending(state: dict[str, Any]) -> None:
    for line in render.run_lines(state):
        say(line)
    if state["status"] == "waiting" and state.get("interrupt"):
        ending = short(state["id"])
        verb = "approve" if state["interrupt"]["kind"] == "approval" else "answer"
        warn(f"It waits on you: fencepost {verb} {ending}")


@command
def runs(
    status: Annotated[str | None, typer.Option(help="Only runs in this status.")] = None,
    module: Annotated[str | None, typer.Option()] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 20,
    as_json: Json = False,
) -> None:
    """List your runs, the newest first."""
    with Client() as client:
        page = client.runs.list(status=status, module=module, limit=limit)
    if as_json:
        print_json({"items": page.items, "next_cursor": page.next_cursor})
        return
    rows = [
        {
            "id": short(r["id"]),
            "status": r["status"] + (f" on {r['waiting_on']}" if r.get("waiting_on") else ""),
            "module": r["module"],
            "created_at": r["created_at"][:19],
            "text": ((r.get("input") or {}).get("text") or "")[:60],
        }
        for r in page.items
    ]
    headings = {"id": "RUN", "status": "STATUS", "module": "MODULE", "created_at": "CREATED", "text": "ASKED"}
    table(rows, headings, 'No runs yet. Try: fencepost run "remind me at 9 tomorrow to send the report"')


@command
def show(
    run: RunArgument,
    events: Annotated[bool, typer.Option("--events", help="Its whole log too.")] = False,
    as_json: Json = False,
) -> None:
    """Show one run: what it waits for, what it did, why it ended."""
    with Client() as client:
        whole = run_id(client, run)
        state = client.runs.get(whole)
        log = list(client.runs.events(whole)) if events else []
    if as_json:
        print_json({**state, **({"events": log} if events else {})})
        return
    for line in render.run_lines(state):
        say(line)
    for event in log:
        say(render.event_line(event))


@command
def watch(run: RunArgument, as_json: Json = False) -> None:
    """Follow a run until it ends or asks you; as JSON, one line an event."""
    with Client() as client:
        whole = run_id(client, run)
        if not as_json:
            follow(client, whole, as_json=False)
        for event in client.runs.stream(whole):
            print_json({"id": event.id, "event": event.type, "data": event.data})
            if event.type in ("run.finished", "interrupt.opened"):
                break
        raise typer.Exit(int(render.exit_code(client.runs.get(whole))))


def parse_arguments(given: str | None) -> dict[str, Any] | None:
    """`--arguments` as an object. Exits with 2 on anything else."""
    if given is None:
        return None
    try:
        value = json.loads(given)
    except ValueError as error:
        raise fail(f"--arguments is not JSON: {error}", Exit.USAGE) from None
    if not isinstance(value, dict):
        raise fail("--arguments must be a JSON object", Exit.USAGE)
    return value
