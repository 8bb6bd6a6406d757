"""Health, documents, pages, settings, catalogs, headers: what the service says of itself."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import httpx
import pytest
from fencepost_contracts.http_life import LedgerEntryView, LedgerSummary, ReminderView
from fencepost_contracts.http_views import IntentView, ModuleView, Page, Problem, SettingsView, ToolsView
from fencepost_domain.budget import DEFAULTS
from jsonschema_rs import meta, validator_for

from tests.support.api import Served, a_key, saying, serving
from tests.support.eventually import eventually
from tests.support.lives import TENANT, USER, Lives
from tests.support.postgres import Database


async def test_it_is_ready_with_its_database_and_migrations(served: Served) -> None:
    anyone = served.as_()
    assert (await anyone.get("/healthz")).json() == {"status": "ok"}

    async def ready() -> bool:
        answer = await anyone.get("/readyz")
        assert answer.status_code == 200
        return bool(answer.json()["status"] == "ok")

    await eventually(ready)


async def test_it_is_alive_and_not_ready_on_an_empty_database(
    empty_database: Database, tmp_path: Path
) -> None:
    async with serving(empty_database.dsn("api"), tmp_path) as served:
        anyone = served.as_()
        assert (await anyone.get("/healthz")).status_code == 200
        answer = await anyone.get("/readyz")
        assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
        assert "psycopg" not in answer.text and "password" not in answer.text
        refused = await anyone.post("/v1/runs", json=saying(), headers=a_key())
        assert refused.status_code in (500, 503) and Problem.model_validate(refused.json())


async def test_without_a_database_it_says_so_and_that_trying_again_helps(tmp_path: Path) -> None:
    async with serving("postgresql://fencepost_api:x@127.0.0.1:1/none", tmp_path) as served:
        answer = await served.as_().post("/v1/runs", json=saying(), headers=a_key())
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert answer.headers["retry-after"] == "1"
        assert (await served.as_().get("/readyz")).status_code == 503


async def test_the_document_is_whole_and_its_references_lead_somewhere(served: Served) -> None:
    document = (await served.as_().get("/openapi.json")).json()
    text = json.dumps(document)
    for name in re.findall(r'"#/components/schemas/([^"]+)"', text):
        assert name in document["components"]["schemas"], name
    for name, schema in document["components"]["schemas"].items():  # what OpenAPI 3.1 takes a schema for
        assert meta.is_valid({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}), name
    assert "HTTPValidationError" not in text
    for path, item in document["paths"].items():
        for method, operation in item.items():
            assert operation["responses"]["4XX"]["content"]["application/problem+json"], path
            if method in ("post", "patch"):
                assert "requestBody" in operation, path
            answers = [a for status, a in operation["responses"].items() if status in ("200", "201", "202")]
            kinds = [kind for answer in answers for kind in answer["content"].values()]
            assert kinds and all(kind["schema"] for kind in kinds), (method, path)
    schema = {"$ref": "#/components/schemas/RunRequest", "components": document["components"]}
    check = validator_for(schema)
    assert check.is_valid(saying("hello", module="life", metadata={"a": "b"}))
    assert not check.is_valid({"input": {"text": "x"}, "surprise": 1})


@pytest.mark.parametrize("path", ["/", "/docs"])
async def test_pages_fetch_and_run_nothing(served: Served, path: str) -> None:
    page = await served.as_().get(path)
    assert page.headers["content-type"].startswith("text/html")
    assert "<script" not in page.text
    assert not re.findall(r'(?:src|href)="https?:', page.text)
    assert "default-src 'none'" in page.headers["content-security-policy"]


async def test_every_answer_carries_its_id_and_safe_headers(served: Served) -> None:
    client = served.as_()
    for path in ("/v1/runs", "/nothing", "/healthz"):
        answer = await client.get(path, headers={"X-Request-Id": "mine-1"})
        assert answer.headers["x-request-id"] == "mine-1"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers
    strange = await client.get("/healthz", headers={"X-Request-Id": "a b<script>"})
    assert re.fullmatch(r"[0-9a-f-]{36}", strange.headers["x-request-id"])


async def test_pages_elsewhere_are_let_in_by_name_only(database: Database, tmp_path: Path) -> None:
    async with serving(database.dsn("api"), tmp_path, cors_origins="https://app.test") as served:
        client = served.as_()
        mine = await client.get("/v1/runs", headers={"Origin": "https://app.test"})
        assert mine.headers["access-control-allow-origin"] == "https://app.test"
        evil = await client.get("/v1/runs", headers={"Origin": "https://evil.test"})
        assert "access-control-allow-origin" not in evil.headers
        asked = {"Origin": "https://app.test", "Access-Control-Request-Method": "POST",
                 "Access-Control-Request-Headers": "authorization, idempotency-key"}  # fmt: skip
        flight = await client.options("/v1/runs", headers=asked)
        assert flight.status_code == 200 and "x-request-id" in flight.headers


async def test_logs_show_routes_and_never_tickets(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    run = (await served.as_().post("/v1/runs", json=saying("top secret"), headers=a_key())).json()
    path = f"/v1/runs/{run['id']}/stream"
    ticket = (await served.as_().post("/v1/tickets", json={"path": path})).json()["ticket"]
    async with (
        httpx.AsyncClient(base_url=served.base, trust_env=False) as anyone,
        anyone.stream("GET", f"{path}?ticket={ticket}"),
    ):
        pass
    printed = capsys.readouterr()
    text = printed.out + printed.err
    assert ticket not in text and "top secret" not in text
    assert "/v1/runs" in text


async def test_settings_are_merged_and_guarded(served: Served) -> None:
    ann, chief = served.as_(), served.as_("chief", "admin")
    shipped = SettingsView.model_validate((await ann.get("/v1/settings")).json())
    assert (shipped.zone, shipped.approval["four_eyes"]) == (None, [])
    assert shipped.budgets == DEFAULTS
    tenant = await chief.patch(
        "/v1/settings?scope=tenant",
        json={"zone": "Asia/Shanghai", "budgets": {"model_calls": 20}, "approval": {"four_eyes": ["high"]}},
    )
    assert tenant.status_code == 200, tenant.text
    mine = (await ann.patch("/v1/settings", json={"zone": "Europe/Paris", "currency": "EUR"})).json()
    assert (mine["zone"], mine["currency"], mine["budgets"]["model_calls"]) == ("Europe/Paris", "EUR", 20)
    back = (await ann.patch("/v1/settings", json={"zone": None})).json()
    assert (back["zone"], back["currency"]) == ("Asia/Shanghai", "EUR")
    high = await ann.post("/v1/runs", json=saying(budget={"model_calls": 21}), headers=a_key())
    assert (high.status_code, high.json()["errors"][0]["pointer"]) == (422, "/budget/model_calls")
    low = await ann.post("/v1/runs", json=saying(budget={"model_calls": 3}), headers=a_key())
    assert low.status_code == 201


async def test_two_patches_at_once_are_both_kept(served: Served) -> None:
    ann = served.as_()
    await asyncio.gather(
        *(ann.patch("/v1/settings", json=body) for body in ({"zone": "Asia/Tokyo"}, {"currency": "JPY"}) * 4)
    )
    found = (await ann.get("/v1/settings")).json()
    assert (found["zone"], found["currency"]) == ("Asia/Tokyo", "JPY")


async def test_catalogs_show_what_was_published(served: Served, lives: Lives) -> None:
    body = {"fingerprint": "f" * 64, "module": "life", "version": "2", "tools": [{"name": "life.plan_day"}]}
    await lives.sql(
        "INSERT INTO agent.catalogs (fingerprint, module, version, body) VALUES (%s, 'life', '2', %s)",
        "f" * 64, json.dumps(body),
    )  # fmt: skip
    await lives.sql(
        "INSERT INTO agent.workers (slot, boot_id, modules, versions, alive_until) "
        "VALUES ('s', 'b', '{life}', '{}', now() + interval '1 minute')"
    )
    ann = served.as_()
    modules = (await ann.get("/v1/modules")).json()["items"]
    assert Page[ModuleView].model_validate({"items": modules, "next_cursor": None})
    assert modules == [{"name": "life", "version": "2", "fingerprint": "f" * 64, "tools": 1, "served": True}]
    tools = (await ann.get("/v1/modules/life/tools")).json()
    assert ToolsView.model_validate(tools)
    assert (tools["fingerprint"], tools["items"]) == ("f" * 64, [{"name": "life.plan_day"}])


async def test_business_facts_are_the_callers_in_exact_decimals(served: Served, lives: Lives) -> None:
    entries = (("1234.5", "USD", "hotel", "2026-03-04"), ("35.50", "CNY", "taxi", "2026-03-05"),
               ("100", "JPY", "taxi", "2026-03-05"), ("0.001", "USD", "hotel", "2026-03-06"))  # fmt: skip
    for n, (amount, currency, category, on) in enumerate(entries):
        await lives.sql(
            "INSERT INTO app.ledger_entries (id, tenant_id, user_id, kind, amount, currency, category, "
            "occurred_on, origin_effect_key) "
            "VALUES (gen_random_uuid(), %s, %s, 'expense', %s, %s, %s, %s, %s)",
            TENANT, USER, amount, currency, category, on, f"k{n}",
        )  # fmt: skip
    ann = served.as_()
    first = (await ann.get("/v1/ledger-entries?limit=3")).json()
    rest = (await ann.get(f"/v1/ledger-entries?limit=3&cursor={first['next_cursor']}")).json()
    assert Page[LedgerEntryView].model_validate(first) and Page[LedgerEntryView].model_validate(rest)
    assert {e["amount"] for e in first["items"]} == {"0.001", "35.50", "100"}
    assert [e["amount"] for e in rest["items"]] == ["1234.50"] and rest["next_cursor"] is None
    whole = (await ann.get("/v1/ledger-entries/summary?from=2026-03-04&to=2026-03-06")).json()
    assert str(LedgerSummary.model_validate(whole).since) == "2026-03-04"
    summary = whole["items"]
    assert [(s["currency"], s["category"], s["total"], s["entries"]) for s in summary] == [
        ("CNY", "taxi", "35.50", 1), ("JPY", "taxi", "100", 1), ("USD", "hotel", "1234.501", 2)
    ]  # fmt: skip
    assert (await ann.get("/v1/ledger-entries?currency=EUR")).json()["items"] == []


async def test_reminders_come_in_the_order_they_are_due(served: Served, lives: Lives) -> None:
    for n, (at, status) in enumerate([("2030-01-02", "active"), ("2030-01-01", "active"), (None, "done")]):
        await lives.sql(
            "INSERT INTO app.reminders (id, tenant_id, user_id, title, locale, zone, dtstart, next_at, "
            "status, origin_effect_key) "
            "VALUES (gen_random_uuid(), %s, %s, %s, 'en', 'UTC', '2030-01-01', %s, %s, %s)",
            TENANT, USER, f"r{n}", at, status, f"k{n}",
        )  # fmt: skip
    ann = served.as_()
    titles, cursor = [], ""
    while True:
        part = (await ann.get(f"/v1/reminders?limit=1{cursor}")).json()
        assert Page[ReminderView].model_validate(part)
        titles += [item["title"] for item in part["items"]]
        if part["next_cursor"] is None:
            break
        cursor = f"&cursor={part['next_cursor']}"
    assert titles == ["r1", "r0", "r2"]
    assert [r["title"] for r in (await ann.get("/v1/reminders?status=done")).json()["items"]] == ["r2"]


async def test_the_rules_layer_answers_and_stores_nothing(served: Served, lives: Lives) -> None:
    asked = {
        "text": "明早九点提醒我交周报",
        "reference": "2026-03-04T10:00:00+08:00",
        "zone": "Asia/Shanghai",
        "id": "7",
    }
    answer = await served.as_().post("/v1/intents/detect", json=asked)
    assert answer.status_code == 200, answer.text
    assert answer.json()["id"] == "7" and IntentView.model_validate(answer.json())
    assert await lives.sql("SELECT 1 AS one FROM agent.runs") == []
