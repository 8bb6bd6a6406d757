"""Which approval is meant: of an own run, or one of somebody else's that this person may decide."""

from __future__ import annotations

from typing import Any, Final

from fencepost.client import Client
from fencepost.errors import ApiError

from fencepost_cli.console import Exit, fail
from fencepost_cli.ids import LAST, run_id

APPROVAL: Final = ("approval",)


def interrupt_of(
    client: Client, given: str, kinds: tuple[str, ...] = APPROVAL
) -> tuple[str | None, dict[str, Any]]:
    """The run, where it may be seen, and its open interrupt of such a kind. Exits with 2 when there is none.

    given: a run as `run_id` takes it; for an approval also its own id, or an ending of either.
    """
    if kinds == APPROVAL and given != LAST:
        seen = _seen(client, given)
        if seen is not None:
            return seen
    whole = run_id(client, given)
    state = client.runs.get(whole)
    interrupt = state.get("interrupt")
    if not interrupt or interrupt["status"] != "open":
        raise fail(f"run {whole} is {state['status']} and asks nothing", Exit.USAGE)
    if interrupt["kind"] not in kinds:
        verb = "approve or reject" if interrupt["kind"] == "approval" else "answer"
        raise fail(f"run {whole} asks for {interrupt['kind']}: use {verb}", Exit.USAGE)
    return whole, interrupt


def _seen(client: Client, given: str) -> tuple[str | None, dict[str, Any]] | None:
    """An open approval by its own id or its run's: approvers see those of others, without the run."""
    ending = given.removeprefix("…").lower()
    rows = client.interrupts.list(kind="approval", status="open", limit=200).items
    found = [row for row in rows if str(row["id"]).endswith(ending) or str(row["run_id"]).endswith(ending)]
    if not ending or len(found) != 1:
        return None
    interrupt = dict(client.interrupts.get(found[0]["id"]))
    try:
        return str(client.runs.get(interrupt["run_id"])["id"]), interrupt
    except ApiError as error:
        if error.status != 404:
            raise
        return None, interrupt
