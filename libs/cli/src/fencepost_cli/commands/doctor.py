"""`doctor`: is this deployment fit for work, and if not, what to do. Each check answers ok, warn or fail."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer
from fencepost.profile import default_data_dir

from fencepost_cli.console import Exit, Json, print_json, say

if TYPE_CHECKING:
    from fencepost_store.inspect import DatabaseFacts, WorkFacts

Answer = Literal["ok", "warn", "fail"]
OLDEST_POSTGRES: Final = 150000
DRIFT_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    answer: Answer
    detail: str
    way_out: str = ""


def doctor(
    data_dir: Annotated[Path | None, typer.Option(help="Of the embedded mode.")] = None, as_json: Json = False
) -> None:
    """Check this machine, the database and the api, and say what to do. Exits with 1 when something fails."""
    findings = list(examine(data_dir or default_data_dir()))
    if as_json:
        print_json({"findings": [asdict(f) for f in findings]})
    else:
        for f in findings:
            say(f"{f.answer:<5} {f.check:<12} {f.detail}")
            if f.way_out:
                say(f"                   -> {f.way_out}")
    raise typer.Exit(int(Exit.FAILED if any(f.answer == "fail" for f in findings) else Exit.DONE))


def examine(data_dir: Path) -> Iterator[Finding]:
    """All findings, in the order in which they would be mended."""
    version = ".".join(map(str, sys.version_info[:3]))
    fit = sys.version_info >= (3, 11)
    yield Finding("python", "ok" if fit else "fail", version, "" if fit else "install Python 3.11 or newer")
    yield _model()
    yield from _database(data_dir)
    yield _api()


def _model() -> Finding:
    url = os.environ.get("FENCEPOST_MODEL_URL")
    if not url:
        return Finding("model", "ok", "offline, as this terminal is set: rules, no key needed", "")
    if not os.environ.get("FENCEPOST_MODEL_NAME"):
        return Finding("model", "fail", f"{url} without a model's name", "set FENCEPOST_MODEL_NAME")
    return Finding("model", "ok", f"{os.environ['FENCEPOST_MODEL_NAME']} at {url}")


def _database(data_dir: Path) -> Iterator[Finding]:
    from fencepost_runtime.settings import DATABASE_EXPECTED
    from fencepost_store.inspect import inspect_database
    from sqlalchemy.exc import OperationalError

    from fencepost_cli.databases import admin_dsn

    try:
        facts = asyncio.run(inspect_database(admin_dsn(data_dir)))
    except typer.Exit as told:
        said, way_out = "none is running here", "start `fencepost up`, or set FENCEPOST_DATABASE_URL"
        if told.exit_code == Exit.USAGE:
            said, way_out = "FENCEPOST_DATABASE_URL can't be read", DATABASE_EXPECTED
        yield Finding("database", "fail", said, way_out)
        return
    except OperationalError as error:
        said = str(error.orig).splitlines()[0]
        yield Finding("database", "fail", said, "is the server up, are host and password right?")
        return
    yield from judge(facts)


def judge(facts: DatabaseFacts) -> Iterator[Finding]:
    """Findings on a database from its facts."""
    version = f"{facts.version // 10000}.{facts.version % 10000}"
    fit = facts.version >= OLDEST_POSTGRES
    yield Finding("postgres", "ok" if fit else "fail", version, "" if fit else "15 or newer is needed")
    if facts.off:
        said = f"{', '.join(facts.off)} off: COMMIT promises nothing"
        yield Finding("durability", "fail", said, "set it on; the gateway refuses to start")
    else:
        yield Finding("durability", "ok", "a commit is on disk")
    if facts.async_standbys:
        said = f"{facts.async_standbys} asynchronous: a fail-over may lose the newest commits"
        yield Finding("standby", "warn", said, "see the guarantees in the README")
    if not facts.has_schema:
        yield Finding("schema", "fail", "missing", "run `fencepost migrate`")
    if facts.missing_roles:
        yield Finding(
            "roles", "fail", f"missing: {', '.join(facts.missing_roles)}", "run `fencepost migrate`"
        )
    yield from _clock(facts.now)
    yield from _outbox(facts)
    if facts.work is not None:
        yield from _work(facts.work)


def _work(work: WorkFacts) -> Iterator[Finding]:
    """Is work moving? `fencepost stuck` says it of each run."""
    if work.idle_modules:
        said = f"due work and no living worker for {', '.join(work.idle_modules)}"
        yield Finding("workers", "fail", said, "start a worker for them")
    else:
        yield Finding("workers", "ok", f"{work.workers} alive")
    waits = (
        (
            "versions",
            work.unserved,
            "runs wait for a graph version that nobody serves",
            "see `fencepost stuck`",
        ),
        ("sweeps", work.overdue, "leases, questions or attempts are past their end", "is a reconciler up?"),
        ("effects", work.needs_human, "effects wait for a person to say what became of them", "settle them"),
        ("attempts", work.nearly_used, "runs have one attempt left", "see `fencepost stuck`"),
        ("wake-ups", work.poison, "hints could not be read", "see agent.poison_records"),
    )
    found = [Finding(name, "warn", f"{count} {said}", way) for name, count, said, way in waits if count]
    yield from found or [Finding("runs", "ok", "nothing waits for an operator")]


def _clock(database_now: datetime) -> Iterator[Finding]:
    from fencepost_runtime.system import SystemClock

    drift = abs((database_now - SystemClock().now()).total_seconds())
    odd = drift > DRIFT_SECONDS
    way_out = "only logs and tokens suffer; check time synchronisation" if odd else ""
    yield Finding(
        "clock", "warn" if odd else "ok", f"{drift:.1f} s from the database's, which decides", way_out
    )


def _outbox(facts: DatabaseFacts) -> Iterator[Finding]:
    if facts.late_hints:
        way_out = "is a reconciler up, does the broker answer? work goes on by polling"
        yield Finding("outbox", "warn", f"{facts.late_hints} hints older than a minute", way_out)
    if facts.parked_hints:
        way_out = "their work goes on by polling; see their park_reason"
        yield Finding("outbox", "warn", f"{facts.parked_hints} hints parked for good", way_out)
    if not facts.late_hints and not facts.parked_hints:
        yield Finding("outbox", "ok", "nothing is stuck")


def _api() -> Finding:
    import httpx
    from fencepost.profile import NoProfile, find

    try:
        where = find()
        ready = httpx.get(f"{where.url}/readyz", timeout=3, trust_env=False)
    except NoProfile:
        return Finding(
            "api",
            "warn",
            "no api is known here",
            "start `fencepost up`, or set FENCEPOST_URL and FENCEPOST_TOKEN",
        )
    except httpx.TransportError:
        return Finding(
            "api", "fail", f"{where.url} does not answer", "start `fencepost up`, or look into its log"
        )
    if ready.is_success:
        return _ready(where.url, ready.json())
    return Finding("api", "fail", f"{where.url} is not ready ({ready.status_code})", "look into its log")


def _ready(url: str, body: dict[str, Any]) -> Finding:
    """Ready, perhaps without something that it can do without for a while."""
    away = [f"{name} ({verdict})" for name, verdict in body.get("checks", {}).items() if verdict != "ok"]
    if not away:
        return Finding("api", "ok", f"ready at {url}")
    return Finding("api", "warn", f"ready at {url}, without {', '.join(away)}", "see docs/guides/secrets.md")
