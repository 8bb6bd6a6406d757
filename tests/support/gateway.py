"""The tool-gateway for tests: in this process as role fencepost_gateway, or a real process to be killed."""

from __future__ import annotations

import asyncio
import atexit
import base64
import hashlib
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
from fencepost_contracts.modules import module_dirs
from fencepost_domain.decision import Finalization, FinalMessage
from fencepost_domain.endings import decide_lease_expired
from fencepost_domain.fence import Fence
from fencepost_domain.vocabulary import InterruptKind, Reason, RunStatus
from fencepost_runtime.keys import KeyRing
from fencepost_store import claims, interrupts, settings_store
from fencepost_store.claims import Claim
from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_tool_gateway.app import make_app
from fencepost_tool_gateway.catalog import Catalogs
from fencepost_tool_gateway.egress import Egress
from fencepost_tool_gateway.files import Shelf
from fencepost_tool_gateway.gateway import Gateway
from fencepost_tool_gateway.outside import drained
from fencepost_tool_gateway.secrets import LocalSecrets
from fencepost_tool_gateway.world import OutsideWorld, outside_world

from tests.support.eventually import eventually
from tests.support.fixed_secrets import FixedSecrets
from tests.support.lives import OWNER, TENANT, USER, Lives

SECRET = "test-service-secret-0123456789"
KEYS = KeyRing("k1", {"k1": b"1" * 32})
SOON = "2031-03-05T09:00:00+08:00"
REMINDER = {"title": "交周报", "at": SOON}
ENTRY = {"amount": "1234.50", "currency": "USD", "description": "hotel", "date": "2026-11-30"}


@dataclass(slots=True)
class Served:
    """A gateway and the mesh around it. `client` speaks HTTP to it."""

    lives: Lives
    client: httpx.AsyncClient
    catalogs: Catalogs
    gateway: Gateway | None = None
    folder: Path | None = None

    # ── runs ──────────────────────────────────────────────────────────────────────────────────────

    async def bound(self, *, owner: str = OWNER, catalog: str | None = None, **more: Any) -> Claim:
        """A claimed run that is bound to its module's catalog in force."""
        more.setdefault("module", "life")
        held = await self.lives.claimed(owner=owner, **more)
        await self.bind(held, catalog or self.catalogs.now(more["module"]).fingerprint)
        return held

    async def bind(self, held: Claim, fingerprint: str) -> None:
        manifest = hashlib.sha256(b"{}").hexdigest()
        await self.lives.sql(
            "INSERT INTO agent.manifests (fingerprint, body) VALUES (%s, '{}') ON CONFLICT DO NOTHING",
            manifest,
        )
        async with self.lives.worker.transaction() as tx:
            run = (await lock_run(tx, held.run.id)).run
            await claims.bind(
                tx, run, held.fence, graph_version="g1", manifest_fp=manifest, catalog_fp=fingerprint,
                event_id=tx.ids.uuid7(),
            )  # fmt: skip

    async def again(self, run_id: UUID, owner: str = OWNER, module: str | None = None) -> Claim:
        """The queued run, claimed anew."""
        module = module or (await self.lives.run(run_id))["module"]
        found = await self.lives.claim(owner=owner, limit=64, versions=("g1",), module=module)
        return next(one for one in found if one.run.id == run_id)

    async def taken_over(self, held: Claim, owner: str) -> Claim:
        """The lease is past, the sweep takes the run, another worker claims it."""
        await self.lives.age("agent.runs", "lease_expires_at", "id = %s", held.run.id)
        finalization = Finalization(RunStatus.FAILED, Reason.ATTEMPTS_EXHAUSTED, "x", "reconciler")
        async with self.lives.reconciler.transaction() as tx:
            locked = await lock_run(tx, held.run.id)
            decision = decide_lease_expired(
                locked.run, tx.ids.uuid7(), now=locked.now, finalization=finalization,
                message=FinalMessage(tx.ids.uuid7(), "x"),
            )  # fmt: skip
            assert decision is not None
            await record(tx, locked.run, decision)
        return await self.again(held.run.id, owner=owner)

    # ── what a worker says ────────────────────────────────────────────────────────────────────────

    async def post(self, path: str, fence: Fence | str, body: Any, **headers: str) -> httpx.Response:
        shown = fence if isinstance(fence, str) else fence.header()
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        told = {"Authorization": f"Bearer {SECRET}", "Fencepost-Fence": shown, **headers}
        return await self.client.post(f"/internal/actions/{path}", content=content, headers=told)

    async def prepare(
        self, held: Claim, tool: str, arguments: Mapping[str, Any], *, index: int = 0, n: int = 1, **more: Any
    ) -> httpx.Response:
        call = {"index": index, "n": n, "tool": tool, "arguments": arguments, **more}
        return await self.post("prepare", held.fence, {"calls": [call]})

    async def prepared(
        self, held: Claim, tool: str, arguments: Mapping[str, Any], **more: Any
    ) -> dict[str, Any]:
        response = await self.prepare(held, tool, arguments, **more)
        assert response.status_code == 200, response.text
        [action] = response.json()["actions"]
        return dict(action)

    async def commit(self, fence: Fence | Claim, action: Mapping[str, Any]) -> httpx.Response:
        fence = fence.fence if isinstance(fence, Claim) else fence
        return await self.post("commit", fence, {name: action[name] for name in ("index", "n", "token_id")})

    # ── what a person says ────────────────────────────────────────────────────────────────────────

    async def asked(self, held: Claim, actions: Sequence[Mapping[str, Any]], **more: Any) -> UUID:
        """Open the approval for these actions and park, as the worker does."""
        first = actions[0]
        new = interrupts.NewInterrupt(
            self.lives.ids.uuid7(), InterruptKind.APPROVAL, first["index"], first["n"], "Shall I?",
            actions=tuple((one["index"], one["n"]) for one in actions), preview=first["preview"],
            expires_in=more.pop("expires_in", timedelta(days=7)),
        )  # fmt: skip
        async with self.lives.worker.transaction() as tx:
            locked = await lock_run(tx, held.run.id)
            asked = await interrupts.open_and_park(
                tx, locked.run, locked.now, held.fence, new, wakes_seen=locked.run.wakes,
                event_id=tx.ids.uuid7(),
            )  # fmt: skip
            return asked.interrupt_id

    async def decided(
        self,
        interrupt_id: UUID,
        resolution: Mapping[str, Any],
        *,
        by: str = USER,
        roles: Sequence[str] = ("user", "approver"),
    ) -> None:
        """As the api stores a decision; `resolution` as it came in. roles: none for somebody never seen."""
        async with self.lives.api.transaction(TENANT) as tx:
            locked = await lock_run(tx, await interrupts.run_of_interrupt(tx, interrupt_id))
            interrupt, now = await interrupts.lock_interrupt(tx, interrupt_id)
            several = resolution.get("decisions") or [
                {"index": index, "decision": resolution["decision"]} for index in interrupt.indexes
            ]
            await interrupts.resolve(
                tx, locked.run, now, interrupt, resolution=resolution,
                resolution_hash=json.dumps(resolution, sort_keys=True), key=str(tx.ids.uuid7()), by=by,
                decisions={one["index"]: (one["decision"], None) for one in several},
            )  # fmt: skip
            if roles:
                await settings_store.see_principal(tx, by, frozenset(roles))

    async def approved(self, held: Claim, *actions: Mapping[str, Any], decision: str = "approve") -> Claim:
        """Ask, decide, claim again: the run as it goes on after the person's answer."""
        await self.decided(await self.asked(held, actions), {"decision": decision})
        return await self.again(held.run.id, module=held.run.module)

    async def ready(
        self, tool: str, arguments: Mapping[str, Any], **more: Any
    ) -> tuple[Claim, dict[str, Any]]:
        """A run whose one action is prepared and approved."""
        held = await self.bound(**more)
        action = await self.prepared(held, tool, arguments)
        return await self.approved(held, action), action

    # ── what there is ─────────────────────────────────────────────────────────────────────────────

    async def count(self, table: str) -> int:
        [row] = await self.lives.sql(f"SELECT count(*) AS n FROM {table}")
        return int(row["n"])

    async def attempts(self) -> int:
        return await self.count("agent.effect_attempts")


def code(response: httpx.Response) -> str:
    """The code of a problem; also checks that it is one."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    body = response.json()
    assert body["status"] == response.status_code
    return str(body["code"])


def gateway_of(lives: Lives, catalogs: Catalogs, keys: KeyRing = KEYS) -> Gateway:
    return Gateway(lives.gateway, catalogs, keys, lives.ids, str(lives.ids.uuid7()))


@asynccontextmanager
async def serving(
    lives: Lives,
    *,
    dirs: Sequence[Path] = (),
    keys: KeyRing = KEYS,
    installed: bool = False,
    outside: OutsideWorld | None = None,
    secrets: Path | None = None,
    shelf: Shelf | None = None,
) -> AsyncIterator[Served]:
    """A gateway in this process, with the repository's modules and those of `dirs`."""
    world = outside or outside_world(LocalSecrets(secrets) if secrets else FixedSecrets(), Egress())
    catalogs = Catalogs(
        [*module_dirs(None), *dirs],
        installed=installed,
        outside=world.executors,
        pinning=world.pinning,
        shelf=shelf,
    )
    catalogs.load()
    world.servers.folders.update(catalogs.folders())
    await catalogs.publish(lives.gateway)
    gateway = gateway_of(lives, catalogs, keys)
    transport = httpx.ASGITransport(make_app(gateway, SECRET, {}))
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
        try:
            yield Served(lives, client, catalogs, gateway)
        finally:
            await drained(gateway, 10.0)
            await catalogs.executor.close()


# ── a process of its own ────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Process:
    """A gateway process; `failpoints` is its folder of armed points."""

    served: Served
    failpoints: Path
    environment: dict[str, str] = field(repr=False)
    running: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        log = (self.failpoints / "gateway.log").open("ab")
        with log:
            self.running = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "fencepost_tool_gateway.main", env=self.environment, stderr=log
            )

        async def ready() -> bool:
            assert self.running is not None
            if self.running.returncode is not None:
                raise RuntimeError((self.failpoints / "gateway.log").read_text()[-2000:])
            try:
                return (await self.served.client.get("/readyz")).status_code == 200
            except httpx.TransportError:
                return False

        await eventually(ready, timeout=30.0)

    async def ended(self) -> int:
        assert self.running is not None
        return await self.running.wait()

    def signal(self, number: signal.Signals) -> None:
        assert self.running is not None
        self.running.send_signal(number)

    async def end(self) -> None:
        if self.running is not None and self.running.returncode is None:
            self.running.send_signal(signal.SIGCONT)
            self.running.kill()
            await self.running.wait()


@asynccontextmanager
async def process(
    lives: Lives, folder: Path, modules: Path | None = None, **more: str
) -> AsyncIterator[Process]:
    """A started gateway process and a client that speaks to it. modules: of the test's own."""
    if modules is not None:
        more["FENCEPOST_MODULES_DIR"] = str(modules)
    secret, keys, port = folder / "secret", folder / "keys.json", _free_port()
    secret.write_text(SECRET)
    keys.write_text(json.dumps({"active": "k1", "keys": {"k1": base64.b64encode(KEYS.keys["k1"]).decode()}}))
    environment = {
        **os.environ,
        "FENCEPOST_GATEWAY_DATABASE_URL": lives.database.dsn("gateway"),
        "FENCEPOST_GATEWAY_PORT": str(port),
        "FENCEPOST_TOKEN_KEYS_FILE": str(keys),
        "FENCEPOST_SERVICE_SECRET_FILE": str(secret),
        "FENCEPOST_FAILPOINT_DIR": str(folder),
        "FENCEPOST_ALLOW_UNSAFE_DURABILITY": "true",
        **more,
    }
    world = outside_world(FixedSecrets(), Egress())
    catalogs = Catalogs(module_dirs(modules), installed=False, outside=world.executors, pinning=world.pinning)
    catalogs.load()
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20.0) as client:
        started = Process(Served(lives, client, catalogs, folder=folder), folder, environment)
        try:
            await started.start()
            yield started
        finally:
            await started.end()


def _free_port() -> int:
    from fencepost_runtime.server import bind

    with bind("127.0.0.1", 0) as listener:
        return int(listener.getsockname()[1])


def module_folder(contract: str, tools: str, name: str = "probe", sql: str | None = None) -> Path:
    """A module of the test's own; returns the folder that FENCEPOST_MODULES_DIR would name."""
    root = Path(tempfile.mkdtemp(prefix="fencepost-modules-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    folder = root / name
    (folder / "tools").mkdir(parents=True)
    (folder / "contract.yaml").write_text(contract)
    (folder / "tools" / "__init__.py").write_text(tools)
    if sql is not None:
        (folder / "sql").mkdir()
        (folder / "sql" / "own.sql").write_text(sql)
    return root
