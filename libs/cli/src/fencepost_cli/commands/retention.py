"""`fencepost drop-logs`: months of the log that nobody needs any more, as the database's owner."""

from __future__ import annotations

import asyncio
import getpass
import re
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from fencepost.profile import default_data_dir

from fencepost_cli.console import Exit, Json, fail, print_json, say
from fencepost_cli.databases import admin_dsn, as_owner

if TYPE_CHECKING:
    from fencepost_store.retention import Month

MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
WHY = {
    "live": "has not ended",
    "ended_since": "ended after that",
    "open_effect": "has an effect whose outcome is open",
    "not_anchored": "has no signed anchor of its end yet (the reconciler signs within a minute)",
}


def drop_logs(
    before: Annotated[str, typer.Option(help="YYYY-MM: whole months before this one (UTC).")],
    reason: Annotated[str, typer.Option(help="Why; kept in the audit.")] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would go and what keeps the rest.")
    ] = False,
    data_dir: Annotated[Path | None, typer.Option(help="Of the embedded mode.")] = None,
    as_json: Json = False,
) -> None:
    """Drop old months of the runs' logs for good. Export what is to be kept, and the anchors, first.

    Exits with 1 when a month stays because a run of it may still need it.
    """
    if not MONTH.fullmatch(before):
        raise fail(f"--before: {before!r} is no month like 2026-06", Exit.USAGE)
    if not dry_run and not reason.strip():
        raise fail("--reason: say why; it is kept in the audit", Exit.USAGE)
    instant = datetime.strptime(before, "%Y-%m").replace(tzinfo=UTC)
    months = asyncio.run(_work(admin_dsn(data_dir or default_data_dir()), instant, reason.strip(), dry_run))
    if as_json:
        print_json({"before": before, "months": [asdict(one) for one in months]})
    else:
        _say(months, dry_run)
    raise typer.Exit(int(Exit.FAILED if any(one.keepers for one in months) else Exit.DONE))


async def _work(dsn: str, instant: datetime, reason: str, dry_run: bool) -> list[Month]:
    from fencepost_domain.errors import Invalid
    from fencepost_store.retention import drop_month, old_months

    actor, away = f"operator:{getpass.getuser()}", "the database is too busy for it, or not there"
    async with as_owner(dsn, "fencepost-drop-logs", away=away) as store:
        try:
            async with store.transaction() as tx:
                months = await old_months(tx, instant)
        except Invalid as error:
            raise fail(f"--before: {error}", Exit.USAGE) from None
        if dry_run:
            return months
        return [
            one if one.keepers else await drop_month(store, one.name, instant, actor=actor, reason=reason)
            for one in months
        ]


def _say(months: list[Month], dry_run: bool) -> None:
    if not months:
        say("no month of the log lies before that")
    for one in months:
        if not one.keepers:
            say(f"{one.name}  {one.runs} runs  {'would go' if dry_run else 'dropped'}")
            continue
        say(f"{one.name}  {one.runs} runs  stays")
        for keeper in one.keepers:
            say(f"        {keeper.run_id} {WHY[keeper.why]}")
