"""The recovery gate's questions to the world outside the database: secrets taken anew, files read again."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fencepost_runtime.artifacts import key_of
from fencepost_runtime.artifacts.filesystem import FilesystemArtifacts
from fencepost_store.artifacts import NewArtifact, add_artifact

from tests.services.worker.bench import Bench
from tests.services.worker.test_recovery_gate import checks, waiting_to_be_approved
from tests.support.eventually import eventually
from tests.support.scripted_model import text_answer
from tests.support.worker_runs import TENANT, USER


async def test_a_secret_that_is_away_is_waited_for_and_then_it_goes_on(bench: Bench, tmp_path: Path) -> None:
    key = tmp_path / "model-key"
    run_id, asked = await waiting_to_be_approved(bench)
    await bench.resolve(run_id, asked, {"decision": "approve"})
    bench.model.answer(text_answer("done"))
    async with bench.working(model_key_from=f"file:{key}"):

        async def waits() -> bool:
            return any(one["check"] == "secrets" for one in await checks(bench, run_id))

        await eventually(waits, 15.0)
        told = {one["check"]: one for one in await checks(bench, run_id)}
        assert told["secrets"]["answer"] == "wait" and str(key) in told["secrets"]["detail"]
        key.write_text("a-key-of-the-model-0123456789")
        await bench.runs.run("UPDATE agent.runs SET available_at = clock_timestamp() WHERE id = %s", run_id)
        assert await bench.ended(run_id) == "succeeded"
    [(attempt,)] = await bench.runs.fetch("SELECT attempt FROM agent.runs WHERE id = %s", run_id)
    assert attempt == 1, "waiting for a secret is no attempt of its own"
    assert (await checks(bench, run_id))[-3]["answer"] == "ok"
    assert await bench.violations() == []


async def test_i29_a_file_that_is_not_what_it_was_is_told_by_the_gate(bench: Bench, tmp_path: Path) -> None:
    files = FilesystemArtifacts(tmp_path / "artifacts", bench.runs.ids)
    run_id, asked = await waiting_to_be_approved(bench)
    right, altered, gone = [bench.runs.ids.uuid7() for _ in range(3)]
    for one in (right, altered, gone):
        new = NewArtifact(
            one, TENANT, USER, "a.txt", "text/plain", 3, hashlib.sha256(b"abc").digest(),
            origin="tool", run_id=run_id,
        )  # fmt: skip
        async with bench.runs.worker.transaction() as tx:
            await add_artifact(tx, new)
        if one is not gone:
            await files.put(key_of(TENANT, one), b"abc")
    (tmp_path / "artifacts" / str(TENANT) / str(altered)).write_bytes(b"abd")
    await bench.resolve(run_id, asked, {"decision": "approve"})
    bench.model.answer(text_answer("done"))
    async with bench.working(data_dir=tmp_path):
        assert await bench.ended(run_id) == "succeeded"
    told = next(one for one in await checks(bench, run_id) if one["check"] == "artifacts")
    assert told["answer"] == "repair"
    assert str(altered) in told["detail"] and str(gone) in told["detail"] and str(right) not in told["detail"]
