"""`export`, `verify`, `replay`, `erase`: a run's log as evidence, with and without a database."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer
from fencepost.client import Client
from fencepost.profile import default_data_dir

from fencepost_cli.bundles import check_bundle, fold_bundle, keys_of, signatures_of
from fencepost_cli.commands.runs import RunArgument
from fencepost_cli.console import Exit, Json, command, fail, print_json, say, warn
from fencepost_cli.databases import admin_dsn
from fencepost_cli.ids import run_id, short

DataDir = Annotated[Path | None, typer.Option(help="Of the embedded mode; the usual one if absent.")]
KeyFile = Annotated[
    Path | None, typer.Option("--key", help="Public Ed25519 key(s), a JWK file: check the signature.")
]


@command
def export(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="An id, its ending, or @last.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file; `-` for stdout.")] = None,
    anchors: Annotated[
        bool, typer.Option("--anchors", help="Instead of a run: every signed chain head of the database.")
    ] = False,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Write a run's log as a bundle that anyone can verify offline; or the database's anchors."""
    if anchors == (run is not None):
        raise fail("say which RUN to export, or --anchors", Exit.USAGE)
    if anchors:
        target = output or Path("fencepost-anchors.jsonl")
        count = _export_anchors(target, data_dir)
        told = {"file": str(target), "anchors": count}
        print_json(told) if as_json else _to_person(f"{count} anchors in {target}", target)
        return
    with Client() as client:
        whole = run_id(client, run or "")
        target = output or Path(f"fencepost-{short(whole)}.jsonl")
        with _written(target) as file:
            for part in client.runs.export(whole):
                file.write(part)
    if str(target) == "-":
        return
    checked = check_bundle(target, keep=None)
    if as_json:
        print_json({"file": str(target), **checked.told()})
    else:
        _to_person(
            f"{checked.report.valid_events} events in {target}; check it with: fencepost verify {target}",
            target,
        )
    raise typer.Exit(int(checked.exit_code))


def _to_person(line: str, target: Path) -> None:
    warn(line) if str(target) == "-" else say(line)


@contextmanager
def _written(target: Path) -> Iterator[BinaryIO]:
    """All of it or nothing: a file under the name that was asked for is whole."""
    if str(target) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    partial = target.with_name(f"{target.name}.part")
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except OSError as error:
        raise fail(f"{target}: {error.strerror}", Exit.USAGE) from None
    finally:
        partial.unlink(missing_ok=True)


def _export_anchors(target: Path, data_dir: Path | None) -> int:
    from fencepost_cli.anchor_files import write_all

    with _written(target) as file:
        return asyncio.run(write_all(admin_dsn(data_dir or default_data_dir()), file))


def verify(
    bundle: Annotated[
        Path | None, typer.Argument(metavar="[BUNDLE]", help="An export; the database if absent.")
    ] = None,
    anchors: Annotated[
        Path | None,
        typer.Option(help="Anchors exported before: is the history still the one that was signed?"),
    ] = None,
    anchor_keys: Annotated[
        Path | None, typer.Option(help="Keys that signed the anchors: check that too.")
    ] = None,
    key: KeyFile = None,
    artifacts: Annotated[
        Path | None, typer.Option(help="A folder with the artifacts' files, to compare.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where the unreadable rest of a damaged bundle goes; beside it if absent."),
    ] = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Check a database, or an export offline. Exits with 1 on any violation."""
    if bundle is None:
        if key or artifacts or out:
            raise fail("--key, --artifacts and --out are for a BUNDLE", Exit.USAGE)
        _verify_database(data_dir, anchors, anchor_keys, as_json)
    else:
        _verify_bundle(bundle, anchors, anchor_keys, key, artifacts, out, as_json)


def _verify_bundle(
    bundle: Path, anchors: Path | None, anchor_keys: Path | None, key: Path | None, artifacts: Path | None,
    out: Path | None, as_json: bool,
) -> None:  # fmt: skip
    checked = check_bundle(
        bundle,
        keep=out or bundle.parent,
        anchors=anchors,
        anchor_keys=keys_of(anchor_keys),
        signed=signatures_of(key),
        artifacts=artifacts,
    )
    if as_json:
        print_json(checked.told())
    else:
        for line in checked.lines():
            say(line)
    raise typer.Exit(int(checked.exit_code))


def _verify_database(
    data_dir: Path | None, anchors: Path | None, anchor_keys: Path | None, as_json: bool
) -> None:
    from fencepost_store.integrity import check_invariants
    from psycopg import OperationalError
    from sqlalchemy.exc import OperationalError as EngineError

    from fencepost_cli.anchor_files import compare

    dsn, keys = admin_dsn(data_dir or default_data_dir()), keys_of(anchor_keys)
    try:
        violations = asyncio.run(check_invariants(dsn, keys))
        compared = asyncio.run(compare(dsn, anchors, keys)) if anchors else None
    except (OperationalError, EngineError) as error:
        raise fail(f"the database does not answer: {str(error).splitlines()[0]}", Exit.UNREACHABLE) from None
    found = [_plain(v) for v in violations]
    contradicted = [_plain(f) for f in compared.faults] if compared else []
    if as_json:
        counts = (compared.checked, compared.pruned) if compared else (0, 0)
        outside = {"checked": counts[0], "pruned": counts[1], "faults": contradicted}
        print_json({"violations": found, **({"anchors": outside} if compared else {})})
    else:
        for one in found:
            say(f"{one['invariant']} {one['check']}: {one['subject']}: {one['detail']}")
        for one in contradicted:
            say(f"I20 anchors: run {one['run_id']} seq {one['seq']}: {one['fault']}: {one['detail']}")
        if compared:
            told = f"{compared.checked} compared, {compared.pruned} of pruned runs"
            say(f"anchors: {told}, {len(contradicted)} contradicted")
        say(f"verify: {len(found)} violations")
    raise typer.Exit(int(Exit.FAILED if found or contradicted else Exit.DONE))


def _plain(found: object) -> dict[str, str]:
    from dataclasses import asdict

    return {name: str(value) for name, value in asdict(found).items()}  # type: ignore[call-overload]


@command
def replay(
    run: Annotated[str, typer.Argument(metavar="RUN|BUNDLE", help="A run, or the file of an export.")],
    at_seq: Annotated[
        int | None, typer.Option(min=0, help="As the log stood at this event; the end if absent.")
    ] = None,
    view: Annotated[
        str,
        typer.Option(help="summary, conversation, model_input, tools, audit, usage, trajectory, or diff."),
    ] = "summary",
    as_json: Json = False,
) -> None:
    """Show what a run's log said at any event. Nothing is called and nothing is run again."""
    file = Path(run)
    if file.is_file():
        found = fold_bundle(file, view, at_seq)
    else:
        with Client() as client:
            found = client.runs.replay(run_id(client, run), view=view, at_seq=at_seq)
    if as_json:
        print_json(found)
    else:
        for line in _folded_lines(found):
            say(line)
    raise typer.Exit(int(Exit.FAILED if found.get("verdict") == "degraded" else Exit.DONE))


def _folded_lines(found: Any) -> Any:
    from fencepost_cli.render import value_lines

    yield f"run        {found['run_id']}"
    note = ", degraded: not all of it can be read" if found["degraded"] else ""
    yield f"view       {found['view']} at seq {found['at_seq']} of {found['head_seq']}{note}"
    yield from value_lines(found["result"]) if _says_something(found["result"]) else ("nothing of this yet",)


def _says_something(result: Any) -> bool:
    """Whether a view holds anything: `tools` of a run without calls are two empty lists."""
    return bool(any(result.values()) if isinstance(result, dict) else result)


def erase(
    run: RunArgument,
    reason: Annotated[str, typer.Option(help="Why; kept in the log and in the audit.")],
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Remove for ever what a finished run's history says. That it was there stays, and still verifies."""
    from fencepost_cli.anchor_files import erase_run

    with Client() as client:
        whole = run_id(client, run)
    if not yes and not typer.confirm(f"Remove everything run {whole} said, for ever?"):
        raise fail("nothing was removed")
    gone = asyncio.run(erase_run(admin_dsn(data_dir or default_data_dir()), whole, reason))
    if as_json:
        print_json({"run_id": whole, **asdict(gone)})
        return
    say(f"{gone.payloads} payloads, {gone.values} values of the conversation's state were removed")
    if gone.files:
        say(f"{gone.files} files are listed for removal; the reconciler removes their bytes within seconds")
    for other in gone.made_from:
        say(f"made from it, and holding what it inherited: {other}")
