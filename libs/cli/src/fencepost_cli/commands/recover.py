"""`fencepost recover`: after a restore or a lossy fail-over, before the services start again (ADR-0031)."""

from __future__ import annotations

import asyncio
import getpass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from fencepost.profile import default_data_dir

from fencepost_cli.console import Exit, Json, fail, print_json, say
from fencepost_cli.databases import admin_dsn, as_owner

APPLICATION: Final = "fencepost-recover"
AWAY: Final = "the database does not answer"
LISTS: Final = ("paused", "were_paused", "stopping", "reopened", "to_look_up", "by_person")


def recover(
    lost_after: Annotated[
        str, typer.Option(help="The last instant whose commits are surely there, RFC 3339 with a zone.")
    ],
    reason: Annotated[str, typer.Option(help="What happened; kept for good.")] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, change nothing.")
    ] = False,
    data_dir: Annotated[Path | None, typer.Option(help="Of the embedded mode.")] = None,
    as_json: Json = False,
) -> None:
    """Treat what happened after T as not known: pause every live run, fence its owner, start a new epoch.

    Stop the services first and start them after it. It works on FENCEPOST_DATABASE_URL as its owner.
    """
    instant = _instant(lost_after)
    if not dry_run and not reason.strip():
        raise fail("--reason: say what happened; it is kept in the log of every run this touches", Exit.USAGE)
    found = asyncio.run(_work(admin_dsn(data_dir or default_data_dir()), instant, reason.strip(), dry_run))
    if as_json:
        print_json(found)
        return
    (_say_plan if dry_run else _say_report)(found)


def resume_all(reason: str, data_dir: Path | None, *, as_json: bool) -> None:
    """Let every run go on that `recover` paused, whoever's it is; for the database's owner, audited."""
    if not reason.strip():
        raise fail("--reason: say why they may go on; it is kept", Exit.USAGE)
    found = asyncio.run(_resumed(admin_dsn(data_dir or default_data_dir()), reason.strip()))
    if as_json:
        print_json({"resumed": found})
        return
    say(f"{len(found)} runs go on")
    for run_id in found:
        say(f"  {run_id}")


async def _resumed(dsn: str, reason: str) -> list[str]:
    from fencepost_store.recover import resume_recovered

    async with as_owner(dsn, APPLICATION, away=AWAY) as store:
        done = await resume_recovered(store, actor=f"operator:{getpass.getuser()}", reason=reason)
    return [str(run_id) for run_id in done]


def _instant(given: str) -> datetime:
    try:
        instant = datetime.fromisoformat(given)
    except ValueError:
        instant = None
    if instant is None or instant.tzinfo is None:
        raise fail(
            f"--lost-after: {given!r} is no time with a zone, like 2026-12-01T09:30:00+01:00", Exit.USAGE
        )
    return instant


async def _work(dsn: str, instant: datetime, reason: str, dry_run: bool) -> dict[str, Any]:
    from fencepost_domain.errors import Invalid
    from fencepost_store.recover import plan_recovery
    from fencepost_store.recover import recover as begin

    async with as_owner(dsn, APPLICATION, away=AWAY) as store:
        try:
            plan = await plan_recovery(store, instant)
            if dry_run:
                return _plan(plan, instant)
            report = await begin(store, instant, actor=f"operator:{getpass.getuser()}", reason=reason)
        except Invalid as error:
            raise fail(f"--lost-after: {error}", Exit.USAGE) from None
        return {**_plan(plan, instant), **_report(report)}


def _plan(plan: Any, instant: datetime) -> dict[str, Any]:
    return {
        "lost_after": instant.isoformat(),
        "newest_event_at": plan.newest_event_at.isoformat() if plan.newest_event_at else None,
        "epoch": plan.epoch,
        "workers_alive": plan.alive,
        "live_runs": [str(one) for one in plan.live],
        "unsettled_effects": list(plan.effects),
    }


def _report(report: Any) -> dict[str, Any]:
    return {
        "epoch": report.epoch,
        "recovered_at": report.recovered_at.isoformat(),
        **{name: [str(one) for one in getattr(report, name)] for name in LISTS},
    }


def _say_plan(found: dict[str, Any]) -> None:
    say(f"epoch {found['epoch']}, the newest event is of {found['newest_event_at']}")
    if found["workers_alive"]:
        say(f"!! {found['workers_alive']} workers call themselves alive: stop the services first")
    say(f"{len(found['live_runs'])} live runs would be paused, their owners fenced")
    for effect in found["unsettled_effects"]:
        say(f"  {effect['effect_key']}  {effect['state']}  {effect['tool']}")
    say("Nothing was changed.")


def _say_report(found: dict[str, Any]) -> None:
    say(f"epoch {found['epoch']} began at {found['recovered_at']}")
    say(f"what came after {found['lost_after']} isn't known")
    counts = {name: len(found[name]) for name in LISTS}
    say(
        f"{counts['paused']} runs paused ({counts['were_paused']} were), {counts['stopping']} being stopped; "
        f"{counts['to_look_up']} effects to be looked up, {counts['by_person']} before a person"
    )
    say("Start the services; `fencepost effects list --state needs_human` is your inbox.")
    say("Then let the runs go on: fencepost resume --all-recovered --reason WHY, or fencepost resume RUN")
    for run_id in found["paused"]:
        say(f"  {run_id}")
