"""What every request may use: built once in main, passed to the application, never global."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from fencepost_contracts.evidence.bundle import Signer
from fencepost_domain.ports import Clock, Ids
from fencepost_runtime.artifacts.port import ArtifactStore
from fencepost_runtime.beside import Beside
from fencepost_store.transaction import Store

from fencepost_api.memo import Memo

if TYPE_CHECKING:
    from fencepost_api.auth import Verifier
    from fencepost_api.streams.feed_hub import FeedHub
    from fencepost_api.streams.hub import RunHub
    from fencepost_api.tickets import Tickets


FILES: Final = 4  # files in memory at once, each up to artifact_bytes
OPENING: Final = 4  # streams that read their history at once; half a small pool


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes and waits at the door. A test makes them small."""

    body_bytes: int = 1_048_576
    body_wait: timedelta = timedelta(seconds=15)  # a body that trickles holds a handler
    artifact_bytes: int = 26_214_400
    upload_wait: timedelta = timedelta(minutes=2)  # of a file's whole body
    path_bytes: int = 4_096
    header_bytes: int = 32_768
    twin_wait: timedelta = timedelta(seconds=5)  # how long a second request waits for the first of its key
    ping: timedelta = timedelta(seconds=15)  # proxies cut streams that are silent for a minute
    stream_life: timedelta = timedelta(hours=1)  # a stream ends so that its rights are looked at again


@dataclass(slots=True)
class Api:
    """The service's parts. `stop` is set when the process is to end: streams end at once."""

    store: Store
    clock: Clock
    ids: Ids
    verifier: Verifier
    tickets: Tickets
    runs: RunHub
    feed: FeedHub
    seen: Memo[frozenset[str]]  # (tenant, user) -> roles noted as today's
    modules: Memo[frozenset[str]]  # names known, under one key
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    # All clients of a restarted replica come back at once: they wait in turn here, not for a connection,
    # where waiting too long is a refusal, and an EventSource takes one refusal as final.
    opening: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(OPENING))
    artifacts: ArtifactStore | None = None
    beside: Beside = field(default_factory=Beside)  # what readiness tells of, and stays without
    files: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(FILES))
    limits: Limits = Limits()
    cors_origins: tuple[str, ...] = ()
    signer: Signer | None = None  # of exports; without one they are not signed
    public_url: str | None = None  # how people reach this service; of the request where none is set
