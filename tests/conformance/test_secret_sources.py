"""Every place secrets come from: what it gives is masked from then on, what it can't give is said by name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio
from fencepost_runtime.secret_sources import SecretMissing, Secrets, SecretsUnavailable, make_secrets
from fencepost_runtime.secret_sources.vault import FRESH_SECONDS, STALE_SECONDS, VaultSecrets
from fencepost_runtime.secrets import MASK, redact
from fencepost_runtime.settings import SecretSettings, SettingsError, load_settings
from fencepost_tool_gateway import secrets as names

from tests.support.vault import Vault, vaulting

VALUE = "canary-of-a-source-5512"


class Clock:
    """Moves only when it is told to."""

    def __init__(self) -> None:
        self.at = 1000.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)

    def monotonic(self) -> float:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest_asyncio.fixture(loop_scope="session")
async def vault(clock: Clock) -> AsyncIterator[Vault]:
    async with vaulting(clock) as running:
        running.secrets["payments/stripe"] = {"key": VALUE}
        yield running


def opened(vault: Vault, clock: Clock, **settings: str) -> Secrets:
    return make_secrets(load_settings(SecretSettings, vault_address=vault.url, **settings), clock)


@pytest_asyncio.fixture(loop_scope="session")
async def by_token(vault: Vault, clock: Clock, tmp_path: Path) -> AsyncIterator[Secrets]:
    (tmp_path / "token").write_text(vault.issue())
    secrets = opened(vault, clock, vault_token=f"file:{tmp_path / 'token'}")
    yield secrets
    await secrets.close()


async def test_a_variable_and_a_file(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = make_secrets(load_settings(SecretSettings), clock)
    monkeypatch.setenv("SOME_KEY", "canary-variable-1")
    file = tmp_path / "key"
    file.write_text("canary-file-1\n")
    assert await secrets.read("env:SOME_KEY") == "canary-variable-1"
    assert await secrets.read(f"file:{file}") == "canary-file-1"
    file.write_text("canary-file-2")  # rotated: counts at once
    assert await secrets.read(f"file:{file}") == "canary-file-2"
    assert redact("canary-variable-1 canary-file-1 canary-file-2") == f"{MASK} {MASK} {MASK}"


@pytest.mark.parametrize(
    "reference",
    ["env:NOT_SET", "env:", "env:A B", "file:/nowhere/at/all", "file:relative", "file:", "vault:a#b", "plain",
     "", "ftp:x"],
)  # fmt: skip
async def test_what_is_not_there_is_said_by_its_reference(clock: Clock, reference: str) -> None:
    with pytest.raises(SecretMissing):
        await make_secrets(load_settings(SecretSettings), clock).read(reference)


async def test_a_value_in_place_of_a_reference_is_not_quoted(clock: Clock) -> None:
    with pytest.raises(SecretMissing) as missing:
        await make_secrets(load_settings(SecretSettings), clock).read("canary-in-the-wrong-place")
    assert "canary" not in str(missing.value)


async def test_a_vault_secret_by_a_token(by_token: Secrets, vault: Vault) -> None:
    assert await by_token.read("vault:payments/stripe#key") == VALUE
    assert redact(f"{VALUE} {next(iter(vault.tokens))}") == f"{MASK} {MASK}"
    for wrong in ("payments/stripe#other", "payments/none#key", "payments/stripe", "../x#key", "#key"):
        with pytest.raises(SecretMissing):
            await by_token.read(f"vault:{wrong}")


async def test_a_value_is_kept_for_a_minute_then_asked_for_again(
    by_token: Secrets, vault: Vault, clock: Clock
) -> None:
    await by_token.read("vault:payments/stripe#key")
    vault.secrets["payments/stripe"] = {"key": "canary-rotated-7713"}
    assert await by_token.read("vault:payments/stripe#key") == VALUE
    clock.at += FRESH_SECONDS + 1
    assert await by_token.read("vault:payments/stripe#key") == "canary-rotated-7713"


async def test_a_token_is_renewed_before_it_ends(by_token: Secrets, vault: Vault, clock: Clock) -> None:
    """Over ten lives of the token, asked or not: renewed in its last third, never used past its end."""
    source = by_token._sources["vault"]
    assert isinstance(source, VaultSecrets)
    await by_token.read("vault:payments/stripe#key")
    for _ in range(100):
        clock.at += 10
        await source.keep()
    assert await by_token.read("vault:payments/stripe#key") == VALUE
    assert vault.asked.count("POST auth/token/renew-self") >= 10
    assert vault.asked.count("GET auth/token/lookup-self") == 1


async def test_a_token_that_cannot_live_on_is_fetched_anew(
    by_token: Secrets, vault: Vault, clock: Clock, tmp_path: Path
) -> None:
    vault.most = 0
    await by_token.read("vault:payments/stripe#key")
    (tmp_path / "token").write_text(vault.issue())  # as an agent beside us keeps it fresh
    clock.at += FRESH_SECONDS + 30
    assert await by_token.read("vault:payments/stripe#key") == VALUE


async def test_a_token_revoked_under_us_is_fetched_anew_once(
    by_token: Secrets, vault: Vault, clock: Clock, tmp_path: Path
) -> None:
    await by_token.read("vault:payments/stripe#key")
    vault.tokens.clear()
    (tmp_path / "token").write_text(vault.issue())
    clock.at += FRESH_SECONDS + 1
    assert await by_token.read("vault:payments/stripe#key") == VALUE
    vault.tokens.clear()
    clock.at += FRESH_SECONDS + STALE_SECONDS
    with pytest.raises(SecretsUnavailable) as refused:
        await by_token.read("vault:payments/stripe#key")
    assert "hvs." not in str(refused.value)


async def test_an_outage_is_lived_through_for_ten_minutes_and_no_longer(
    by_token: Secrets, vault: Vault, clock: Clock
) -> None:
    assert await by_token.read("vault:payments/stripe#key") == VALUE
    vault.down = True
    clock.at += FRESH_SECONDS + 1
    assert await by_token.read("vault:payments/stripe#key") == VALUE
    with pytest.raises(SecretsUnavailable):
        await by_token.read("vault:payments/other#key")
    clock.at += STALE_SECONDS
    with pytest.raises(SecretsUnavailable):
        await by_token.read("vault:payments/stripe#key")
    vault.down = False
    vault.tokens = dict.fromkeys(vault.tokens, clock.at + 100)
    assert await by_token.read("vault:payments/stripe#key") == VALUE


async def test_a_login_by_approle(vault: Vault, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLE_SECRET", "canary-role-secret-1")
    vault.roles["fencepost"] = "canary-role-secret-1"
    secrets = opened(vault, clock, vault_role="fencepost", vault_role_secret="env:ROLE_SECRET")
    assert await secrets.read("vault:payments/stripe#key") == VALUE
    vault.roles["fencepost"] = "another"
    vault.tokens.clear()
    clock.at += FRESH_SECONDS + 1
    with pytest.raises(SecretsUnavailable) as refused:
        await opened(vault, clock, vault_role="fencepost", vault_role_secret="env:ROLE_SECRET").read(
            "vault:a#b"
        )
    assert "canary" not in str(refused.value)
    await secrets.close()


async def test_a_contracts_name_is_looked_for_in_each_place(
    vault: Vault, clock: Clock, by_token: Secrets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.secrets["tools/crm-key"] = {"value": "canary-from-vault"}
    named = names.NamedSecrets(by_token, tmp_path, "tools")
    assert await named.get("crm-key") == "canary-from-vault"
    monkeypatch.setenv("FENCEPOST_SECRET_CRM_KEY", "canary-from-env")
    assert await named.get("crm-key") == "canary-from-env"
    (tmp_path / "crm-key").write_text("canary-from-file")
    assert await named.get("crm-key") == "canary-from-file"
    for none in ("other", "../token", "", "a/b"):
        with pytest.raises(names.SecretMissing):
            await named.get(none)


def test_vault_without_a_way_in_is_refused_at_start() -> None:
    with pytest.raises(SettingsError, match="VAULT_TOKEN"):
        load_settings(SecretSettings, vault_address="https://vault:8200")


async def test_a_pod_logs_in_by_its_service_account_and_again_when_its_token_ends(
    vault: Vault, clock: Clock, tmp_path: Path
) -> None:
    """The account's token is a file that Kubernetes swaps: it is read at each login."""
    account = tmp_path / "token"
    account.write_text("canary-service-account-1")
    vault.pods["fencepost"] = "canary-service-account-1"
    vault.most = 0  # not renewable: only a new login helps
    secrets = opened(vault, clock, vault_role="fencepost", vault_jwt=f"file:{account}")
    try:
        assert await secrets.read("vault:payments/stripe#key") == VALUE
        assert vault.asked.count("POST auth/kubernetes/login") == 1
        account.write_text("canary-service-account-2")
        vault.pods["fencepost"] = "canary-service-account-2"
        clock.at += vault.life + FRESH_SECONDS + STALE_SECONDS
        assert await secrets.read("vault:payments/stripe#key") == VALUE
        assert vault.asked.count("POST auth/kubernetes/login") == 2
        assert redact("canary-service-account-2") == MASK
        vault.pods.clear()
        clock.at += vault.life + FRESH_SECONDS + STALE_SECONDS
        with pytest.raises(SecretsUnavailable) as told:
            await secrets.read("vault:payments/stripe#key")
        assert "canary" not in str(told.value)
    finally:
        await secrets.close()
