"""An operator's day at the command line: what isn't moving and why, a repair, a hand-over and who goes on."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.conftest import Caller

WORDS = "remind me tomorrow at 9 to send the report"


def ops(caller: Caller, *args: str, user: str = "ops", roles: tuple[str, ...] = ("operator",)) -> Any:
    return caller.cli(*args, env={"FENCEPOST_TOKEN": caller.token(user, roles)})


async def test_stuck_says_what_a_run_waits_for_and_a_repair_ends_it(caller: Caller) -> None:
    run = await caller.ask(WORDS)
    said = ops(caller, "stuck")
    assert said.returncode == 0, said.stderr
    assert "needs_approval" in said.stdout and caller.user in said.stdout
    assert f"fencepost repair {run['id'][-8:]} expire-approval" in said.stdout
    assert "report" not in said.stdout, "what was asked for is nobody's business here"
    refused = caller.cli("stuck")
    assert refused.returncode != 0 and "operator" in refused.stderr
    wrong = ops(caller, "repair", run["id"][-8:], "release-lease", "--reason", "try")
    assert wrong.returncode == 1 and "nobody holds it" in wrong.stderr
    done = ops(caller, "repair", run["id"][-8:], "expire-approval", "--reason", "she left the company")
    assert done.returncode == 0, done.stderr
    ended = await caller.client.wait(run["id"], 30)
    assert (ended["status"], ended["finalization"]["reason"]) == ("expired", "approval_expired")
    log = caller.cli("show", run["id"], "--events", "--json")
    [told] = [e for e in json.loads(log.stdout)["events"] if e["type"] == "run.repaired"]
    assert (told["actor"], told["payload"]["reason"]) == ("user:ops", "she left the company")
    assert "finished" in ops(caller, "stuck", run["id"]).stdout


async def test_a_run_is_handed_over_and_another_person_goes_on(caller: Caller) -> None:
    run = await caller.ask(WORDS)
    missing = caller.cli("handoff", run["id"])
    assert missing.returncode == 2 and "--note" in missing.stderr
    given = caller.cli("handoff", run["id"], "--note", "I am away", "--to", "bob")
    assert given.returncode == 0, given.stderr
    assert "left: life.create_reminder" in given.stdout and "I am away" in given.stdout
    shown = ops(caller, "handoff", run["id"], "--show", "--json", user="bob", roles=("user",))
    package = json.loads(shown.stdout)
    assert (package["goal"], package["assignee"]) == (WORDS, "bob")
    bobs = ops(caller, "handoff", run["id"], "--continue", "--json", user="bob", roles=("user",))
    going = json.loads(bobs.stdout)
    assert bobs.returncode == 4, "it waits on a person: nothing is done on another's yes"
    assert (going["continues"], going["user_id"]) == (run["id"], "bob")
    assert going["input"]["continues"]["plan_left"][0]["tool"] == "life.create_reminder"
    approved = ops(caller, "approve", going["id"], user="bob", roles=("user",))
    assert approved.returncode == 0, approved.stderr
    again = caller.cli("handoff", run["id"], "--continue")
    assert again.returncode == 1 and "goes on from it already" in again.stderr
