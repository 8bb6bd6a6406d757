"""`fencepost demo`: the main job end to end on its own data, each service killed at its worst moment."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Annotated

import typer
from fencepost.profile import default_data_dir

from fencepost_cli.console import fail, say
from fencepost_cli.demo import acts
from fencepost_cli.demo.stage import DemoFailed, Stage

NEXT = """
Next, try:
  ./fencepost up                                                       the mesh, until Ctrl-C
  ./fencepost run "remind me tomorrow at 9 to send the report"         in another terminal
  ./fencepost show @last --events                                      what it did, line by line"""


def demo(
    kafka: Annotated[
        bool, typer.Option("--kafka", help="With a real broker, stopped and started in between.")
    ] = False,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where its data lives; a folder of its own if absent.")
    ] = None,
) -> None:
    """Run the main job through four crashes, then verify. Exits with 0 only if all held."""
    from fencepost.errors import ApiError, Unreachable

    from fencepost_cli.commands.up import EXPECTED

    try:
        asyncio.run(_demo(data_dir or default_data_dir() / "demo", kafka=kafka))
    except DemoFailed as error:
        raise fail(f"the demo failed: {error}") from None
    except (ApiError, Unreachable, TimeoutError, *EXPECTED) as error:
        raise fail(f"the demo could not go on: {error}") from None


async def _demo(data_dir: Path, *, kafka: bool) -> None:
    from fencepost.aio import AsyncClient
    from fencepost_runtime.system import SystemIds

    from fencepost_cli.embedded.supervisor import Embedded

    failpoints = data_dir / "failpoints"
    shutil.rmtree(failpoints, ignore_errors=True)
    failpoints.mkdir(parents=True)
    mesh = Embedded(data_dir, kafka=kafka, failpoints=failpoints, tell=lambda line: say(f"  {line} ..."))
    ids = SystemIds()
    say(f"Fencepost demo, on {data_dir}")
    async with mesh:
        tenant = str(ids.uuid7())  # a fresh one, so that earlier demos on this data don't count
        token = mesh.identity.mint_token("demo", tenant)
        async with AsyncClient(mesh.url, token) as client:
            stage = Stage(mesh, client, failpoints, ids)
            await _play(stage)
            await _verify(mesh.dsn("admin"))
    say(f"\n{stage.crashes} crashes, {len(stage.runs)} runs, nothing once too often, nothing once too few.")
    say(NEXT)


async def _play(stage: Stage) -> None:
    reminder = await acts.reminder_through_three_crashes(stage)
    broker = stage.mesh.broker
    if broker is not None:
        say("\n  Kafka is stopped: hints are late now, nothing else")
        await asyncio.to_thread(broker.stop)
    await acts.entry_whose_answer_is_lost(stage)
    if broker is not None:
        say("\n  Kafka is started again")
        await asyncio.to_thread(broker.start)
    await acts.rejected_run(stage)
    await acts.reminder_that_fires(stage)
    await acts.reckoning(stage, reminder)


async def _verify(dsn: str) -> None:
    from fencepost_store.integrity import check_invariants

    violations = await check_invariants(dsn)
    for violation in violations:
        say(f"  {violation}")
    say(f"verify: {len(violations)} violations")
    if violations:
        raise DemoFailed(f"{len(violations)} invariants are violated")
