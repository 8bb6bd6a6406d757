"""`intent`: what the rules layer understands of a sentence; scoring over a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from fencepost_runtime.system import SystemClock

from fencepost_cli.console import Exit, Json, fail, print_json, say
from fencepost_cli.zone import local_zone


def intent(
    text: Annotated[str | None, typer.Argument(help="A sentence, Chinese or English.")] = None,
    reference: Annotated[str | None, typer.Option(help="RFC 3339 instant with zone; now if absent.")] = None,
    zone: Annotated[str | None, typer.Option(help="Time zone (IANA); this machine's if absent.")] = None,
    locale: Annotated[str | None, typer.Option(help="zh or en.")] = None,
    batch: Annotated[Path | None, typer.Option(help="JSONL of {id, text, reference, zone, locale?}.")] = None,
    evaluate: Annotated[
        Path | None, typer.Option("--eval", help="JSONL with `expected`; prints the score.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what is understood: intent, slots, times, amounts. Needs no service and no model."""
    if sum(option is not None for option in (text, batch, evaluate)) != 1:
        raise fail("give a sentence, or --batch FILE, or --eval FILE", Exit.USAGE)
    if evaluate is not None:
        _score(evaluate, as_json=as_json)
    elif batch is not None:
        for _, row in _rows(batch):
            print_json({"id": row.get("id"), **_detect(row)})
    else:
        found = _detect(
            {"text": text, "reference": reference, "zone": zone or local_zone(), "locale": locale}
        )
        print_json(found) if as_json else _tell(found)


def _detect(row: dict[str, Any]) -> dict[str, Any]:
    from fencepost_intents import detect

    try:
        reference = datetime.fromisoformat(row["reference"]) if row.get("reference") else SystemClock().now()
        if reference.tzinfo is None:
            raise ValueError("reference has no zone")
        found = detect(str(row["text"]), reference=reference, zone=row.get("zone"), locale=row.get("locale"))
    except (KeyError, ValueError) as error:
        raise fail(f"{row.get('id', 'the sentence')}: {error}", Exit.USAGE) from None
    return found.to_json()


def _tell(found: dict[str, Any]) -> None:
    say(f"{found['intent']}  (confidence {found['confidence']:.2f}, risk {found.get('risk_level')})")
    for name, slot in (found.get("slots") or {}).items():
        value = slot.get("value", slot) if isinstance(slot, dict) else slot
        say(f"  {name}: {json.dumps(value, ensure_ascii=False)}")
    if found.get("required_slots"):
        say(f"  missing: {', '.join(found['required_slots'])}")


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """A file's rows, each with its line. Exits with 2, naming the line, on what is no row."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise fail(f"{path}: {error}", Exit.USAGE) from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise fail(f"{path}:{number}: not JSON: {error}", Exit.USAGE) from None
        if not isinstance(row, dict) or "text" not in row:
            raise fail(f"{path}:{number}: an object with `text` is expected", Exit.USAGE)
        yield number, row


def _score(path: Path, *, as_json: bool) -> None:
    from fencepost_intents.evaluate import evaluate

    at = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal at
        for number, row in _rows(path):
            at = number
            yield row

    try:
        report = evaluate(rows())
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise fail(f"{path}:{at}: this row can't be scored: {error}", Exit.USAGE) from None
    print_json(report.to_json()) if as_json else say(str(report))
    raise typer.Exit(int(Exit.FAILED if report.wrong_and_sure else Exit.DONE))
