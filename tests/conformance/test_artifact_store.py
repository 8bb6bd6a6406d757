"""One suite for every artifact store: a folder, a stand-in that speaks S3, a real S3 server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest
import pytest_asyncio
from fencepost_runtime.artifacts import (
    ArtifactExists,
    ArtifactMissing,
    ArtifactStore,
    ArtifactsUnavailable,
    key_of,
)
from fencepost_runtime.artifacts.filesystem import TEMPORARY, FilesystemArtifacts
from fencepost_runtime.artifacts.s3 import S3Artifacts
from fencepost_runtime.failpoints import DIRECTORY_VARIABLE, Action, FailpointError, arm
from fencepost_runtime.system import SystemClock, SystemIds

from tests.support import s3

TENANT = UUID("0190b000-0000-7000-8000-0000000000a1")
IDS = SystemIds()
BIG = bytes(range(256)) * 40_960  # 10 MB


@dataclass(slots=True)
class Under:
    store: ArtifactStore
    root: Path | None = None
    server: s3.S3 | None = None


def new_key() -> str:
    return key_of(TENANT, IDS.uuid7())


def bucket(server: s3.S3, prefix: str = "some/prefix", secret: str = s3.SECRET) -> S3Artifacts:
    return s3.artifacts(server, prefix, secret)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def real() -> AsyncIterator[s3.S3 | None]:
    binary = s3.server_binary()
    if binary is None:
        yield None
        return
    async with s3.real(binary) as server:
        yield server


@pytest_asyncio.fixture(params=["folder", "stand-in", "real"], loop_scope="session")
async def under(request: pytest.FixtureRequest, tmp_path: Path, real: s3.S3 | None) -> AsyncIterator[Under]:
    if request.param == "folder":
        yield Under(FilesystemArtifacts(tmp_path / "artifacts", IDS), root=tmp_path / "artifacts")
    elif request.param == "stand-in":
        async with s3.standing_in() as server:
            yield Under(bucket(server), server=server)
    elif real is None:
        pytest.skip(s3.NONE_BUILT)
    else:
        yield Under(bucket(real, prefix=f"run-{IDS.uuid7()}"), server=real)


@pytest.mark.parametrize("data", [b"", b"x", "报告".encode(), BIG], ids=["empty", "small", "words", "10 MB"])
async def test_what_is_put_is_read(under: Under, data: bytes) -> None:
    key = new_key()
    await under.store.put(key, data)
    assert await under.store.read(key) == data


async def test_a_key_is_used_once(under: Under) -> None:
    key = new_key()
    await under.store.put(key, b"first")
    with pytest.raises(ArtifactExists):
        await under.store.put(key, b"second")
    assert await under.store.read(key) == b"first"


async def test_of_many_writers_of_one_key_one_has_it(under: Under) -> None:
    key = new_key()
    ends = await asyncio.gather(
        *(under.store.put(key, bytes([n]) * 50_000) for n in range(8)), return_exceptions=True
    )
    assert ends.count(None) == 1 and all(end is None or isinstance(end, ArtifactExists) for end in ends)
    assert await under.store.read(key) == bytes([ends.index(None)]) * 50_000


async def test_what_is_not_there_is_missing(under: Under) -> None:
    with pytest.raises(ArtifactMissing):
        await under.store.read(new_key())
    key = new_key()
    await under.store.put(key, b"x")
    await under.store.delete(key)
    await under.store.delete(key)  # again is the same
    with pytest.raises(ArtifactMissing):
        await under.store.read(key)


async def test_all_that_is_stored_is_listed(under: Under) -> None:
    keys = {new_key(): n for n in range(3)}
    for key, size in keys.items():
        await under.store.put(key, b"x" * size)
    found = {one.key: one.size async for one in under.store.stored()}
    assert {key: found[key] for key in keys} == keys
    await under.store.check()


@pytest.mark.parametrize(
    "key", ["", "..", "../../etc/passwd", f"{TENANT}/..", f"{TENANT}/../x", f"../{TENANT}",
            f"{TENANT}/x\x00y", f"{TENANT}", f"/{TENANT}/{TENANT}", f"{TENANT}/{TENANT}/x",
            f"{TENANT}/{TENANT}\n"]
)  # fmt: skip
async def test_nothing_but_two_ids_is_a_key(under: Under, key: str) -> None:
    for call in (under.store.put(key, b"x"), under.store.read(key), under.store.delete(key)):
        with pytest.raises(ValueError, match="key of the artifact store"):
            await call


@pytest.fixture
def folder(tmp_path: Path) -> FilesystemArtifacts:
    return FilesystemArtifacts(tmp_path / "artifacts", IDS)


async def test_fi1_links_lead_nowhere(folder: FilesystemArtifacts, tmp_path: Path) -> None:
    """A link in place of a file or a tenant's folder: nothing outside is read, written or removed (FI-1)."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("not ours")
    key = new_key()
    await folder.put(key, b"x")
    name = key.partition("/")[2]
    path = tmp_path / "artifacts" / str(TENANT) / name
    path.unlink()
    path.symlink_to(outside / "secret")
    with pytest.raises(ArtifactMissing):
        await folder.read(key)
    assert [one.key async for one in folder.stored()] == []
    other = UUID(int=TENANT.int + 1)
    (tmp_path / "artifacts" / str(other)).symlink_to(outside)
    with pytest.raises(ArtifactsUnavailable):
        await folder.put(key_of(other, IDS.uuid7()), b"x")
    (outside / name).write_text("not ours")
    with pytest.raises(ArtifactMissing):
        await folder.read(f"{other}/{name}")
    await folder.delete(f"{other}/{name}")
    assert sorted(p.name for p in outside.iterdir()) == sorted(["secret", name])


async def test_a_crash_before_the_link_leaves_nothing_under_the_key(
    folder: FilesystemArtifacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path / "points"))
    arm(tmp_path / "points", "api.artifact.before_link", Action.ERROR)
    key = new_key()
    with pytest.raises(FailpointError):
        await folder.put(key, b"whole")
    with pytest.raises(ArtifactMissing):
        await folder.read(key)
    assert list((tmp_path / "artifacts" / TEMPORARY).iterdir()) == []
    await folder.put(key, b"whole")
    assert await folder.read(key) == b"whole"


async def test_a_real_server_refuses_a_wrong_secret_and_a_bucket_that_is_none(real: s3.S3 | None) -> None:
    if real is None:
        pytest.skip(s3.NONE_BUILT)
    elsewhere = S3Artifacts(
        "nowhere", "", region="us-east-1", endpoint=real.endpoint, keys=s3.keys_of(), clock=SystemClock()
    )
    for store in (bucket(real, secret="wrong"), elsewhere):
        for call in (store.put(new_key(), b"x"), store.read(new_key()), store.check()):
            with pytest.raises((ArtifactsUnavailable, ArtifactMissing)) as failed:
                await call
            assert s3.SECRET not in str(failed.value)


async def test_a_server_that_fails_is_unavailable_and_quotes_nothing() -> None:
    async with s3.standing_in() as server:
        assert server.standin is not None
        server.standin.fail = 403
        store = bucket(server, secret="wrong")
        for call in (store.put(new_key(), b"x"), store.read(new_key()), store.check()):
            with pytest.raises(ArtifactsUnavailable) as failed:
                await call
            assert s3.SECRET not in str(failed.value) and failed.value.__cause__ is None
