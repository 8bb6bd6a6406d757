# ruff: noqa: E501 - a table is read a row a line
"""Hostile requests and the problem each gets; run by tests/services/api/test_hostile.py.

`{run}` and the like stand for ids of the victim's things. Rows of RAW go over a bare socket, because no
client would send them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

JSON: Final = {"Content-Type": "application/json"}
KEY: Final = {"Idempotency-Key": "hostile"}
RUNS: Final = "/v1/runs"
NOBODY: Final = "01970000-0000-7000-8000-00000000dead"
OK_BODY: Final = {"input": {"text": "hello"}}


@dataclass(frozen=True)
class Row:
    """One request and the code of the problem it gets. `who`: mallory (default), victim, stranger, nobody."""

    name: str
    code: str
    method: str = "POST"
    path: str = RUNS
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    who: str = "mallory"
    pointer: str | None = None


def post(name: str, code: str, body: Any, pointer: str | None = None, **more: Any) -> Row:
    """A run asked for with this body."""
    return Row(
        name, code, body=body, headers={**JSON, **KEY, **more.pop("headers", {})}, pointer=pointer, **more
    )


def get(name: str, code: str, path: str, **more: Any) -> Row:
    return Row(name, code, method="GET", path=path, **more)


def decide(name: str, code: str, body: Any, pointer: str | None = None, **more: Any) -> Row:
    """A decision on the victim's open approval, by the victim unless the row says otherwise."""
    more = {"who": "victim", "path": "/v1/interrupts/{approval}/resolution", **more}
    return Row(name, code, body=body, headers={**JSON, **KEY}, pointer=pointer, **more)


def saying(text: Any, **more: Any) -> dict[str, Any]:
    return {"input": {"text": text, **more}}


DEEP: Final = b'{"input":{"text":"x"},"metadata":' + b"[" * 3_000 + b"]" * 3_000 + b"}"
ROWS: Final[tuple[Row, ...]] = (
    # ── bodies that aren't JSON ───────────────────────────────────────────────────────────────────
    post("an empty body", "empty_body", b""),
    post("only spaces", "empty_body", b"  \n "),
    post("not JSON", "invalid_json", b"{nope"),
    post("a trailing comma", "invalid_json", b'{"input":{"text":"x"},}'),
    post("two documents", "invalid_json", b'{"input":{"text":"x"}}{"input":{"text":"y"}}'),
    post("single quotes", "invalid_json", b"{'input':{'text':'x'}}"),
    post("a byte order mark", "invalid_json", b"\xef\xbb\xbf" + json.dumps(OK_BODY).encode()),
    post("a raw control character in a string", "invalid_json", b'{"input":{"text":"a\x01b"}}'),
    post("NaN", "invalid_json", b'{"input":{"text":"x"},"deadline_seconds":NaN}'),
    post("Infinity", "invalid_json", b'{"input":{"text":"x"},"deadline_seconds":Infinity}'),
    post("-Infinity", "invalid_json", b'{"input":{"text":"x"},"deadline_seconds":-Infinity}'),
    post("1e999", "invalid_request", b'{"input":{"text":"x"},"deadline_seconds":1e999}', "/deadline_seconds"),
    post("an integer of 5,000 digits", "invalid_json", b'{"deadline_seconds":' + b"9" * 5_000 + b"}"),
    post("an integer beyond 2^53", "invalid_request", saying("x") | {"deadline_seconds": 2**60}, "/deadline_seconds"),
    post("a key twice", "duplicate_key", b'{"input":{"text":"x"},"input":{"text":"y"}}'),
    post("a key twice deep inside", "duplicate_key", b'{"input":{"text":"x","text":"y"}}'),
    post("3,000 levels", "json_too_deep", DEEP),
    post("33 levels", "json_too_deep", b"[" * 33 + b"]" * 33),
    post("UTF-16", "invalid_encoding", json.dumps(OK_BODY).encode("utf-16")),
    post("invalid UTF-8", "invalid_encoding", b'{"input":{"text":"\xff\xfe"}}'),
    post("an overlong encoding", "invalid_encoding", b'{"input":{"text":"\xc0\xaf"}}'),
    post("a surrogate as UTF-8", "invalid_encoding", b'{"input":{"text":"\xed\xa0\x80"}}'),
    post("GB18030", "invalid_encoding", '{"input":{"text":"提醒"}}'.encode("gb18030")),
    # ── bodies that are JSON and wrong ────────────────────────────────────────────────────────────
    post("null", "invalid_request", b"null", ""),
    post("a list", "invalid_request", [OK_BODY], ""),
    post("a string", "invalid_request", b'"hello"', ""),
    post("no input", "invalid_request", {}, "/input"),
    post("input a string", "invalid_request", {"input": "hello"}, "/input"),
    post("no text", "invalid_request", {"input": {}}, "/input/text"),
    post("text null", "invalid_request", saying(None), "/input/text"),
    post("text a number", "invalid_request", saying(7), "/input/text"),
    post("text empty", "invalid_request", saying(""), "/input/text"),
    post("text of spaces", "invalid_request", saying(" \n\t"), "/input/text"),
    post("text too long", "invalid_request", saying("a" * 32_769), "/input/text"),
    post("an unknown field", "invalid_request", OK_BODY | {"deadline_second": 5}, "/deadline_second"),
    post("identity in the body", "invalid_request", OK_BODY | {"user_id": "root"}, "/user_id"),
    post("a tenant in the body", "invalid_request", OK_BODY | {"tenant_id": NOBODY}, "/tenant_id"),
    post("an unknown field in input", "invalid_request", saying("x", user="root"), "/input/user"),
    post("a key that is a pointer", "invalid_request", OK_BODY | {"a/b~c": 1}, "/a~1b~0c"),
    post("__proto__", "invalid_request", OK_BODY | {"__proto__": {"admin": True}}, "/__proto__"),
    post("an unknown module", "invalid_request", OK_BODY | {"module": "nosuch"}, "/module"),
    post("a module that is a path", "invalid_request", OK_BODY | {"module": "../life"}, "/module"),
    post("a module in capitals", "invalid_request", OK_BODY | {"module": "Life"}, "/module"),
    post("a look-alike module", "invalid_request", OK_BODY | {"module": "lіfe"}, "/module"),
    post("an unknown on_busy", "invalid_request", OK_BODY | {"on_busy": "wait"}, "/on_busy"),
    post("a zone that isn't one", "invalid_request", saying("x", zone="Mars/Olympus"), "/input/zone"),
    post("a zone that is a path", "invalid_request", saying("x", zone="../../etc/passwd"), "/input/zone"),
    post("a locale that isn't one", "invalid_request", saying("x", locale="english please"), "/input/locale"),
    post("a currency that isn't one", "invalid_request", saying("x", currency="$"), "/input/currency"),
    post("a deadline of zero", "invalid_request", OK_BODY | {"deadline_seconds": 0}, "/deadline_seconds"),
    post("a negative deadline", "invalid_request", OK_BODY | {"deadline_seconds": -1}, "/deadline_seconds"),
    post("a deadline of a year", "invalid_request", OK_BODY | {"deadline_seconds": 31_536_000}, "/deadline_seconds"),
    post("a deadline as text", "invalid_request", OK_BODY | {"deadline_seconds": "60"}, "/deadline_seconds"),
    post("a deadline that is true", "invalid_request", OK_BODY | {"deadline_seconds": True}, "/deadline_seconds"),
    post("a budget that raises", "invalid_request", OK_BODY | {"budget": {"model_calls": 9_999}}, "/budget/model_calls"),
    post("a negative budget", "invalid_request", OK_BODY | {"budget": {"actions": -1}}, "/budget/actions"),
    post("a budget in floats", "invalid_request", OK_BODY | {"budget": {"cost": 0.1}}, "/budget/cost"),
    post("17 metadata keys", "invalid_request", OK_BODY | {"metadata": {f"k{n}": "v" for n in range(17)}}, "/metadata"),
    post("metadata of numbers", "invalid_request", OK_BODY | {"metadata": {"a": 1}}, "/metadata/a"),
    post("a metadata key with spaces", "invalid_request", OK_BODY | {"metadata": {"a b": "c"}}, "/metadata/a b"),
    post("a long metadata value", "invalid_request", OK_BODY | {"metadata": {"a": "x" * 513}}, "/metadata/a"),
    post("a NUL in metadata", "invalid_request", b'{"input":{"text":"x"},"metadata":{"a":"\\u0000"}}', "/metadata/a"),
    post("half a surrogate in metadata", "invalid_request", b'{"input":{"text":"x"},"metadata":{"a":"\\ud800"}}',
         "/metadata/a"),
    post("a NUL in a key", "invalid_request", b'{"input":{"text":"x"},"metadata":{"a\\u0000":"b"}}', "/metadata"),
    post("a conversation id that isn't one", "invalid_request", OK_BODY | {"conversation_id": "1"}, "/conversation_id"),
    post("a conversation id as a URN", "invalid_request", OK_BODY | {"conversation_id": f"urn:uuid:{NOBODY}"},
         "/conversation_id"),
    post("a conversation id as a number", "invalid_request", OK_BODY | {"conversation_id": 5}, "/conversation_id"),
    post("another user's conversation", "not_found", OK_BODY | {"conversation_id": "{conversation}"}),
    post("another tenant's conversation", "not_found", OK_BODY | {"conversation_id": "{conversation}"}, who="stranger"),
    post("a busy conversation", "conversation_busy", OK_BODY | {"conversation_id": "{conversation}", "on_busy": "reject"},
         who="victim"),
    post("an attachment that isn't there", "invalid_request", saying("x", attachments=[NOBODY]), "/input/attachments/0"),
    post("17 attachments", "invalid_request", saying("x", attachments=[NOBODY] * 17), "/input/attachments"),
    post("a definition", "invalid_request", OK_BODY | {"definition": "mine"}, "/definition"),
    # ── headers ───────────────────────────────────────────────────────────────────────────────────
    Row("no key", "idempotency_key_required", body=OK_BODY, headers=JSON),
    Row("an empty key", "idempotency_key_invalid", body=OK_BODY, headers={**JSON, "Idempotency-Key": ""}),
    Row("a key with a space", "idempotency_key_invalid", body=OK_BODY, headers={**JSON, "Idempotency-Key": "a b"}),
    Row("a key of 256", "idempotency_key_invalid", body=OK_BODY, headers={**JSON, "Idempotency-Key": "k" * 256}),
    Row("no content type", "unsupported_media_type", body=b"{}", headers=KEY),
    post("a form", "unsupported_media_type", b"input=x", headers={"Content-Type": "application/x-www-form-urlencoded"}),
    post("plain text", "unsupported_media_type", OK_BODY, headers={"Content-Type": "text/plain"}),
    post("another charset", "unsupported_media_type", OK_BODY,
         headers={"Content-Type": "application/json; charset=gb18030"}),
    post("compressed", "unsupported_media_type", b"\x1f\x8b\x08\x00", headers={"Content-Encoding": "gzip"}),
    post("multipart", "unsupported_media_type", b"--x--", headers={"Content-Type": "multipart/form-data; boundary=x"}),
    post("too large", "body_too_large", b'{"input":{"text":"' + b"a" * 70_000 + b'"}}'),
    post("headers too large", "headers_too_large", OK_BODY, headers={"X-Padding": "a" * 20_000}),
    # ── who calls ─────────────────────────────────────────────────────────────────────────────────
    post("no token", "unauthenticated", OK_BODY, who="nobody"),
    post("basic auth", "unauthenticated", OK_BODY, who="nobody", headers={"Authorization": "Basic cm9vdDpyb290"}),
    post("not a token", "unauthenticated", OK_BODY, who="nobody", headers={"Authorization": "Bearer x.y.z"}),
    post("a token of 9 kB", "unauthenticated", OK_BODY, who="nobody", headers={"Authorization": "Bearer " + "a" * 9_000}),
    post("no role at all", "forbidden", OK_BODY, who="roleless"),
    post("an approver", "forbidden", OK_BODY, who="approver"),
    get("a token in the query", "unauthenticated", "/v1/runs?access_token=x", who="nobody"),
    get("a made-up ticket", "unauthenticated", "/v1/runs/{run}/stream?ticket=aaaa.bbbb.cccc", who="nobody"),
    get("a ticket that isn't ASCII", "unauthenticated", "/v1/runs/{run}/stream?ticket=k%C3%A9.x.y", who="nobody"),
    get("an empty ticket", "unauthenticated", "/v1/runs/{run}/stream?ticket=", who="nobody"),
    get("a ticket where none is taken", "unauthenticated", "/v1/runs/{run}?ticket=aaaa.bbbb.cccc", who="nobody"),
    # ── ids and paths ─────────────────────────────────────────────────────────────────────────────
    get("no such route", "not_found", "/v1/nothing"),
    get("a trailing slash", "not_found", "/v1/runs/"),
    get("an id that isn't one", "not_found", "/v1/runs/1"),
    get("an id with braces", "not_found", "/v1/runs/%7B{run}%7D"),
    get("a traversal", "not_found", "/v1/runs/..%2f..%2fetc%2fpasswd"),
    get("a NUL in the path", "not_found", "/v1/runs/%00"),
    get("invalid UTF-8 in the path", "not_found", "/v1/runs/%ff%fe"),
    get("SQL in the path", "not_found", "/v1/runs/1'%20OR%201=1--"),
    get("another user's run", "not_found", "/v1/runs/{run}"),
    get("another user's log", "not_found", "/v1/runs/{run}/events"),
    get("another user's stream", "not_found", "/v1/runs/{run}/stream"),
    get("another user's question", "not_found", "/v1/interrupts/{approval}"),
    get("another user's messages", "not_found", "/v1/conversations/{conversation}/messages"),
    get("another tenant's run", "not_found", "/v1/runs/{run}", who="stranger"),
    get("another tenant's run, as its admin", "not_found", "/v1/runs/{run}", who="stranger_admin"),
    get("another tenant's stream, as its admin", "not_found", "/v1/runs/{run}/stream", who="stranger_admin"),
    Row("cancel another's run", "not_found", path="/v1/runs/{run}/cancel"),
    Row("pause another's run", "not_found", path="/v1/runs/{run}/pause"),
    Row("resume another's run", "not_found", path="/v1/runs/{run}/resume"),
    Row("cancel another tenant's run, as its admin", "not_found", path="/v1/runs/{run}/cancel", who="stranger_admin"),
    Row("cancel a finished run", "run_finished", path="/v1/runs/{finished}/cancel", who="victim"),
    Row("pause a finished run", "run_finished", path="/v1/runs/{finished}/pause", who="victim"),
    Row("resume a finished run", "run_finished", path="/v1/runs/{finished}/resume", who="victim"),
    Row("cancel with a body that is a list", "invalid_request", path="/v1/runs/{run}/cancel", body=[], headers=JSON,
        who="victim", pointer=""),
    Row("cancel as a form", "unsupported_media_type", path="/v1/runs/{run}/cancel", body=b"note=x", who="victim"),
    Row("delete a run", "method_not_allowed", method="DELETE", path="/v1/runs/{run}", who="victim"),
    Row("put a run", "method_not_allowed", method="PUT", path="/v1/runs/{run}", body={}, headers=JSON, who="victim"),
    Row("TRACE", "method_not_allowed", method="TRACE", path="/v1/runs"),
    get("a path of 3 kB", "uri_too_long", "/v1/runs/" + "a" * 3_000),
    get("a query of 3 kB", "uri_too_long", "/v1/runs?status=" + "a" * 3_000),
    # ── queries ───────────────────────────────────────────────────────────────────────────────────
    get("limit 0", "invalid_request", "/v1/runs?limit=0"),
    get("limit -1", "invalid_request", "/v1/runs?limit=-1"),
    get("limit a million", "invalid_request", "/v1/runs?limit=1000000"),
    get("limit in Arabic digits", "invalid_request", "/v1/runs?limit=%D9%A1"),
    get("limit twice", "invalid_request", "/v1/runs?limit=1&limit=2"),
    get("a cursor that isn't one", "invalid_request", "/v1/runs?cursor=abc"),
    get("an unknown status", "invalid_request", "/v1/runs?status=done"),
    get("an unknown filter", "invalid_request", "/v1/runs?stats=queued"),
    get("a time without zone", "invalid_request", "/v1/runs?created_after=2026-03-04T10:00:00"),
    get("a time that isn't one", "invalid_request", "/v1/runs?created_after=yesterday"),
    get("a NUL in a filter", "invalid_request", "/v1/runs?module=%00"),
    get("17 metadata filters", "invalid_request", "/v1/runs?" + "&".join(f"metadata.k{n}=v" for n in range(17))),
    get("a negative position", "invalid_request", "/v1/runs/{run}/events?after=-1", who="victim"),
    get("a position of 30 digits", "invalid_request", "/v1/runs/{run}/events?after=" + "9" * 30, who="victim"),
    get("an unknown kind", "invalid_request", "/v1/interrupts?kind=coffee"),
    get("a day that isn't one", "invalid_request", "/v1/ledger-entries?from=2026-02-30"),
    get("days the wrong way round", "invalid_request", "/v1/ledger-entries?from=2026-03-02&to=2026-03-01"),
    get("a made-up ledger cursor", "invalid_request", "/v1/ledger-entries?cursor=%F0%9F%92%A9"),
    get("a made-up reminder cursor", "invalid_request", "/v1/reminders?cursor=YWJj"),
    get("a module that isn't there", "not_found", "/v1/modules/nosuch/tools"),
    get("a module with a NUL", "not_found", "/v1/modules/%00/tools"),
    # ── decisions ─────────────────────────────────────────────────────────────────────────────────
    decide("approve another's action", "not_found", {"decision": "approve"}, who="mallory"),
    decide("approve another tenant's action", "not_found", {"decision": "approve"}, who="stranger_admin"),
    decide("a decision of an id that isn't one", "not_found", {"decision": "approve"}, path="/v1/interrupts/1/resolution"),
    decide("a run's id as an interrupt's", "not_found", {"decision": "approve"}, path="/v1/interrupts/{run}/resolution"),
    decide("no decision", "invalid_request", {}, "/decision"),
    decide("a decision in capitals", "invalid_request", {"decision": "APPROVE"}, "/decision"),
    decide("a decision that is true", "invalid_request", {"decision": True}, "/decision"),
    decide("an answer to an approval", "invalid_request", {"text": "yes"}, "/text"),
    decide("both forms", "invalid_request", {"decision": "approve", "decisions": [{"index": 0, "decision": "reject"}]},
           "/decisions"),
    decide("an action not asked for", "invalid_request", {"decisions": [{"index": 7, "decision": "approve"}]},
           "/decisions/0/index"),
    decide("an action twice", "invalid_request",
           {"decisions": [{"index": 0, "decision": "approve"}, {"index": 0, "decision": "reject"}]}, "/decisions/1/index"),
    decide("no actions", "invalid_request", {"decisions": []}, "/decisions"),
    decide("an edited rejection", "invalid_request", {"decision": "reject", "arguments": {}}, "/arguments"),
    decide("arguments that are a list", "invalid_request", {"decision": "approve", "arguments": []}, "/arguments"),
    decide("a NUL in edited arguments", "invalid_request",
           b'{"decision":"approve","arguments":{"title":"a\\u0000"}}', "/arguments/title"),
    decide("an approver named in the body", "invalid_request", {"decision": "approve", "by": "root"}, "/by"),
    decide("a note of 3 kB", "invalid_request", {"decision": "approve", "note": "n" * 3_000}, "/note"),
    Row("a decision without key", "idempotency_key_required", path="/v1/interrupts/{approval}/resolution",
        body={"decision": "approve"}, headers=JSON, who="victim"),
    decide("the opposite of what was decided", "already_resolved", {"decision": "approve"},
           path="/v1/interrupts/{rejected}/resolution"),
    decide("an expired question, no sweep ran", "interrupt_expired", {"decision": "approve"},
           path="/v1/interrupts/{expired}/resolution"),
    decide("a question of a cancelled run", "interrupt_withdrawn", {"decision": "approve"},
           path="/v1/interrupts/{withdrawn}/resolution"),
    # ── settings, tickets, intents ────────────────────────────────────────────────────────────────
    Row("policy without the role", "forbidden", method="PATCH", path="/v1/settings", headers=JSON,
        body={"approval": {"four_eyes": []}}),
    Row("the tenant's zone without the role", "forbidden", method="PATCH", path="/v1/settings?scope=tenant", headers=JSON,
        body={"zone": "Asia/Shanghai"}),
    Row("settings of an unknown zone", "invalid_request", method="PATCH", path="/v1/settings", headers=JSON,
        body={"zone": "Nowhere"}, pointer="/zone"),
    Row("an unknown setting", "invalid_request", method="PATCH", path="/v1/settings", headers=JSON, body={"theme": "dark"},
        pointer="/theme"),
    Row("a ticket for another host", "invalid_request", path="/v1/tickets", headers=JSON,
        body={"path": "https://evil.test/v1/feed"}, pointer="/path"),
    Row("a ticket for a traversal", "invalid_request", path="/v1/tickets", headers=JSON, body={"path": "/v1/%2e%2e/x"},
        pointer="/path"),
    Row("an intent without text", "invalid_request", path="/v1/intents/detect", headers=JSON, body={}, pointer="/text"),
    Row("an intent of the year 9999", "invalid_request", path="/v1/intents/detect", headers=JSON,
        body={"text": "in two weeks", "reference": "9999-12-31T23:59:59Z"}, pointer="/reference"),
    Row("an intent without zone", "invalid_request", path="/v1/intents/detect", headers=JSON,
        body={"text": "tomorrow", "reference": "2026-03-04T10:00:00"}, pointer="/reference"),
)  # fmt: skip

RAW: Final[tuple[tuple[str, bytes, int], ...]] = (
    ("a length that is no number", b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: ten\r\n\r\n", 400),
    ("a negative length", b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n", 400),
    ("a length of a terabyte, no body sent",
     b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 1099511627776\r\n\r\n", 413),
    ("two lengths", b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\n{}", 400),
    ("length and chunks",
     b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("not HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n", 400),
    ("a bare LF in a header", b"GET /healthz HTTP/1.1\nHost: x\nA: b\n\n", 400),
    ("a header name with a space", b"GET /healthz HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n", 400),
    ("an unknown version", b"GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n", 400),
    ("an upgrade to websocket", b"GET /v1/feed HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
     b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n", 401),
    ("two authorisations", b"GET /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\n"
     b"Authorization: Bearer b\r\n\r\n", 401),
    ("a header that isn't ASCII", b"GET /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\xc3\xa9\r\n\r\n", 401),
)  # fmt: skip
