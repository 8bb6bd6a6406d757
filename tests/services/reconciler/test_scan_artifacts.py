"""The scan finds what was lost, tells the run that made it, and removes what nobody's row names (I29)."""

from __future__ import annotations

import hashlib
import os
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from fencepost_domain.artifact import ArtifactStatus
from fencepost_reconciler.loops.scan_artifacts import ScanArtifacts
from fencepost_runtime.artifacts import ArtifactsUnavailable, key_of
from fencepost_runtime.artifacts.filesystem import FilesystemArtifacts
from fencepost_store.artifacts import NewArtifact, add_artifact

from tests.support import s3
from tests.support.lives import TENANT, USER, Lives

AT_ONCE = timedelta(0)


async def stored(lives: Lives, files: FilesystemArtifacts, run_id: UUID | None = None) -> UUID:
    data = b"bytes of a file"
    new = NewArtifact(
        lives.ids.uuid7(), TENANT, USER, "a.txt", "text/plain", len(data), hashlib.sha256(data).digest(),
        ArtifactStatus.VERIFIED, origin="tool" if run_id else "upload", run_id=run_id,
    )  # fmt: skip
    await files.put(key_of(TENANT, new.id), data)
    async with lives.api.transaction(TENANT) as tx:
        artifact_id, fresh = await add_artifact(tx, new)
    assert fresh
    return artifact_id


@pytest.fixture
def files(lives: Lives, tmp_path: Path) -> FilesystemArtifacts:
    return FilesystemArtifacts(tmp_path / "files", lives.ids)


def path_of(tmp_path: Path, artifact_id: UUID) -> Path:
    return tmp_path / "files" / str(TENANT) / str(artifact_id)


async def findings(lives: Lives) -> dict[UUID, str | None]:
    return {row["id"]: row["lost"] for row in await lives.sql("SELECT id, lost FROM agent.artifacts")}


async def test_i29_the_scan_tells_what_is_missing_and_what_is_altered(
    lives: Lives, files: FilesystemArtifacts, tmp_path: Path
) -> None:
    held = await lives.claimed()
    right, gone, other = [await stored(lives, files, run_id) for run_id in (None, held.run.id, held.run.id)]
    path_of(tmp_path, gone).unlink()
    path_of(tmp_path, other).write_bytes(b"other bytes")
    scan = ScanArtifacts(lives.reconciler, files, AT_ONCE)
    assert await scan.run_once() == {"right": 1, "missing": 1, "altered": 1}
    assert await findings(lives) == {right: None, gone: "missing", other: "altered"}
    await scan.run_once()  # told once
    told = await lives.sql(
        "SELECT convert_from(p.payload, 'UTF8')::jsonb AS payload FROM agent.run_events e"
        " JOIN agent.run_event_payloads p USING (run_id, seq) WHERE e.type = 'artifact.lost' ORDER BY e.seq"
    )
    assert {(t["payload"]["artifact_id"], t["payload"]["reason"]) for t in told} == {
        (str(gone), "missing"), (str(other), "altered")
    }  # fmt: skip
    assert len(told) == 2
    path_of(tmp_path, other).write_bytes(b"bytes of a file")
    await scan.run_once()
    assert (await findings(lives))[other] is None
    assert await lives.violations() == []


async def test_an_end_stays_an_end_when_its_file_is_lost(
    lives: Lives, files: FilesystemArtifacts, tmp_path: Path
) -> None:
    """After the terminal event only this observation follows; status and finalization are what they were."""
    held = await lives.claimed()
    gone = await stored(lives, files, held.run.id)
    await lives.finalize(held)
    path_of(tmp_path, gone).unlink()
    await ScanArtifacts(lives.reconciler, files, AT_ONCE).run_once()
    events = await lives.sql("SELECT type FROM agent.run_events WHERE run_id = %s ORDER BY seq", held.run.id)
    assert events[-1]["type"] == "artifact.lost"
    assert (await lives.run(held.run.id))["status"] == "succeeded"
    assert await lives.violations() == []


async def test_each_is_looked_at_once_a_round(lives: Lives, files: FilesystemArtifacts) -> None:
    await stored(lives, files)
    scan = ScanArtifacts(lives.reconciler, files)
    assert await scan.run_once() == {}
    await lives.sql("UPDATE agent.artifacts SET checked_at = now() - interval '25 hours'")
    assert await scan.run_once() == {"right": 1}
    assert await scan.run_once() == {}


async def test_bytes_without_a_row_are_removed_when_they_are_old(
    lives: Lives, files: FilesystemArtifacts, tmp_path: Path
) -> None:
    known = await stored(lives, files)
    young, old = lives.ids.uuid7(), lives.ids.uuid7()
    for artifact_id in (young, old):
        await files.put(key_of(TENANT, artifact_id), b"left over")
    long_ago = path_of(tmp_path, old).stat().st_mtime - 2 * 86_400
    for artifact_id in (known, old):
        os.utime(path_of(tmp_path, artifact_id), (long_ago, long_ago))
    assert await ScanArtifacts(lives.reconciler, files).run_once() == {"removed": 1}
    assert {path.name for path in (tmp_path / "files" / str(TENANT)).iterdir()} == {str(known), str(young)}


async def test_a_store_that_does_not_answer_is_no_finding(lives: Lives, files: FilesystemArtifacts) -> None:
    artifact_id = await stored(lives, files)
    async with s3.standing_in() as server:
        assert server.standin is not None
        server.standin.fail = 403
        away = s3.artifacts(server)
        with pytest.raises(ArtifactsUnavailable):
            await ScanArtifacts(lives.reconciler, away, AT_ONCE).run_once()
    assert await findings(lives) == {artifact_id: None}
