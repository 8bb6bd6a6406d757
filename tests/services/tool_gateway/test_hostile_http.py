"""Requests nobody of ours would send: each its documented problem, never a 500, no row left behind."""

import json
from typing import Any

import httpx
from fencepost_tool_gateway import limits

from tests.support.gateway import ENTRY, REMINDER, SECRET, Served, code

CALL: dict[str, Any] = {"index": 0, "n": 1, "tool": "life.create_reminder", "arguments": REMINDER}
DEEP = b'{"calls":' + b"[" * 5000 + b"]" * 5000 + b"}"
MANY = json.dumps({"calls": [{**CALL, "index": place} for place in range(17)]}).encode()


def body(**change: Any) -> bytes:
    return json.dumps({"calls": [{**CALL, **change}]}).encode()


BAD_BODIES: tuple[tuple[str, bytes, int, str], ...] = (
    ("prepare", b"", 400, "invalid_json"),
    ("prepare", b"null", 400, "invalid_request"),
    ("prepare", b"[]", 400, "invalid_request"),
    ("prepare", b"{", 400, "invalid_json"),
    ("prepare", b"\xff\xfe", 400, "invalid_json"),
    ("prepare", b"\xef\xbb\xbf{}", 400, "invalid_json"),
    ("prepare", DEEP, 400, "invalid_json"),
    ("prepare", b"{" * 40 + b"}" * 40, 400, "invalid_json"),
    ("prepare", b'{"calls": NaN}', 400, "invalid_json"),
    ("prepare", b'{"calls": [], "calls": []}', 400, "invalid_json"),
    ("prepare", b'{"calls": []}', 400, "invalid_request"),
    ("prepare", MANY, 400, "invalid_request"),
    ("prepare", json.dumps({"calls": [CALL, CALL]}).encode(), 400, "invalid_request"),
    ("prepare", json.dumps({"calls": [CALL], "tenant_id": "x"}).encode(), 400, "invalid_request"),
    ("prepare", json.dumps({"calls": [CALL], "dry": "yes"}).encode(), 400, "invalid_request"),
    ("prepare", body(index=-1), 400, "invalid_request"),
    ("prepare", body(index="0"), 400, "invalid_request"),
    ("prepare", body(index=0.5), 400, "invalid_request"),
    ("prepare", body(index=2**70), 400, "invalid_request"),
    ("prepare", body(n=0), 400, "invalid_request"),
    ("prepare", body(n=True), 400, "invalid_request"),
    ("prepare", body(tool=""), 400, "invalid_request"),
    ("prepare", body(tool=None), 400, "invalid_request"),
    ("prepare", body(tool="x" * 1000), 400, "invalid_request"),
    ("prepare", body(tool="\x00"), 400, "invalid_json"),
    ("prepare", body(arguments=[]), 400, "invalid_request"),
    ("prepare", body(arguments="{}"), 400, "invalid_request"),
    ("prepare", body(edited_by="nobody"), 400, "invalid_request"),
    ("prepare", body(user_id="x"), 400, "invalid_request"),
    ("prepare", body(arguments={"title": "x" * 70_000}), 422, "calls_refused"),
    ("prepare", body(arguments={f"k{i}": i for i in range(5000)}), 422, "calls_refused"),
    ("prepare", body(arguments={"title": {"$ref": "http://example.test"}}), 422, "calls_refused"),
    ("prepare", b" " * (limits.MAX_BODY + 1), 413, "body_too_large"),
    ("commit", b'{"index": 0, "n": 1}', 400, "invalid_request"),
    ("commit", b'{"index": 0, "n": 1, "token_id": "x"}', 400, "invalid_request"),
    ("commit", b'{"index": 0, "n": 1, "token_id": "\\u0000"}', 400, "invalid_json"),
    ("commit", b'{"index": 0, "n": 1, "token_id": "0190b000-0000-7000-8000-000000000001"}', 404, "not_found"),
    ("lookup", b'{"index": null}', 400, "invalid_request"),
    ("cancel", b"{}", 400, "invalid_request"),
)


async def test_hostile_bodies_are_told_what_is_wrong(served: Served) -> None:
    held = await served.bound()
    for path, content, status, expected in BAD_BODIES:
        answer = await served.post(path, held.fence, content)
        assert (answer.status_code, code(answer)) == (status, expected), (path, content[:80], answer.text)
        assert "Traceback" not in answer.text and "sqlalchemy" not in answer.text
    assert await served.count("agent.actions") == 0 and await served.attempts() == 0


async def test_a_body_that_names_no_length_is_counted_as_it_arrives(served: Served) -> None:
    held = await served.bound()

    async def endless() -> Any:
        for _ in range(limits.MAX_BODY // 65_536 + 2):
            yield b" " * 65_536

    headers = {"Authorization": f"Bearer {SECRET}", "Fencepost-Fence": held.fence.header()}
    answer = await served.client.post("/internal/actions/prepare", content=endless(), headers=headers)
    assert (answer.status_code, code(answer)) == (413, "body_too_large")


async def test_hostile_fences_are_told_what_is_wrong(served: Served) -> None:
    held = await served.bound()
    run, owner, revision = held.run.id, held.fence.owner, held.fence.revision
    malformed = (
        "",
        "x",
        f"{run}",
        f"{run}/{owner}",
        f"{run}//{revision}",
        f"{run}/{owner}/-1",
        f"{run}/{owner}/x",
        f"{run}/{owner}/{2**63}",
        f"{run}/{owner}/{'9' * 300}",
        f"{{{run}}}/{owner}/{revision}",
        f"{run.hex}/{owner}/{revision}",
        f"{run}/{owner}/١",
        f"{run}/{'o' * 500}/{revision}",
    )
    for shown in malformed:
        headers = [(b"authorization", f"Bearer {SECRET}".encode()), (b"fencepost-fence", shown.encode())]
        answer = await served.client.post("/internal/actions/prepare", content=body(), headers=headers)
        assert (answer.status_code, code(answer)) == (400, "fence_malformed"), shown
    nobody = f"0190b000-0000-7000-8000-000000000001/{owner}/{revision}"
    assert code(await served.post("prepare", nobody, {"calls": [CALL]})) == "fence_lost"


OTHER_ROUTES = (
    ("GET", "/internal/actions/prepare", 405),
    ("DELETE", "/internal/actions/commit", 405),
    ("POST", "/", 404),
    ("POST", "/internal/actions/prepare/", 404),
    ("GET", "/docs", 404),
    ("GET", "/openapi.json", 404),
)


async def test_other_routes_are_not_there(served: Served) -> None:
    for method, path, status in OTHER_ROUTES:
        answer = await served.client.request(method, path, headers={"Authorization": f"Bearer {SECRET}"})
        assert answer.status_code == status and code(answer) in ("not_found", "method_not_allowed"), path


async def test_an_error_carries_the_requests_id_and_a_strange_one_is_replaced(served: Served) -> None:
    held = await served.bound()
    answer = await served.post("prepare", held.fence, b"", **{"X-Request-Id": "abc-1"})
    assert answer.json()["request_id"] == answer.headers["x-request-id"] == "abc-1"
    answer = await served.post("prepare", held.fence, b"", **{"X-Request-Id": "a b\tc"})
    assert answer.json()["request_id"] == answer.headers["x-request-id"] != "a b\tc"


async def test_a_database_that_is_gone_is_unavailable_and_says_nothing_of_itself(served: Served) -> None:
    held = await served.bound()
    [row] = await served.lives.sql("SELECT current_database() AS name")
    await served.lives.sql("ALTER ROLE fencepost_gateway CONNECTION LIMIT 0")
    try:
        await served.lives.gateway.engine.dispose()
        answer = await served.post("prepare", held.fence, {"calls": [CALL]})
    finally:
        await served.lives.sql("ALTER ROLE fencepost_gateway CONNECTION LIMIT -1")
    assert (answer.status_code, code(answer)) == (503, "unavailable")
    assert row["name"] not in answer.text and "fencepost_gateway" not in answer.text
    again: httpx.Response = await served.prepare(held, "life.add_ledger_entry", ENTRY)
    assert again.status_code == 200
