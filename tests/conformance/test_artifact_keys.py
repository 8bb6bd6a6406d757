"""A bucket whose keys are kept elsewhere: the store opens without them, and goes on when they are back."""

import pytest
from fencepost_runtime.artifacts import ArtifactsUnavailable, key_of, open_artifacts
from fencepost_runtime.secret_sources import SecretMissing, Secrets, SecretsUnavailable
from fencepost_runtime.settings import ArtifactSettings
from fencepost_runtime.system import SystemClock, SystemIds

from tests.support import s3
from tests.support.lives import TENANT

IDS = SystemIds()


class Vault:
    """A source that is away, has nothing, or answers."""

    def __init__(self) -> None:
        self.error: Exception | None = SecretsUnavailable("vault does not answer")
        self.asked = 0

    async def read(self, rest: str) -> str:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return s3.KEY_ID if rest.endswith("#id") else s3.SECRET

    async def check(self) -> None:
        if self.error is not None:
            raise self.error

    async def close(self) -> None:
        return None


async def test_a_store_opens_while_its_keys_are_away_and_works_when_they_are_back() -> None:
    vault = Vault()
    async with s3.standing_in() as server:
        settings = ArtifactSettings(
            artifacts_url=f"s3://{s3.BUCKET}/files",
            artifacts_endpoint=server.endpoint,
            artifacts_key_id="vault:s3#id",
            artifacts_secret="vault:s3#secret",
        )
        store = open_artifacts(settings, Secrets({"vault": vault}), IDS, SystemClock())
        assert store is not None and vault.asked == 0, "nothing is asked at the start"
        key = key_of(TENANT, IDS.uuid7())
        for away in (SecretsUnavailable("away"), SecretMissing("vault:s3#id", "no such field")):
            vault.error = away
            with pytest.raises(ArtifactsUnavailable) as told:
                await store.put(key, b"x")
            assert s3.SECRET not in str(told.value)
            with pytest.raises(ArtifactsUnavailable):
                await store.check()
        vault.error = None
        await store.put(key, b"x")
        assert await store.read(key) == b"x"
        assert vault.asked >= 4
