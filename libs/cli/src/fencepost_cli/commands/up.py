"""`fencepost up`: the whole mesh on this machine, until Ctrl-C."""

import asyncio
import os
import shlex
import signal
import time
from pathlib import Path
from typing import Annotated, Final

import typer
from fencepost.profile import default_data_dir

from fencepost_cli.embedded.accounts import PostgresUnavailable
from fencepost_cli.embedded.bring_up_schema import MigrationsFailed
from fencepost_cli.embedded.child import ChildFailed
from fencepost_cli.embedded.postgres import PostgresFailed
from fencepost_cli.embedded.probe import lacks
from fencepost_cli.embedded.supervisor import AlreadyRunning, Embedded

MODULES: Final = ("companion", "life", "work", "migration")
EXPECTED: Final = (AlreadyRunning, PostgresUnavailable, PostgresFailed, MigrationsFailed, ChildFailed)


def up(
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Of the api; 8080, or any free one, when absent.")
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where all state lives; made if missing.")] = None,
    kafka: Annotated[bool, typer.Option("--kafka", help="Wake workers through a real Kafka broker.")] = False,
    split_modules: Annotated[
        bool, typer.Option("--split-modules", help="A worker for each module instead of one for all.")
    ] = False,
    failpoints: Annotated[
        Path | None, typer.Option(help="For tests: a folder whose files kill or stop services.", hidden=True)
    ] = None,
) -> None:
    """Run Fencepost here: Postgres, the services and a worker. Ctrl-C ends it; what it did is kept."""
    mesh = Embedded(
        data_dir or default_data_dir(),
        port=port,
        kafka=kafka,
        modules=MODULES if split_modules else (),
        failpoints=failpoints.absolute() if failpoints else None,
        tell=told,
    )
    raise typer.Exit(asyncio.run(run(mesh)))


def told(line: str) -> None:
    typer.echo(f"  {line} ...", err=True)


async def run(mesh: Embedded) -> int:
    """Until a signal or a failure; the exit code. A second signal ends at once."""
    stop = asyncio.Event()
    started = time.monotonic()

    def on_signal(number: int) -> None:
        if stop.is_set():
            os._exit(128 + number)  # the watchdogs end the children
        typer.echo("\nstopping ...", err=True)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, on_signal, number)
    serving = asyncio.create_task(_serve(mesh, stop, started))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not mesh.ready:
        serving.cancel()  # still starting: give it up, in order
    try:
        return await serving
    except asyncio.CancelledError:
        return 128 + signal.SIGINT
    except (*EXPECTED, OSError) as failure:  # a folder that isn't ours to write, a full disk
        typer.secho(str(failure), fg="red", err=True)
        return 1


async def _serve(mesh: Embedded, stop: asyncio.Event, started: float) -> int:
    async with mesh:
        _greet(mesh, time.monotonic() - started)
        await _tell_what_is_missing(mesh)
        failing = asyncio.create_task(mesh.wait_failed())
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait([failing, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if failing.done():
            raise failing.result()
        failing.cancel()
    return 0


async def _tell_what_is_missing(mesh: Embedded) -> None:
    """What a service came up without: a graph or a contract that it refused, the bucket, Vault."""
    for child in list(mesh.children.values()):
        for name, said in (await lacks(child.port)).items():
            line = f"  {child.spec.name} is up without the {name} ({said}); {child.log_file} says why"
            typer.secho(line, fg="yellow", err=True)


def _greet(mesh: Embedded, seconds: float) -> None:
    model = os.environ.get("FENCEPOST_MODEL_URL")
    name = os.environ.get("FENCEPOST_MODEL_NAME", "its default model")
    offline = "offline, by rules alone (set FENCEPOST_MODEL_URL for a real one)"
    typer.echo(f"Fencepost is up at {mesh.url}  ({seconds:.1f} s)")
    typer.echo(f"  model  {f'{name} at {model}' if model else offline}")
    typer.echo(f"  data   {mesh.data_dir}")
    typer.echo(f"  logs   {mesh.logs}")
    called = os.environ.get("FENCEPOST_CALLED", "fencepost")  # as the launcher of a clone was called
    if mesh.data_dir != default_data_dir():  # other terminals look there otherwise
        typer.echo(f"In other terminals first:  export FENCEPOST_DATA_DIR={shlex.quote(str(mesh.data_dir))}")
    typer.echo(f'In another terminal:  {called} run "remind me at 9 tomorrow to send the report"')
    typer.echo("Ctrl-C stops it; what it did is kept.")
