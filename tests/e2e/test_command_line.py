"""The command line as a script meets it: exit codes, JSON, ids by their endings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.e2e.conftest import Caller


async def test_a_run_that_waits_on_a_person_exits_with_4_and_an_approval_with_0(caller: Caller) -> None:
    waits = caller.cli("run", "明天上午九点提醒我交周报", "--zone", "Asia/Shanghai")
    assert waits.returncode == 4, waits.stderr
    assert "北京时间" in waits.stdout

    done = caller.cli("approve", "@last")
    assert done.returncode == 0, done.stderr
    assert "succeeded" in done.stdout


async def test_a_rejection_that_was_asked_for_exits_with_0(caller: Caller) -> None:
    run = caller.cli_json("run", "明天上午九点提醒我交周报", "--zone", "Asia/Shanghai", "--detach")
    await caller.client.wait(run["id"])

    done = caller.cli("reject", run["id"][-8:], "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["finalization"]["reason"] == "approval_rejected"


async def test_an_answer_is_given_by_its_number_or_in_words(caller: Caller) -> None:
    made = await caller.ask("remind me tomorrow at 9 to call Bob", zone=None)
    assert made["waiting_on"] == "input"

    answered = caller.cli("answer", "@last", "Asia/Shanghai")
    assert answered.returncode == 4, answered.stderr  # it asks for the approval now
    assert "call Bob" in answered.stdout


async def test_runs_show_and_watch_tell_the_same(caller: Caller) -> None:
    made = await caller.ask("hello")

    listed = caller.cli_json("runs")
    assert [r["id"] for r in listed["items"]] == [made["id"]]
    shown = caller.cli_json("show", "@last", "--events")
    assert shown["events"][0]["type"] == "run.requested"
    assert shown["events"][-1]["type"] == "run.finalized"
    watched = caller.cli("watch", "@last", "--json")
    assert watched.returncode == 0
    assert json.loads(watched.stdout.splitlines()[-1])["event"] == "run.finished"


async def test_pause_and_resume_and_cancel(caller: Caller) -> None:
    made = await caller.ask("明天上午九点提醒我交周报")

    assert caller.cli_json("pause", "@last")["status"] == "paused"
    assert caller.cli_json("resume", "@last")["status"] == "waiting"
    assert caller.cli("cancel", "@last").returncode == 0
    ended = await caller.client.wait(made["id"])
    assert ended["finalization"]["reason"] == "user_cancelled"
    refused = caller.cli("cancel", "@last")
    assert refused.returncode == 1 and "run_finished" in refused.stderr


async def test_usage_errors_exit_with_2_and_name_the_way_out(caller: Caller) -> None:
    nothing = caller.cli("show", "@last")
    assert nothing.returncode == 2 and "no run yet" in nothing.stderr
    unknown = caller.cli("show", "ffffffff")
    assert unknown.returncode == 2 and "ends in it" in unknown.stderr
    bad_zone = caller.cli("run", "hello", "--zone", "Mars/Olympus")
    assert bad_zone.returncode == 2 and "zone" in bad_zone.stderr
    await caller.ask("hello")
    idle = caller.cli("approve", "@last")
    assert idle.returncode == 2 and "asks nothing" in idle.stderr


def test_an_unreachable_service_exits_with_3(tmp_path: Path) -> None:
    env = {**os.environ, "FENCEPOST_URL": "http://127.0.0.1:9", "FENCEPOST_TOKEN": "x"}
    command = [sys.executable, "-P", "-m", "fencepost_cli.main"]
    done = subprocess.run(
        [*command, "runs"], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 3 and "fencepost up" in done.stderr
    bare = {k: v for k, v in os.environ.items() if not k.startswith("FENCEPOST_")}
    bare["FENCEPOST_DATA_DIR"] = str(tmp_path)
    done = subprocess.run(
        [*command, "runs"], env=bare, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 3 and "fencepost up" in done.stderr


async def test_verify_finds_nothing_to_say(caller: Caller) -> None:
    await caller.resolve(await caller.ask("明天上午九点提醒我交周报"), decision="approve")

    done = caller.cli("verify", env={"FENCEPOST_DATABASE_URL": caller.mesh.dsn("admin")})
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "verify: 0 violations"), done.stdout
