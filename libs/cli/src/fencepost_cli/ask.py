"""Asking the person at the terminal: yes, no, edit; or the answer to a question."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import click
import typer
from fencepost.client import Client
from fencepost_runtime.system import SystemIds

from fencepost_cli import render
from fencepost_cli.console import say, warn


def ask_person(client: Client, interrupt: dict[str, Any]) -> bool:
    """Show the question, take the answer, send it. False when the person would rather not answer now."""
    for line in render.interrupt_lines(interrupt):
        say(line)
    try:
        resolution = _approval(interrupt) if interrupt["kind"] == "approval" else _answer(interrupt)
    except (typer.Abort, click.exceptions.Abort, KeyboardInterrupt, EOFError):
        warn("")  # Ctrl-C leaves the prompt, not the run: it waits on
        return False
    if resolution is None:
        return False
    client.interrupts.resolve(interrupt["id"], resolution, idempotency_key=str(SystemIds().uuid7()))
    return True


def _approval(interrupt: dict[str, Any]) -> dict[str, Any] | None:
    """One decision for all actions it asks for; several are decided one by one."""
    asked = actions_of(interrupt)
    if len(asked) > 1:
        decisions = []
        for action in asked:
            say(f"  {action['index']}: {action.get('tool', '')}")
            one = _decide(action)
            if one is None:
                return None
            decisions.append({"index": action["index"], **one})
        return {"decisions": decisions}
    return _decide(asked[0] if asked else {})


def actions_of(interrupt: dict[str, Any]) -> list[dict[str, Any]]:
    """The actions of an approval: its preview is a list of them, or one preview."""
    preview = interrupt.get("preview")
    if isinstance(preview, list):
        return [p for p in preview if isinstance(p, dict) and "index" in p]
    return [preview] if isinstance(preview, dict) else []


def _decide(action: dict[str, Any]) -> dict[str, Any] | None:
    while True:
        given = typer.prompt("Do it? [y]es, [n]o, [e]dit, [q]uit asking", default="q", show_default=False)
        match given.strip().lower():
            case "y" | "yes":
                return {"decision": "approve"}
            case "n" | "no":
                return {"decision": "reject"}
            case "e" | "edit":
                edited = _edit(action.get("arguments") or {})
                if edited is not None:
                    return {"decision": "approve", "arguments": edited}
            case "q":
                return None
            case _:
                warn("y, n, e or q")


def _edit(arguments: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments in the user's editor; None when they were left as they are or are no JSON object."""
    text = click.edit(json.dumps(arguments, ensure_ascii=False, indent=2), extension=".json")
    if text is None:
        warn("unchanged")
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        warn(f"not JSON: {error}")
        return None
    if not isinstance(value, dict):
        warn("the arguments are a JSON object")
        return None
    return value


def _answer(interrupt: dict[str, Any]) -> dict[str, Any] | None:
    given = str(typer.prompt("Your answer (empty: not now)", default="", show_default=False)).strip()
    return answer_to(interrupt, given) if given else None


def answer_to(interrupt: dict[str, Any], given: str) -> dict[str, Any]:
    """A choice when it names a candidate (by id or place), a value where the question's schema asks for more
    than words, else free text."""
    candidates = interrupt.get("candidates") or []
    for place, candidate in enumerate(candidates, start=1):
        if given in (candidate["id"], str(place)):
            return {"choice": candidate["id"]}
    schema = interrupt.get("input_schema")
    if schema is not None and schema.get("type") != "string":
        with contextlib.suppress(ValueError):  # then it is told what it takes
            return {"value": json.loads(given)}
    return {"text": given}
