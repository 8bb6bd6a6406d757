"""Export and diagnostic replay over HTTP: what is shown is what verifies, and calls nothing."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest
from fencepost_contracts.evidence import folds
from fencepost_contracts.evidence.bundle_check import BundleCheck, BundleReport
from fencepost_contracts.evidence.views import VIEWS, json_of
from fencepost_contracts.http_views import ReplayView
from fencepost_domain.errors import Conflict
from fencepost_domain.vocabulary import EffectClass
from fencepost_runtime.signing import load_verifier, new_export_key, public_text
from fencepost_store import event_log, evidence
from fencepost_store.engine import make_engine
from fencepost_store.transaction import Store
from sqlalchemy.exc import DBAPIError

from tests.support.api import Served, serving
from tests.support.eventually import eventually
from tests.support.lives import TENANT, Lives
from tests.support.postgres import Database


async def finished(lives: Lives) -> UUID:
    """A run that asked, was approved, acted and ended."""
    held, interrupt = await lives.waiting(text="remind me, please")
    await lives.resolve(interrupt)
    [again] = await lives.claim()
    action = await lives.prepared_as_stored(again)
    await lives.opened(action)
    await lives.landed(action)
    await lives.finalize(again)
    return held.run.id


async def exported(served: Served, run_id: UUID, *who: str) -> bytes:
    answer = await served.as_(*who).get(f"/v1/runs/{run_id}/export")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return answer.content


def checked(data: bytes, **more: Any) -> BundleReport:
    return BundleCheck(io.BytesIO(data), **more).run()


async def test_i20_an_export_verifies_offline_and_says_what_the_log_says(
    served: Served, lives: Lives
) -> None:
    run_id = await finished(lives)
    data = await exported(served, run_id)

    report = checked(data)

    assert (report.verdict, report.faults) == ("verified", [])
    lines = [json.loads(line) for line in data.splitlines()]
    assert [line["kind"] for line in lines] == ["header", *["event"] * report.valid_events, "trailer"]
    header, events = lines[0], lines[1:-1]
    assert (header["run_id"], header["head"]["seq"]) == (str(run_id), len(events))
    log = (await served.as_().get(f"/v1/runs/{run_id}/events?limit=200")).json()["items"]
    assert [{k: v for k, v in e.items() if k != "kind"} for e in events] == log


async def test_i20_a_signed_export_is_checked_by_the_public_key(
    lives: Lives, database: Database, tmp_path: Path
) -> None:
    private = new_export_key("k1")
    (tmp_path / "private").write_text(private)
    (tmp_path / "public").write_text(public_text(private))
    run_id = await finished(lives)
    async with serving(database.dsn("api"), tmp_path, export_key_file=tmp_path / "private") as served:
        data = await exported(served, run_id)
    assert checked(data, signed=load_verifier(tmp_path / "public")).signature == "verified"


async def test_a_long_run_is_exported_page_by_page(
    served: Served, lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "PAGE", 2)
    monkeypatch.setattr(event_log, "FOLD_PAGE", 2)
    run_id = await finished(lives)
    assert checked(await exported(served, run_id)).verdict == "verified"
    seen = (await served.as_().get(f"/v1/runs/{run_id}/replay?view=audit")).json()
    assert [line["seq"] for line in seen["result"]][-1] == seen["head_seq"]


async def test_each_view_says_over_http_what_its_fold_says_of_the_whole_log(
    served: Served, lives: Lives
) -> None:
    """What isn't fetched for a view is nothing that it tells."""
    run_id = await finished(lives)
    async with served.api.store.transaction(TENANT) as tx:
        log = await event_log.log_of(tx, run_id, 1_000)
    for view, fold in VIEWS.items():
        shown = (await served.as_().get(f"/v1/runs/{run_id}/replay?view={view}")).json()["result"]
        assert shown == json.loads(json_of({"result": fold(log)}))["result"], view
    assert (shown := VIEWS["usage"](log))["actions"] == shown["decisions"] == 1


async def test_the_summary_counted_in_the_database_is_the_fold_of_the_log(
    served: Served, lives: Lives
) -> None:
    """Nothing of it was erased, and it says so at every seq."""
    run_id = await finished(lives)
    ann = served.as_()
    head = (await ann.get(f"/v1/runs/{run_id}")).json()["event_seq"]
    async with served.api.store.transaction(TENANT) as tx:
        for at_seq in range(head + 1):
            folded = folds.summary(await event_log.log_of(tx, run_id, at_seq))
            shown = (await ann.get(f"/v1/runs/{run_id}/replay?at_seq={at_seq}")).json()
            assert shown["result"] == json.loads(json_of({"result": folded}))["result"]
            assert list(shown["result"]["by_type"]) == list(folded["by_type"])
            assert (shown["result"]["erased"], shown["degraded"]) == (0, False)


WHO_WAITS = (
    "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
    " AND wait_event_type = 'Lock' AND position('run_event_payloads' IN query) > 0 AND pid <> ALL (%s)"
)


@asynccontextmanager
async def page_that_waits(lives: Lives, database: Database) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """No page of payloads comes; what is given ends the backend that waits for one."""
    async with await psycopg.AsyncConnection.connect(database.admin) as other:
        await other.execute("LOCK TABLE agent.run_event_payloads IN ACCESS EXCLUSIVE MODE")

        ended: set[int] = set()

        async def end_who_waits() -> None:
            async def one_more() -> bool:
                rows = await lives.sql(WHO_WAITS, sorted(ended))
                ended.update(row["pid"] for row in rows)
                return bool(rows)

            await eventually(one_more)

        yield end_who_waits


async def test_a_page_that_a_busy_database_refuses_is_asked_for_again(
    served: Served, lives: Lives, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "WAITS", (0.0, 0.0, 0.0))
    run_id = await finished(lives)
    async with asyncio.TaskGroup() as group, page_that_waits(lives, database) as end_who_waits:
        asked = group.create_task(exported(served, run_id))
        await end_who_waits()
        await end_who_waits()
    assert checked(asked.result()).verdict == "verified"


async def test_a_page_that_stays_away_cuts_the_connection_not_only_the_bundle(
    served: Served, lives: Lives, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client is told by an error, as no file under the asked name may be a part."""
    monkeypatch.setattr(evidence, "WAITS", (0.0,))
    run_id = await finished(lives)
    async with page_that_waits(lives, database) as end_who_waits:
        asked = asyncio.create_task(exported(served, run_id))
        await end_who_waits()
        await end_who_waits()
        with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
            await asked


async def test_a_process_that_is_to_end_cuts_an_export_as_visibly(
    served: Served, lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = await finished(lives)
    writer = evidence.BundleWriter

    class Stopping(writer):  # type: ignore[valid-type, misc]
        def header(self, members: Any) -> bytes:
            served.api.stop.set()
            return bytes(super().header(members))

    monkeypatch.setattr("fencepost_api.routes.evidence.BundleWriter", Stopping)
    with pytest.raises(httpx.RemoteProtocolError):
        await exported(served, run_id)


async def test_what_is_appended_during_an_export_is_not_in_it(served: Served, lives: Lives) -> None:
    run_id = await lives.queued()
    async with served.api.store.transaction(UUID(int=0)) as tx:
        await tx.set_tenant((await lives.sql("SELECT tenant_id FROM agent.runs"))[0]["tenant_id"])
        head = await evidence.head_of(tx, run_id)
    await lives.append(run_id)
    writer = evidence.BundleWriter(run_id)
    parts = [p async for p in evidence.bundle_lines(served.api.store, head["tenant_id"], head, writer)]
    report = checked(b"".join(parts))
    assert (report.verdict, report.valid_events) == ("verified", 1)


async def test_diagnostic_replay_shows_each_view_at_any_seq(served: Served, lives: Lives) -> None:
    run_id = await finished(lives)
    ann = served.as_()
    before = await lives.sql("SELECT count(*) AS n FROM agent.run_events")
    head = (await ann.get(f"/v1/runs/{run_id}")).json()["event_seq"]
    for view in VIEWS:
        for at_seq in range(head + 2):
            answer = await ann.get(f"/v1/runs/{run_id}/replay?view={view}&at_seq={at_seq}")
            shown = ReplayView.model_validate(answer.json())
            assert (shown.view, shown.at_seq, shown.head_seq) == (view, min(at_seq, head), head)
            assert not shown.degraded
    said = (await ann.get(f"/v1/runs/{run_id}/replay?view=conversation")).json()["result"]
    assert [(s["author"], s.get("text")) for s in said] == [
        ("user", "remind me, please"),
        ("assistant", "Shall I?"),
        ("person", None),
        ("assistant", "done"),
    ]
    assert said[2]["resolution"] == {"decision": "approve"}
    tools = (await ann.get(f"/v1/runs/{run_id}/replay?view=tools")).json()["result"]["calls"]
    assert [call["state"] for call in tools] == ["committed"]
    early = (await ann.get(f"/v1/runs/{run_id}/replay?at_seq=1")).json()["result"]
    assert (early["by_type"], early["ended"]) == ({"run.requested": 1}, None)
    assert await lives.sql("SELECT count(*) AS n FROM agent.run_events") == before


async def test_replay_refuses_views_and_places_that_are_none(served: Served, lives: Lives) -> None:
    run_id = await lives.queued()
    for query in ("view=gossip", "at_seq=-1", "at_seq=last", "at=3", "view=usage&view=tools"):
        answer = await served.as_().get(f"/v1/runs/{run_id}/replay?{query}")
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request"), query


async def test_an_event_of_a_newer_release_is_exported_and_not_guessed_at(
    served: Served, lives: Lives
) -> None:
    run_id = await lives.queued()
    await lives.sql("ALTER TABLE agent.run_events DISABLE TRIGGER ALL")
    await lives.sql("UPDATE agent.run_events SET schema_version = 99")
    answer = await served.as_().get(f"/v1/runs/{run_id}/replay?view=audit")
    assert (answer.status_code, answer.json()["code"]) == (409, "event_too_new")
    assert "changed" in {f.name for f in checked(await exported(served, run_id)).faults}


async def test_i20_erasure_removes_what_was_said_and_keeps_that_it_was(
    served: Served, lives: Lives, database: Database
) -> None:
    run_id = await finished(lives)
    owner = Store(make_engine(database.admin, size=1), lives.ids)
    try:
        removed = await owner.run(
            None, lambda tx: evidence.erase_run(tx, run_id, by="operator:test", reason="asked")
        )
    finally:
        await owner.close()

    assert removed > 5
    assert await lives.violations() == []
    data = await exported(served, run_id)
    report = checked(data)
    assert (report.verdict, report.erased) == ("verified", removed)
    everything = data.decode() + json.dumps(await _all_rows(lives), default=str)
    assert "remind me, please" not in everything
    shown = (await served.as_().get(f"/v1/runs/{run_id}/replay?view=conversation")).json()
    assert shown["degraded"] and shown["result"][0]["erased"]
    for verb in ("retry", "simulations"):
        key = {"Idempotency-Key": f"erased-{verb}"}
        refused = await served.as_().post(f"/v1/runs/{run_id}/{verb}", json={}, headers=key)
        assert (refused.status_code, refused.json()["code"]) == (410, "run_erased")
    package = await served.as_().get(f"/v1/runs/{run_id}/handoff")
    assert (package.status_code, package.json()["code"]) == (410, "run_erased")
    body = {"continues": str(run_id)}
    going_on = await served.as_().post("/v1/runs", json=body, headers={"Idempotency-Key": "erased-on"})
    assert (going_on.status_code, going_on.json()["code"]) == (410, "run_erased")


async def test_no_service_may_erase_and_no_payload_goes_without_the_verb(lives: Lives) -> None:
    run_id = await finished(lives)
    for store in (lives.api, lives.worker, lives.gateway, lives.reconciler):
        with pytest.raises(DBAPIError, match="permission denied"):
            async with store.transaction(UUID(int=1)) as tx:
                await tx.execute("erase_run", {"run_id": run_id, "by": "x", "reason": "x"})
    with pytest.raises(psycopg.Error, match="append-only"):
        await lives.sql("DELETE FROM agent.run_event_payloads WHERE run_id = %s", run_id)
    with pytest.raises(psycopg.Error, match="append-only"):
        await lives.sql("UPDATE agent.finalizations SET explanation = 'x' WHERE run_id = %s", run_id)
    live = await lives.queued()
    with pytest.raises(psycopg.Error, match="has not ended"):
        await lives.sql("SELECT agent.erase_run(%s, 'x', 'x')", live)


async def test_a_simulation_is_refused_every_row_that_could_touch_the_world(lives: Lives) -> None:
    """By the database, whatever code asks."""
    held = await lives.claimed()
    await lives.sql(
        "UPDATE agent.runs SET mode = 'simulation', origin_kind = 'simulation', origin_run_id = id"
        " WHERE id = %s",
        held.run.id,
    )
    for effect_class in EffectClass:
        with pytest.raises(Conflict, match="may not touch the world"):
            await lives.prepared(held, effect_class=effect_class)
    with pytest.raises(Conflict, match="may not touch the world"):
        await lives.ask(held)
    told = {"run": held.run.id, "tenant": held.run.tenant_id, "key": f"{held.run.id}:action:0:commit"}
    for statement in ROWS_OF_THE_WORLD:
        with pytest.raises(psycopg.Error, match="a simulation writes no"):
            await lives.sql(statement.format(**told))


ROWS_OF_THE_WORLD = (
    "INSERT INTO agent.effects (effect_key, run_id, root_run_id, tenant_id, index, n, tool, class, state,"
    " arguments_hash, request)"
    " VALUES ('{key}', '{run}', '{run}', '{tenant}', 0, 1, 't', 'local', 'started', '', '')",
    "INSERT INTO agent.messages (id, conversation_id, seq, tenant_id, user_id, run_id, author, text)"
    " SELECT gen_random_uuid(), conversation_id, 99, '{tenant}', 'u', id, 'assistant', 'x'"
    " FROM agent.runs WHERE id = '{run}'",
    "INSERT INTO app.reminders (id, tenant_id, user_id, title, locale, zone, dtstart, next_at,"
    " origin_effect_key)"
    " VALUES (gen_random_uuid(), '{tenant}', 'u', 't', 'en', 'UTC', now(), now(), '{key}')",
    "INSERT INTO app.ledger_entries (id, tenant_id, user_id, kind, amount, currency, category, occurred_on,"
    " origin_effect_key)"
    " VALUES (gen_random_uuid(), '{tenant}', 'u', 'expense', 1, 'EUR', 'x', now(), '{key}')",
)


async def test_every_table_of_app_has_the_guard(lives: Lives) -> None:
    rows = await lives.sql(
        "SELECT c.table_name FROM information_schema.columns c WHERE c.table_schema = 'app' "
        "AND c.column_name = 'origin_effect_key' AND NOT EXISTS (SELECT FROM information_schema.triggers t "
        "WHERE t.event_object_schema = 'app' AND t.event_object_table = c.table_name "
        "AND t.trigger_name = 'refuse_simulated_origin_effect_key')"
    )
    assert rows == []


async def _all_rows(lives: Lives) -> list[Any]:
    found = []
    for table in ("messages", "runs", "interrupts", "actions", "effects", "model_calls", "conversations"):
        found.append(await lives.sql(f"SELECT to_jsonb(t) AS row FROM agent.{table} t"))
    return found
