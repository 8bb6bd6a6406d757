"""The guide's travel desk, installed as its author would: its own tests, and a booking on a real mesh."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
from fencepost.aio import AsyncClient

from tests.brought.desk import Desk
from tests.faults.mesh import mesh_at, new_tenant
from tests.support.eventually import eventually

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "travel"
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "langgraph.md"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as it is when it is installed, entry points and all."""
    target = tmp_path_factory.mktemp("site")
    uv = Path(sys.executable).with_name("uv")
    command = [uv, "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", target, EXAMPLE]
    subprocess.run([*command, "--python", sys.executable], check=True, capture_output=True)
    return target


def test_the_packages_own_tests_pass(installed: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=EXAMPLE,
        env={**os.environ, "PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


async def test_a_train_is_booked_on_a_real_mesh(
    installed: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(installed))
    monkeypatch.syspath_prepend(str(installed))
    folder = tmp_path_factory.mktemp("travel")
    async with mesh_at(folder) as mesh, mesh.client(new_tenant()) as client:
        desk = Desk(mesh, client, folder / "log", "travel")
        run_id = await desk.ask("a train from Bern to Basel, please")
        day = await desk.waits(run_id)
        assert day["question"] == "On which day? For example: 2026-12-24"
        await desk.decide(day, text="2026-12-24")
        train = await after(desk, run_id, day["id"])
        assert [one["label"] for one in train["candidates"]] == [
            "BB1 at 08:10",
            "BB2 at 12:40",
            "BB3 at 18:05",
        ]
        await desk.decide(train, choice="BB2")
        approval = await after(desk, run_id, train["id"])
        assert approval["kind"] == "approval"
        await desk.decide(approval, decision="approve")
        run = await desk.ended(run_id)
        assert run["output"]["text"] == "Booked: BB2 on 2026-12-24."
        rows = await mesh.sql("SELECT train FROM app.travel_bookings")
        assert rows == [("BB2",)]
        assert await mesh.violations() == []
        await greeted(client)


async def greeted(client: AsyncClient) -> None:
    """The other modules go on with our own graph."""
    made = await client.create_run("hello", module="companion", idempotency_key=str(uuid4()))
    assert (await client.wait(made["id"], 60))["status"] == "succeeded"


async def after(desk: Desk, run_id: str, earlier: str) -> dict[str, object]:
    async def other() -> dict[str, object] | None:
        found = await desk.waits(run_id)
        return found if found["id"] != earlier else None

    question = await eventually(other, 60.0)
    assert question is not None
    return question


def test_the_guide_shows_what_the_example_holds() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    for file in ("pyproject.toml", "src/travel/graph.py"):
        assert file in text
    for line in ('travel = "travel.graph"', "VERSION"):
        assert (
            line in (EXAMPLE / "pyproject.toml").read_text() + (EXAMPLE / "src/travel/graph.py").read_text()
        )
        assert line in text
