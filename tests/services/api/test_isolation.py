"""I27 over HTTP: through no route or stream does a tenant or user see or change what is another's.

The routes come from the OpenAPI document, so that a new one is tested or the test fails.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from fencepost_runtime.artifacts.filesystem import FilesystemArtifacts

from tests.support.api import Served, a_key
from tests.support.lives import OTHER_TENANT, TENANT, USER, Lives

# What each route with an id is sent, and the name of the victim's thing whose id it takes.
BY_ID: Final[dict[tuple[str, str], Any]] = {
    ("get", "/v1/runs/{run_id}"): None,
    ("get", "/v1/runs/{run_id}/events"): None,
    ("get", "/v1/runs/{run_id}/export"): None,
    ("get", "/v1/runs/{run_id}/replay"): None,
    ("get", "/v1/runs/{run_id}/difference"): None,
    ("post", "/v1/runs/{run_id}/retry"): {},
    ("post", "/v1/runs/{run_id}/fork"): {"at_seq": 1},
    ("post", "/v1/runs/{run_id}/simulations"): {},
    ("get", "/v1/runs/{run_id}/stream"): None,
    ("post", "/v1/runs/{run_id}/cancel"): {},
    ("post", "/v1/runs/{run_id}/pause"): {},
    ("post", "/v1/runs/{run_id}/resume"): {},
    ("post", "/v1/runs/{run_id}/handoff"): {"note": "x"},
    ("get", "/v1/simulations/{simulation_id}"): None,
    ("get", "/v1/interrupts/{interrupt_id}"): None,
    ("post", "/v1/interrupts/{interrupt_id}/resolution"): {"decision": "approve"},
    ("post", "/v1/interrupts/{interrupt_id}/links"): {},
    ("get", "/v1/grants/{grant_id}"): None,
    ("delete", "/v1/grants/{grant_id}"): None,
    ("get", "/v1/conversations/{conversation_id}"): None,
    ("get", "/v1/conversations/{conversation_id}/messages"): None,
    ("get", "/v1/conversations/{conversation_id}/state"): None,
    ("get", "/v1/artifacts/{artifact_id}"): None,
    ("get", "/v1/artifacts/{artifact_id}/content"): None,
    ("get", "/v1/conversations/{conversation_id}/state/events"): None,
}
LISTS: Final = (
    "/v1/runs",
    "/v1/interrupts",
    "/v1/approvals",
    "/v1/grants",
    "/v1/conversations",
    "/v1/reminders",
    "/v1/ledger-entries",
    "/v1/ledger-entries/summary",
)
# Routes that show nothing of anybody, or the caller's own by construction.
NOBODYS: Final = frozenset(
    {
        ("post", "/v1/runs"),
        ("post", "/v1/artifacts"),
        ("get", "/v1/modules"),
        ("get", "/v1/modules/{module}/tools"),
        ("get", "/v1/settings"),
        ("patch", "/v1/settings"),
        ("get", "/v1/budgets"),  # by role: tried in test_budgets.py
        ("put", "/v1/budgets"),
        ("post", "/v1/intents/detect"),
        ("get", "/v1/feed"),
        ("post", "/v1/tickets"),
        ("post", "/v1/simulations"),
        ("get", "/v1/effects"),  # of a tenant's operators: tried in test_effects.py
        ("get", "/v1/effects/{effect_id}"),
        ("post", "/v1/effects/{effect_id}/resolution"),
        ("post", "/v1/effects/{effect_id}/compensation"),  # in test_compensation.py
        ("get", "/v1/runs/{run_id}/handoff"),  # this run wasn't handed over: tried with the hand-overs
        ("get", "/v1/admin/stuck"),  # of a tenant's operators: tried in the recovery's own tests
        ("post", "/v1/admin/runs/{run_id}/repairs"),
        ("get", "/v1/admin/tool-pins"),  # of the platform: no tenant's
        ("post", "/v1/admin/tool-pins"),
    }
)
STRANGERS: Final = (
    ("another user of the tenant", "mallory", TENANT, ("user",)),
    ("the same name in another tenant", USER, OTHER_TENANT, ("user",)),
    ("another tenant's admin", "chief", OTHER_TENANT, ("user", "approver", "operator", "admin")),
    ("another tenant's approver", "peer", OTHER_TENANT, ("approver",)),
    ("a platform operator", "root", OTHER_TENANT, ("platform",)),
)


@dataclass
class Victim:
    served: Served
    lives: Lives
    ids: dict[str, str]

    def path(self, route: str) -> str:
        for name, value in self.ids.items():
            route = route.replace("{" + name + "}", value)
        return route


@pytest.fixture
async def victim(served: Served, lives: Lives, tmp_path: Path) -> AsyncIterator[Victim]:
    served.api.artifacts = FilesystemArtifacts(tmp_path / "files", lives.ids)
    file = {"file": ("secret.txt", b"secret", "text/plain")}
    made = await served.as_().post("/v1/artifacts", files=file, headers=a_key())
    held, interrupt = await lives.waiting(text="the victim's wish")
    await lives.sql(
        "INSERT INTO app.reminders (id, tenant_id, user_id, title, locale, zone, dtstart, next_at, "
        "origin_effect_key) VALUES (gen_random_uuid(), %s, %s, 'secret', 'en', 'UTC', now(), now(), 'k')",
        TENANT, USER,
    )  # fmt: skip
    await lives.sql(
        "INSERT INTO app.ledger_entries (id, tenant_id, user_id, kind, amount, currency, category, "
        "occurred_on, origin_effect_key) "
        "VALUES (gen_random_uuid(), %s, %s, 'expense', 1234.5, 'USD', 'secret', '2026-03-04', 'k')",
        TENANT, USER,
    )  # fmt: skip
    # A retry of itself, so that it has an origin; and a simulation.
    await lives.sql("UPDATE agent.runs SET origin_kind = 'retry', origin_run_id = id")
    [simulation] = await lives.sql(
        "INSERT INTO agent.simulations (id, tenant_id, user_id, module, substitutes, runs, idempotency_key, "
        "request_hash) VALUES (gen_random_uuid(), %s, %s, 'life', '{}', 0, 'k', '') RETURNING id",
        TENANT, USER,
    )  # fmt: skip
    [grant] = await lives.sql(
        "INSERT INTO agent.grants (id, tenant_id, user_id, granted_by, granted_roles, interrupt_id, run_id, "
        "index, module, tool, tool_version, catalog_fp, risk, effect_class, expires_at) "
        "SELECT gen_random_uuid(), tenant_id, user_id, user_id, '{}', id, run_id, 0, 'life', 'life.x', '1', "
        "'f', 'medium', 'local', now() + interval '1 day' FROM agent.interrupts WHERE id = %s RETURNING id",
        interrupt,
    )  # fmt: skip
    ids = {
        "grant_id": str(grant["id"]),
        "simulation_id": str(simulation["id"]),
        "run_id": str(held.run.id),
        "interrupt_id": str(interrupt),
        "conversation_id": str(held.run.conversation_id),
        "artifact_id": made.json()["id"],
    }
    yield Victim(served, lives, ids)


async def test_i27_every_route_is_in_a_table_here(served: Served) -> None:
    document = (await served.as_().get("/openapi.json")).json()
    routes = {(method, path) for path, item in document["paths"].items() for method in item}
    assert routes == set(BY_ID) | {("get", path) for path in LISTS} | NOBODYS


@pytest.mark.parametrize(("who", "user", "tenant", "roles"), STRANGERS, ids=[s[0] for s in STRANGERS])
async def test_i27_anothers_thing_is_not_found(
    victim: Victim, who: str, user: str, tenant: Any, roles: tuple[str, ...]
) -> None:
    stranger = victim.served.as_(user, *roles, tenant=tenant)
    before = await state(victim.lives)
    for (method, route), body in BY_ID.items():
        answer = await send(stranger, method, victim.path(route), body)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), (method, route)
    for path in LISTS:
        answer = await stranger.get(path)
        assert answer.json()["items"] == [], path
    assert await state(victim.lives) == before


async def test_i27_the_owner_finds_all_of_it(victim: Victim) -> None:
    owner = victim.served.as_()
    for (method, route), _ in BY_ID.items():
        if method == "get" and not route.endswith("stream"):
            assert (await owner.get(victim.path(route))).status_code == 200, route
    for path in LISTS:
        assert (await owner.get(path)).json()["items"] != [], path


async def test_i27_an_operator_of_the_tenant_sees_runs_and_not_business_facts(victim: Victim) -> None:
    boss = victim.served.as_("boss", "operator")
    assert (await boss.get(victim.path("/v1/runs/{run_id}"))).status_code == 200
    assert [r["id"] for r in (await boss.get(f"/v1/runs?user={USER}")).json()["items"]]
    for path in ("/v1/reminders", "/v1/ledger-entries", "/v1/ledger-entries/summary", "/v1/conversations"):
        assert (await boss.get(path)).json()["items"] == []


async def test_i27_a_filter_for_another_user_finds_nothing(victim: Victim) -> None:
    mallory = victim.served.as_("mallory")
    for path in (f"/v1/runs?user={USER}", f"/v1/conversations?user={USER}"):
        assert (await mallory.get(path)).json()["items"] == []


async def test_i27_a_ticket_opens_its_own_path_for_its_own_user(victim: Victim) -> None:
    path = victim.path("/v1/runs/{run_id}/stream")
    owner, mallory = victim.served.as_(), victim.served.as_("mallory")
    anyone = httpx.AsyncClient(base_url=victim.served.base, trust_env=False)
    victim.served.clients.append(anyone)
    mine = (await owner.post("/v1/tickets", json={"path": path})).json()["ticket"]
    theirs = (await mallory.post("/v1/tickets", json={"path": path})).json()["ticket"]
    for _ in range(2):  # EventSource reconnects with the same address
        async with anyone.stream("GET", f"{path}?ticket={mine}") as response:
            assert response.status_code == 200
    assert (await anyone.get(f"{path}?ticket={theirs}")).status_code == 404
    assert (await anyone.get(f"/v1/feed?ticket={mine}")).status_code == 401
    for forged in (mine[:-2], mine + "A", mine.replace(".", "", 1), "k\u00e9.a.b", "." * 3, "A" * 10_000):
        answer = await anyone.get(path, params={"ticket": forged[:1500]})
        assert answer.status_code == 401, forged


async def test_i27_settings_of_one_tenant_are_not_anothers(victim: Victim) -> None:
    chief = victim.served.as_("chief", "admin", tenant=OTHER_TENANT)
    await chief.patch("/v1/settings", json={"approval": {"four_eyes": ["high"]}, "zone": "Asia/Tokyo"})
    mine = (await victim.served.as_().get("/v1/settings")).json()
    assert (mine["approval"]["four_eyes"], mine["zone"]) == ([], None)


async def send(client: httpx.AsyncClient, method: str, path: str, body: Any) -> httpx.Response:
    return await client.request(method, path, json=body, headers=a_key())


async def state(lives: Lives) -> list[dict[str, Any]]:
    return await lives.sql(
        "SELECT r.id, r.status, r.revision, r.event_seq, r.wakes, i.status AS asked "
        "FROM agent.runs r LEFT JOIN agent.interrupts i ON i.run_id = r.id ORDER BY r.id"
    )
