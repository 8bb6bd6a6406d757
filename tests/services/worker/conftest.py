"""A bench a test: worker, scripted model, scripted gateway, real database. A stage: one for all of a file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.services.worker import transcripts
from tests.services.worker.bench import Bench, benches
from tests.services.worker.stage import Stage, opened
from tests.services.worker.walks import said_by, watch
from tests.support.postgres import Cluster, Database, cloned


@pytest.fixture
async def bench(database: Database) -> AsyncIterator[Bench]:
    async with benches(database) as one:
        yield one


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def opened_stage(postgres_cluster: Cluster, migrated_template: str) -> AsyncIterator[Stage]:
    """A worker at work and its scripted others, for a file's tests one after the other."""
    with cloned(postgres_cluster, migrated_template) as database:
        async with benches(database) as bench, opened(bench) as stage:
            yield stage
            assert await bench.violations() == []


@pytest.fixture
async def stage(opened_stage: Stage) -> Stage:
    opened_stage.clear()
    return opened_stage


@pytest.fixture(autouse=True)
def walked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """What the test walked of the graph; less than its mark says is a failure of it."""
    mark = request.node.get_closest_marker("walks")
    seen = watch(monkeypatch) if mark is not None else set()
    yield seen
    if mark is not None:
        params = request.node.callspec.params if hasattr(request.node, "callspec") else {}
        missing = sorted(said_by(mark, params) - seen)
        assert not missing, f"it didn't walk {missing}; it walked {sorted(seen)}"


@pytest.fixture(autouse=True)
def transcript(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test that walks a path of the graph asked of the provider, compared with what is kept of it."""
    told = request.node.get_closest_marker("transcript")
    marked = bool(told.kwargs.get("kept", True) if told else request.node.get_closest_marker("walks"))
    names = {"stage", "bench"} & set(request.fixturenames)
    if not marked or not names:
        yield
        return
    found = request.getfixturevalue("stage" if "stage" in names else "bench")
    model = found.bench.model if isinstance(found, Stage) else found.model
    yield
    transcripts.check(request.node.name, model.requests)
