"""What is refused at start, in words an operator can act on."""

from pathlib import Path

import pytest
from fencepost_runtime.secrets import redact
from fencepost_runtime.settings import (
    ApiSettings,
    GatewaySettings,
    ReconcilerSettings,
    SettingsError,
    WorkerSettings,
    load_settings,
)

WORKER = {
    "FENCEPOST_DATABASE_URL": "postgresql://w:long-password@db/fencepost",
    "FENCEPOST_WORKER_SLOT": "slot-0",
    "FENCEPOST_SERVICE_SECRET_FILE": "/run/secret",
}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name, value in WORKER.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@pytest.mark.parametrize("kind", [WorkerSettings, ReconcilerSettings])
@pytest.mark.parametrize(("lease", "beat"), [("30", "30"), ("5", "1.7"), ("4.4", "1.5")])
def test_pg1_a_lease_under_three_beats_is_refused_and_both_are_named(
    environment: pytest.MonkeyPatch, kind: type, lease: str, beat: str
) -> None:
    environment.setenv("FENCEPOST_LEASE_SECONDS", lease)
    environment.setenv("FENCEPOST_BEAT_SECONDS", beat)
    with pytest.raises(SettingsError) as refused:
        load_settings(kind)
    assert f"FENCEPOST_LEASE_SECONDS={lease}" in str(refused.value)
    assert f"FENCEPOST_BEAT_SECONDS={beat}" in str(refused.value)


def test_pg1_thirty_seconds_with_a_beat_of_ten_are_accepted(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("FENCEPOST_LEASE_SECONDS", "30")
    environment.setenv("FENCEPOST_BEAT_SECONDS", "10")
    assert load_settings(WorkerSettings).lease_seconds == 30


def test_the_defaults_are_the_designs(environment: pytest.MonkeyPatch) -> None:
    settings = load_settings(WorkerSettings)
    assert (settings.lease_seconds, settings.beat_seconds, settings.sweep_seconds) == (5, 1.5, 0.5)
    assert settings.wake == "postgres"


def test_a_services_own_database_goes_before_the_common_one(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("FENCEPOST_WORKER_DATABASE_URL", "postgresql://own@db/fencepost")
    assert load_settings(WorkerSettings).database_url == "postgresql://own@db/fencepost"


def test_modules_are_comma_separated(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("FENCEPOST_WORKER_MODULES", "life, work,")
    assert load_settings(WorkerSettings).worker_modules == ("life", "work")


def test_kafka_without_a_broker_is_refused(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("FENCEPOST_WAKE", "kafka")
    with pytest.raises(SettingsError, match="FENCEPOST_KAFKA_BOOTSTRAP"):
        load_settings(WorkerSettings)


@pytest.mark.parametrize(
    ("name", "value", "way_out"),
    [
        ("FENCEPOST_MODEL_URL", "models.example/v1", "https://models.example/v1"),
        ("FENCEPOST_MODEL_URL", "ftp://models.example", "https://models.example/v1"),
        ("FENCEPOST_MODEL_URL", "http://[", "Invalid IPv6 URL"),
        ("FENCEPOST_MODULES_DIR", "/no/such/folder", "no folder /no/such/folder"),
        ("FENCEPOST_WORKER_DATABASE_URL", "fencepost at db", "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"),
        (
            "FENCEPOST_WORKER_DATABASE_DIRECT_URL",
            "mysql://db/x",
            "postgresql://USER:PASSWORD@HOST:PORT/DATABASE",
        ),
        ("FENCEPOST_MAX_ARTIFACT_BYTES", "-1", "greater than or equal to 1"),
        ("FENCEPOST_MODEL_TIMEOUT_SECONDS", "0", "greater than 0"),
    ],
)
def test_what_would_fail_later_is_refused_at_start_by_name(
    environment: pytest.MonkeyPatch, name: str, value: str, way_out: str
) -> None:
    environment.setenv(name, value)
    with pytest.raises(SettingsError) as refused:
        load_settings(WorkerSettings)
    assert str(refused.value).startswith(f"{name}: ")
    assert way_out in str(refused.value)


def test_what_is_missing_is_named_and_no_secret_is_quoted(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("FENCEPOST_MODEL_KEY", "sk-very-secret-value")
    environment.setenv("FENCEPOST_LEASE_SECONDS", "soon")
    environment.delenv("FENCEPOST_WORKER_SLOT")
    with pytest.raises(SettingsError) as refused:
        load_settings(WorkerSettings)
    message = str(refused.value)
    assert "FENCEPOST_WORKER_SLOT" in message
    assert "FENCEPOST_LEASE_SECONDS" in message
    assert "secret" not in message


def test_an_api_that_trusts_nobody_is_refused(environment: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="FENCEPOST_JWT_KEY_FILE"):
        load_settings(ApiSettings)


def test_gateway_paths_are_required_by_name(environment: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="FENCEPOST_TOKEN_KEYS_FILE"):
        load_settings(GatewaySettings)


def test_a_read_database_password_is_masked_from_then_on(environment: pytest.MonkeyPatch) -> None:
    assert "long-password" not in repr(load_settings(WorkerSettings))
    assert redact("cannot connect with long-password") == "cannot connect with ***"


def test_settings_are_frozen_and_paths_absolute(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("FENCEPOST_DATA_DIR", "here")
    settings = load_settings(WorkerSettings)
    assert settings.data_dir == Path.cwd() / "here"
    with pytest.raises(Exception, match="frozen"):
        settings.wake = "none"  # type: ignore[misc]
