"""`files`: what a run made, listed or saved."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from fencepost.client import Client
from fencepost.errors import ApiError
from fencepost_domain.artifact import safe_name

from fencepost_cli.commands.runs import RunArgument
from fencepost_cli.console import Exit, Json, command, fail, print_json, table, warn
from fencepost_cli.ids import run_id


@command
def files(
    run: RunArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A folder: save them there. Nothing is overwritten.")
    ] = None,
    inputs: Annotated[bool, typer.Option("--inputs", help="Those it was given too.")] = False,
    as_json: Json = False,
) -> None:
    """List the files that a run made; with -o FOLDER, save them. Exits with 1 when one is lost."""
    with Client() as client:
        state = client.runs.get(run_id(client, run))
        found = [f for f in state.get("artifacts") or [] if inputs or f["role"] == "output"]
        saved = list(_saved(client, found, output)) if output is not None else found
    if as_json:
        print_json({"run_id": state["id"], "files": saved})
    else:
        headings = {"name": "NAME", "size_bytes": "BYTES", "status": "STATUS", "integrity": "INTEGRITY"}
        table(saved, {**headings, "file" if output else "id": "FILE" if output else "ID"}, "No files.")
    if any(file["integrity"] != "ok" for file in saved):
        raise typer.Exit(int(Exit.FAILED))


def _saved(client: Client, found: list[Mapping[str, Any]], folder: Path) -> Iterator[Mapping[str, Any]]:
    """Each file under the name it is shown by; one that can't be had is told and left out."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise fail(f"{folder}: {error.strerror}", Exit.USAGE) from None
    for file in found:
        try:
            data = client.content(file["id"])
        except ApiError as error:
            warn(f"{file['name']}: {error.detail} ({error.code})")
            lost = "missing" if file["integrity"] == "ok" else file["integrity"]
            yield {**file, "integrity": lost, "file": None}
            continue
        if hashlib.sha256(data).hexdigest() != file["sha256"]:
            raise fail(f"{file['name']}: what came is not what its hash says; nothing was written")
        yield {**file, "file": str(_write(folder, file["name"], data))}


def _write(folder: Path, name: str, data: bytes) -> Path:
    """Under its own name, or with a number before the suffix where that is taken."""
    shown = safe_name(name)  # the registry cleaned it; what a server says is no path all the same
    for number in range(1, 1000):
        wanted = Path(shown)
        target = folder / (shown if number == 1 else f"{wanted.stem} ({number}){wanted.suffix}")
        try:
            with target.open("xb") as file:
                file.write(data)
        except FileExistsError:
            continue
        except OSError as error:
            raise fail(f"{target}: {error.strerror}", Exit.USAGE) from None
        return target
    raise fail(f"{folder}: too many files are named {shown}")
