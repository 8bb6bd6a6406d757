"""Settings, read once in each main and passed down; nothing else reads the environment.

Every name starts with FENCEPOST_. A service's own database URL (FENCEPOST_API_DATABASE_URL) goes before
the common one, because each service connects as its own role.
"""

from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from fencepost_runtime.secrets import register_secret

PREFIX: Final = "FENCEPOST_"
BEATS_IN_A_LEASE: Final = 3  # two beats may be lost and the run still belongs to its worker


DATABASE_EXPECTED: Final = "expected postgresql://USER:PASSWORD@HOST:PORT/DATABASE"


class SettingsError(ValueError):
    """What is wrong with the environment, one line a variable, without the values of secrets."""


def _own(service: str, name: str, default: Any = ...) -> Any:
    aliases = AliasChoices(f"{PREFIX}{service}_{name}", f"{PREFIX}{name}")
    return Field(default, validation_alias=aliases, repr=False)


def is_database_url(url: str) -> bool:
    """Whether drivers can read it as one; whether it answers is another matter."""
    try:
        return urlsplit(url).scheme in ("postgresql", "postgres")
    except ValueError:
        return False


class CommonSettings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="ignore", populate_by_name=True, hide_input_in_errors=True
    )

    data_dir: Path | None = None  # artifacts of the embedded mode; a cluster needs a shared store instead
    modules_dir: Path | None = None  # a stranger's modules, beside those found by entry point
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"
    health_host: str = "127.0.0.1"  # a container sets 0.0.0.0, or its probes find nobody
    database_pool_size: int = Field(8, ge=1)  # too low and requests queue behind each other's transactions

    @field_validator("data_dir", "modules_dir")
    @classmethod
    def _absolute(cls, path: Path | None) -> Path | None:
        return path.absolute() if path else None

    @field_validator("database_url", "database_direct_url", check_fields=False)
    @classmethod
    def _database(cls, url: str | None) -> str | None:
        if url is not None and not is_database_url(url):
            raise ValueError(DATABASE_EXPECTED)
        return url

    @field_validator("modules_dir")
    @classmethod
    def _there(cls, path: Path | None) -> Path | None:
        if path and not path.is_dir():  # a misspelt one would be no modules, and nothing said
            raise ValueError(f"no folder {path}; make it, or unset this")
        return path


class SecretSettings(CommonSettings):
    """Where references lead (`env:`, `file:`, `vault:`). Vault is asked only where an address is set."""

    vault_address: str | None = None
    vault_mount: str = "secret"  # of the KV version 2 engine
    vault_namespace: str | None = None
    vault_token: str | None = None  # a reference, as `file:/vault/token`; else a login by role
    vault_role: str | None = None
    vault_role_secret: str | None = None  # a reference to AppRole's secret id; absent: Kubernetes
    vault_jwt: str = "file:/var/run/secrets/kubernetes.io/serviceaccount/token"

    @model_validator(mode="after")
    def _vault_knows_who_asks(self) -> Self:
        if self.vault_address and not (self.vault_token or self.vault_role):
            raise ValueError("FENCEPOST_VAULT_ADDRESS needs FENCEPOST_VAULT_TOKEN or FENCEPOST_VAULT_ROLE")
        return self


class ArtifactSettings(SecretSettings):
    """The artifact store, the same in every service that touches it."""

    artifacts_url: str | None = None  # file:///path or s3://bucket/prefix; absent: a folder of the data dir
    artifacts_endpoint: str | None = None  # of an S3-compatible server; absent: the cloud's own
    artifacts_region: str = "us-east-1"
    artifacts_key_id: str | None = None  # a reference; absent: what the machine's own identity gives
    artifacts_secret: str | None = None  # a reference
    max_artifact_bytes: int = Field(26_214_400, ge=1)  # of one file; each is in memory whole

    @model_validator(mode="after")
    def _keys_come_in_pairs(self) -> Self:
        if bool(self.artifacts_key_id) != bool(self.artifacts_secret):
            raise ValueError("FENCEPOST_ARTIFACTS_KEY_ID and FENCEPOST_ARTIFACTS_SECRET belong together")
        return self


class WakeSettings(CommonSettings):
    """For who sends or hears wake-ups. A wrong choice costs latency, never work."""

    wake: Literal["postgres", "kafka", "none"] = "postgres"
    kafka_bootstrap: str | None = None
    kafka_partitions: int = Field(6, ge=1)  # no more workers of a module than this hear wake-ups at once

    @model_validator(mode="after")
    def _kafka_has_a_broker(self) -> Self:
        if self.wake == "kafka" and not self.kafka_bootstrap:
            raise ValueError("FENCEPOST_WAKE=kafka needs FENCEPOST_KAFKA_BOOTSTRAP")
        return self


class LeaseSettings(CommonSettings):
    """The same values in worker and reconciler: who expires must know how long a lease lasts."""

    lease_seconds: float = Field(5.0, gt=0)  # a dead worker's runs rest this long
    beat_seconds: float = Field(1.5, gt=0)  # over a third of the lease, one late beat loses healthy work
    sweep_seconds: float = Field(0.5, gt=0)  # added to the lease before a take-over

    @model_validator(mode="after")
    def _lease_outlives_lost_beats(self) -> Self:
        if self.lease_seconds < BEATS_IN_A_LEASE * self.beat_seconds:
            raise ValueError(
                f"FENCEPOST_LEASE_SECONDS={self.lease_seconds:g} is under three beats of "
                f"FENCEPOST_BEAT_SECONDS={self.beat_seconds:g}: one late beat would hand healthy work to "
                f"another worker; beat at most every {self.lease_seconds / BEATS_IN_A_LEASE:g} s"
            )
        return self


class ApiSettings(ArtifactSettings):
    database_url: str = _own("API", "DATABASE_URL")
    database_direct_url: str | None = _own("API", "DATABASE_DIRECT_URL", None)  # LISTEN beside a pooler
    api_host: str = "127.0.0.1"
    api_port: int = 8080
    public_url: str | None = None  # what links in mails begin with; else what the request came to
    cors_origins: Annotated[tuple[str, ...], NoDecode] = ()  # comma-separated; a page elsewhere gets nothing
    max_body_bytes: int = Field(1_048_576, ge=1)
    # Who signs: a JWK (set) file with public keys, or an OIDC issuer. Exactly one.
    jwt_key_file: Path | None = None
    jwt_issuer: str | None = None
    jwt_jwks_url: str | None = None  # found from the issuer when absent
    jwt_audience: str = "fencepost"
    jwt_claim_user: str = "sub"
    jwt_claim_tenant: str = "tenant"
    jwt_claim_roles: str = "roles"
    ticket_keys_file: Path | None = None  # HMAC keys of stream tickets; without it a restart voids tickets
    export_key_file: Path | None = None  # Ed25519 JWK that signs exports; without it they aren't signed

    @field_validator("cors_origins", mode="before")
    @classmethod
    def _origins(cls, value: object) -> object:
        return _comma_separated(value)

    @model_validator(mode="after")
    def _somebody_signs(self) -> Self:
        if not (self.jwt_key_file or self.jwt_issuer or self.jwt_jwks_url):
            raise ValueError("set FENCEPOST_JWT_KEY_FILE, or FENCEPOST_JWT_ISSUER for OIDC")
        return self


class GatewaySettings(ArtifactSettings):
    database_url: str = _own("GATEWAY", "DATABASE_URL")
    database_direct_url: str | None = _own("GATEWAY", "DATABASE_DIRECT_URL", None)  # the same: no pooler
    gateway_host: str = "127.0.0.1"
    gateway_port: int = 8081
    token_keys_file: Path  # HMAC keys of prepared actions; lost keys void open approvals
    service_secret_file: Path  # what a worker shows to be let in
    allow_unsafe_durability: bool = False  # tests only: a forgotten COMMIT breaks every promise
    secrets_dir: Path | None = None  # credentials of tools, one file each
    secrets_vault_path: str | None = None  # the same in Vault: below it one secret each, in its field `value`
    callback_url: str | None = None  # where tasks may say that they ended; absent: they are polled alone
    # Special networks (link-local, metadata) that tools may call all the same, comma-separated.
    egress_allow: Annotated[tuple[str, ...], NoDecode] = ()

    @field_validator("egress_allow", mode="before")
    @classmethod
    def _networks(cls, value: object) -> object:
        return _comma_separated(value)


class WorkerSettings(LeaseSettings, WakeSettings, ArtifactSettings):
    database_url: str = _own("WORKER", "DATABASE_URL")
    database_direct_url: str | None = _own("WORKER", "DATABASE_DIRECT_URL", None)
    worker_slot: str = Field(min_length=1)  # never lives twice: the pod's UID, or a slot under a lock
    worker_modules: Annotated[tuple[str, ...], NoDecode] = ()  # comma-separated; empty: every module found
    worker_concurrency: int = Field(8, ge=1)  # runs at once; more only wait for the same event loop
    worker_health_port: int = 0  # 0: any free port
    worker_drain_seconds: float = Field(10.0, ge=0)  # under the pod's grace period, or SIGKILL ends the drain
    scan_seconds: float = Field(1.0, gt=0)  # how late a run starts at most when every wake-up is lost
    engine_direct: bool = True  # single tasks without LangGraph's runner, where its version is known
    gateway_url: str = "http://127.0.0.1:8081"
    service_secret_file: Path
    model_url: str | None = None  # absent: the offline model answers
    model_name: str | None = None
    model_key: SecretStr | None = None
    model_key_from: str | None = None  # a reference in place of the key: `file:`, `vault:`; read at each call
    model_timeout_seconds: float = Field(120.0, gt=0)
    model_history_tokens: int | None = Field(
        default=None, ge=200
    )  # of a request for the conversation: too much for the model's window, and it refuses; absent: 12,000
    model_prices_file: Path | None = (
        None  # absent: every model but the offline one has the shipped worst price
    )

    @field_validator("model_url")
    @classmethod
    def _callable(cls, url: str | None) -> str | None:
        if url and not (urlsplit(url).scheme in ("http", "https") and urlsplit(url).hostname):
            raise ValueError(
                "expected an address as https://models.example/v1"
            )  # not quoted: it may hold a key
        return url

    @field_validator("worker_modules", mode="before")
    @classmethod
    def _modules(cls, value: object) -> object:
        return _comma_separated(value)


class ReconcilerSettings(LeaseSettings, WakeSettings, ArtifactSettings):
    database_url: str = _own("RECONCILER", "DATABASE_URL")
    database_direct_url: str | None = _own("RECONCILER", "DATABASE_DIRECT_URL", None)
    reconciler_health_port: int = 0
    anchor_key_file: Path | None = None  # signs chain heads; absent: heads are kept unsigned
    # How long nobody may serve a graph version before its due runs wait on it and ask a person. Under a
    # worker's restart, every restart asks.
    unserved_seconds: float = 60.0
    unserved_in_rollout_seconds: float = 600.0
    gateway_url: str = "http://127.0.0.1:8081"
    service_secret_file: Path | None = None  # absent: nothing unknown is looked up, a person has to


Settings = TypeVar("Settings", bound=CommonSettings)


def load_settings(kind: type[Settings], **overrides: Any) -> Settings:
    """Read and check once; secrets among them are masked in logs from here on. Raises SettingsError."""
    try:
        settings = kind(**overrides)
    except ValidationError as error:
        raise SettingsError("\n".join(_plain(item) for item in error.errors(include_url=False))) from None
    for name in ("database_url", "database_direct_url"):
        register_secret(urlsplit(getattr(settings, name, None) or "").password)
    key = getattr(settings, "model_key", None)
    register_secret(key.get_secret_value() if key else None)
    return settings


def _plain(item: Any) -> str:
    message = str(item["msg"]).removeprefix("Value error, ")
    if not item["loc"]:
        return message
    name = str(item["loc"][0])
    return f"{name if name.startswith(PREFIX) else PREFIX + name.upper()}: {message}"


def _comma_separated(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value
