"""Catalogs: published once, bound for good, reloaded only when sound (I16, CP-4)."""

from pathlib import Path

import pytest
from fencepost_store.bindings import newest_catalogs
from fencepost_tool_gateway.main import UnsafeDurability, check_durability
from structlog.testing import capture_logs

from tests.support.gateway import REMINDER, SECRET, Served, code, module_folder, serving
from tests.support.lives import Lives

CREATE = "life.create_reminder"
CONTRACT = """\
version: "1"
agent_name: probe
allowed_tools:
  - name: probe.ping
    description: Ping.
    risk: low
    effect_class: none
    input_schema: {type: object, additionalProperties: false}
    output_schema: {type: object}
...
"""
TOOLS = 'from fencepost import tool\n\n@tool("probe.ping")\nasync def ping(args, ctx):\n    return {}\n'


async def get(served: Served, path: str) -> dict[str, object]:
    answer = await served.client.get(f"/internal/{path}", headers={"Authorization": f"Bearer {SECRET}"})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_a_catalog_is_served_by_module_and_by_fingerprint_and_published_once(served: Served) -> None:
    now = await get(served, "modules/life/catalog")
    assert await get(served, f"catalogs/{now['fingerprint']}") == now
    assert await served.catalogs.publish(served.lives.gateway) == 0
    rows = await served.lives.sql("SELECT module FROM agent.catalogs ORDER BY module")
    assert [row["module"] for row in rows] == ["companion", "life", "work"]
    companion = await get(served, "modules/companion/catalog")
    assert companion["tools"] == []


async def test_unknown_modules_catalogs_and_tasks_are_404(served: Served) -> None:
    for path in ("modules/nobody/catalog", "catalogs/" + "0" * 64, "catalogs/..%2f", "tasks/1", "elsewhere"):
        answer = await served.client.get(f"/internal/{path}", headers={"Authorization": f"Bearer {SECRET}"})
        assert (answer.status_code, code(answer)) == (404, "not_found"), path


async def test_i16_a_run_goes_on_with_the_catalog_it_is_bound_to(lives: Lives) -> None:
    root = module_folder(CONTRACT, TOOLS)
    async with serving(lives, dirs=[root]) as served:
        held = await served.bound(module="probe")
        old = served.catalogs.now("probe").fingerprint
        empty = CONTRACT[: CONTRACT.index("allowed_tools")] + "allowed_tools: []\n...\n"
        _rewrite(root, empty)
        assert await served.catalogs.reload(lives.gateway) == 1
        assert served.catalogs.now("probe").fingerprint != old
        assert (await served.prepare(held, "probe.ping", {})).status_code == 200
        newer = await served.bound(module="probe")
        assert code(await served.prepare(newer, "probe.ping", {})) == "calls_refused"
    async with serving(lives, dirs=[root]) as restarted:  # read by fingerprint, with nothing in memory
        assert (await restarted.prepare(held, "probe.ping", {})).status_code == 200


async def test_a_contract_that_is_changed_back_is_in_force_again(lives: Lives) -> None:
    """By a reload and by a restart; what was changed in between binds no new run (a rollback is one)."""
    root = module_folder(CONTRACT, TOOLS)
    riskier = CONTRACT.replace("Ping.", "Ping at once.")
    async with serving(lives, dirs=[root]) as served:
        first = served.catalogs.now("probe").fingerprint
        for text, changed in ((riskier, 1), (CONTRACT, 1), (CONTRACT, 0), (riskier, 1)):
            _rewrite(root, text)
            assert await served.catalogs.reload(lives.gateway) == changed
            assert await _in_force(lives) == served.catalogs.now("probe").fingerprint
        assert await _in_force(lives) != first
    _rewrite(root, CONTRACT)
    async with serving(lives, dirs=[root]) as restarted:
        assert await _in_force(lives) == first
        since = await lives.sql("SELECT in_force_at FROM agent.catalogs WHERE fingerprint = %s", first)
        assert await restarted.catalogs.publish(lives.gateway) == 0, "a replica moves nothing"
        assert (
            await lives.sql("SELECT in_force_at FROM agent.catalogs WHERE fingerprint = %s", first) == since
        )


async def _in_force(lives: Lives) -> str:
    async with lives.worker.transaction() as tx:
        return (await newest_catalogs(tx))["probe"]


async def test_i16_a_revoked_tampered_or_missing_catalog_stops_the_call(served: Served) -> None:
    held = await served.bound()
    unbound = await served.lives.claimed()
    assert code(await served.prepare(unbound, CREATE, REMINDER)) == "catalog_mismatch"
    other = await served.bound(catalog=served.catalogs.now("companion").fingerprint)
    assert code(await served.prepare(other, CREATE, REMINDER)) == "catalog_mismatch"
    await served.lives.sql("UPDATE agent.catalogs SET revoked_at = now() WHERE module = 'life'")
    assert code(await served.prepare(held, CREATE, REMINDER)) == "catalog_revoked"
    await served.lives.sql(
        "ALTER TABLE agent.catalogs DISABLE TRIGGER ALL;"
        " UPDATE agent.catalogs SET revoked_at = NULL, body = replace(body, 'medium', 'low')"
        " WHERE module = 'life'"
    )
    assert code(await served.prepare(held, CREATE, REMINDER)) == "tampered"
    assert await served.attempts() == 0


@pytest.mark.parametrize("broken", [CONTRACT[: len(CONTRACT) // 2], CONTRACT.replace("low", "off"), ""])
async def test_cp4_a_failed_reload_keeps_the_previous_catalog_and_raises_an_alarm(
    lives: Lives, broken: str
) -> None:
    root = module_folder(CONTRACT, TOOLS)
    async with serving(lives, dirs=[root]) as served:
        before = served.catalogs.now("probe")
        with capture_logs() as logs:
            _rewrite(root, broken)
            assert await served.catalogs.reload(lives.gateway) == 0
            assert await served.catalogs.reload(lives.gateway) == 0
        assert [line["event"] for line in logs if line["log_level"] == "error"] == ["contract.reload_refused"]
        assert served.catalogs.refused["probe"] and served.catalogs.now("probe") == before
        _rewrite(root, None)
        assert await served.catalogs.reload(lives.gateway) == 0
        assert served.catalogs.now("probe") == before
        _rewrite(root, CONTRACT.replace("Ping.", "Ping again."))
        assert await served.catalogs.reload(lives.gateway) == 1
        assert served.catalogs.now("probe") != before and not served.catalogs.refused


def _rewrite(root: Path, text: str | None) -> None:
    path = root / "probe" / "contract.yaml"
    path.write_text(text) if text is not None else path.unlink()


async def test_the_gateway_refuses_a_server_that_may_forget_a_commit(lives: Lives) -> None:
    await lives.sql("ALTER ROLE fencepost_gateway SET synchronous_commit = off")
    try:
        with pytest.raises(UnsafeDurability, match="synchronous_commit"):
            await check_durability(lives.gateway)
    finally:
        await lives.sql("ALTER ROLE fencepost_gateway RESET synchronous_commit")
