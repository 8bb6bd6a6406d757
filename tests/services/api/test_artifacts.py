"""Files over HTTP: taken in once, named safely, given out only whole and right (I29, FI-1)."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from fencepost_api.context import Limits
from fencepost_runtime.artifacts.filesystem import FilesystemArtifacts
from fencepost_runtime.system import SystemIds

from tests.support.api import Served, a_key, serving
from tests.support.gateway import code
from tests.support.lives import OTHER_TENANT, TENANT, USER, Lives
from tests.support.postgres import Database

PDF = b"%PDF-1.7\n" + b"x" * 1000
LIMITS = Limits(artifact_bytes=100_000, body_bytes=50_000, upload_wait=timedelta(seconds=1))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "files"


@pytest.fixture
async def served(database: Database, tmp_path: Path, folder: Path) -> AsyncIterator[Served]:
    async with serving(database.dsn("api"), tmp_path, LIMITS) as running:
        running.api.artifacts = FilesystemArtifacts(folder, SystemIds())
        yield running


async def send(
    client: httpx.AsyncClient,
    data: bytes = PDF,
    name: str = "report.pdf",
    kind: str = "application/pdf",
    key: str | None = None,
    **fields: str,
) -> httpx.Response:
    headers = {"Idempotency-Key": key or str(uuid4())}
    return await client.post(
        "/v1/artifacts", files={"file": (name, data, kind)}, data=fields, headers=headers
    )


def stored_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def bytes_of(folder: Path, artifact: dict[str, Any], tenant: UUID = TENANT) -> Path:
    return folder / str(tenant) / artifact["id"]


async def test_a_file_is_taken_in_and_given_out(served: Served, folder: Path) -> None:
    client = served.as_()
    made = await send(client)
    assert made.status_code == 201, made.text
    artifact = made.json()
    assert made.headers["location"] == f"/v1/artifacts/{artifact['id']}"
    assert artifact["sha256"] == hashlib.sha256(PDF).hexdigest() and artifact["status"] == "verified"
    assert (artifact["version"], artifact["first_id"], artifact["integrity"]) == (1, artifact["id"], "ok")
    assert (await client.get(f"/v1/artifacts/{artifact['id']}")).json() == artifact
    content = await client.get(f"/v1/artifacts/{artifact['id']}/content")
    assert content.content == PDF and content.headers["content-type"] == "application/pdf"
    assert content.headers["x-content-type-options"] == "nosniff"
    assert content.headers["content-security-policy"] == "sandbox"
    tag = {"If-None-Match": content.headers["etag"]}
    assert (await client.get(f"/v1/artifacts/{artifact['id']}/content", headers=tag)).status_code == 304
    assert bytes_of(folder, artifact).read_bytes() == PDF


@pytest.mark.parametrize(
    ("name", "shown"),
    [("报告-三月.pdf", "报告-三月.pdf"), ("../../etc/passwd", "passwd"), ("..%2f..%2fx", "%2f.%2fx"),
     ("/etc/x", "x"),
     ("invoice\u202efdp.exe", "invoicefdp.exe"), ("CON.pdf", "_CON.pdf"), ("报" * 300 + ".pdf", None)],
)  # fmt: skip
async def test_fi1_a_name_is_data_and_comes_back_whole(
    served: Served, folder: Path, name: str, shown: str | None
) -> None:
    client = served.as_()
    artifact = (await send(client, name=name)).json()
    assert shown is None or artifact["name"] == shown
    told = (await client.get(f"/v1/artifacts/{artifact['id']}/content")).headers["content-disposition"]
    plain, _, encoded = told.partition("; filename*=UTF-8''")
    assert httpx.URL(f"http://x/{encoded}").path == f"/{artifact['name']}" and plain.isascii()
    assert plain.startswith('attachment; filename="') and plain.count('"') == 2
    assert [p.name for p in stored_files(folder)] == [artifact["id"]]


async def test_fi1_an_empty_name_is_no_file_and_leaves_nothing(served: Served, folder: Path) -> None:
    answer = await send(served.as_(), name="")
    assert code(answer) in ("upload_expected", "invalid_request"), answer.text
    assert stored_files(folder) == []


async def test_fi1_crlf_in_a_name_makes_no_header(served: Served) -> None:
    """Sent raw, since no client would: the request is refused or the name cleaned; no header is added."""
    body = (
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="a%0D%0ASet-Cookie: x.pdf"\r\n'
        b"Content-Type: application/pdf\r\n\r\n" + PDF + b"\r\n--b--\r\n"
    )
    headers = {"Content-Type": "multipart/form-data; boundary=b", **a_key()}
    client = served.as_()
    made = await client.post("/v1/artifacts", content=body, headers=headers)
    assert made.json()["name"] == "aSet-Cookie_ x.pdf"
    content = await client.get(f"/v1/artifacts/{made.json()['id']}/content")
    assert "set-cookie" not in content.headers and "\n" not in content.headers["content-disposition"]


async def test_a_name_is_read_as_browsers_write_it(served: Served) -> None:
    """HTML form data escapes a quote and line ends, and nothing else: a name may well hold `%41`."""
    body = (
        '--b\r\nContent-Disposition: form-data; name="file"; filename="季报 %22终%22 100%%41.pdf"\r\n'
        "Content-Type: application/pdf\r\n\r\n"
    ).encode()
    headers = {"Content-Type": "multipart/form-data; boundary=b", **a_key()}
    made = await served.as_().post("/v1/artifacts", content=body + PDF + b"\r\n--b--\r\n", headers=headers)
    assert made.json()["name"] == "季报 _终_ 100%%41.pdf"


@pytest.mark.parametrize("wanted", ["..", "..%2f..%2fetc%2fpasswd", "x", "0", "%00"])
async def test_fi1_an_id_that_is_none_names_nothing(served: Served, wanted: str) -> None:
    for part in ("", "/content"):
        assert (await served.as_().get(f"/v1/artifacts/{wanted}{part}")).status_code in (404, 405)
    for part in ("", "/export", "/replay"):
        assert (await served.as_().get(f"/v1/runs/{wanted}{part}")).status_code in (404, 405)


async def test_the_same_key_is_the_same_file(served: Served, folder: Path) -> None:
    client, key = served.as_(), str(uuid4())
    ends = await asyncio.gather(*(send(client, key=key) for _ in range(6)))
    assert {end.status_code for end in ends} == {201}
    assert len({end.json()["id"] for end in ends}) == 1
    assert sum("idempotent-replayed" not in end.headers for end in ends) == 1
    assert len(stored_files(folder)) == 1
    for other in ({"data": PDF + b"y"}, {"name": "other.pdf"}, {"data": b"text", "kind": "text/plain"}):
        assert code(await send(client, key=key, **other)) == "idempotency_key_reused"
    missing = await client.post("/v1/artifacts", files={"file": ("a.pdf", PDF, "application/pdf")})
    assert code(missing) == "idempotency_key_required"


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"kind": "text/html"}, "artifact_type_refused"),
        ({"kind": "application/x-msdownload"}, "artifact_type_refused"),
        ({"data": b"MZ\x90\x00"}, "invalid_request"),
        ({"data": b""}, "invalid_request"),
        ({"unknown": "x"}, "invalid_request"),
        ({"replaces": "not an id"}, "invalid_request"),
        ({"replaces": str(uuid4())}, "not_found"),
    ],
)
async def test_what_is_not_taken_leaves_nothing(
    served: Served, lives: Lives, folder: Path, wrong: dict[str, Any], problem: str
) -> None:
    assert code(await send(served.as_(), **wrong)) == problem
    assert await lives.sql("SELECT id FROM agent.artifacts") == []
    assert stored_files(folder) == []


async def test_a_file_that_is_too_large_is_refused_before_it_is_read(served: Served) -> None:
    """By its length; one without a length is counted as it comes, as every body is."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    head = (
        f"POST /v1/artifacts HTTP/1.1\r\nHost: x\r\nContent-Length: {LIMITS.artifact_bytes + 20_000}\r\n\r\n"
    )
    writer.write(head.encode())
    answer = await asyncio.wait_for(reader.read(4_096), 30)
    writer.close()
    assert b" 413 " in answer and b"body_too_large" in answer


async def test_what_is_no_upload_is_refused(served: Served) -> None:
    client = served.as_()
    for told in (
        {"json": {"file": "x"}},
        {"content": b"x", "headers": {"Content-Type": "multipart/form-data"}},
        {"content": b"x", "headers": {"Content-Type": "multipart/form-data; boundary=b"}},
        {"files": [("file", ("a", PDF, "application/pdf")), ("file", ("b", PDF, "application/pdf"))]},
    ):
        headers = {**told.pop("headers", {}), **a_key()}
        answer = await client.post("/v1/artifacts", headers=headers, **told)
        assert code(answer) in ("upload_expected", "invalid_request"), answer.text


async def test_versions_have_one_owner(served: Served, lives: Lives) -> None:
    client = served.as_()
    first = (await send(client)).json()
    ends = await asyncio.gather(*(send(client, PDF + bytes([n]), replaces=first["id"]) for n in range(5)))
    assert sorted(end.json()["version"] for end in ends) == [2, 3, 4, 5, 6]
    assert {end.json()["first_id"] for end in ends} == {first["id"]}
    of_another = await send(served.as_("mallory"), replaces=first["id"])
    assert code(of_another) == "not_found"
    assert await lives.violations() == []


async def test_i29_altered_content_is_not_given_out(served: Served, lives: Lives, folder: Path) -> None:
    client = served.as_()
    artifact = (await send(client)).json()
    run = await start(client, artifact["id"])
    bytes_of(folder, artifact).write_bytes(PDF[:-1] + b"y")
    refused = await client.get(f"/v1/artifacts/{artifact['id']}/content")
    assert (refused.status_code, code(refused)) == (410, "artifact_lost") and b"xxx" not in refused.content
    assert (await client.get(f"/v1/artifacts/{artifact['id']}")).json()["integrity"] == "altered"
    view = (await client.get(f"/v1/runs/{run}")).json()
    assert view["degraded"] == [{"artifact_id": artifact["id"], "reason": "altered"}]
    again = await client.post(
        "/v1/runs", json={"input": {"text": "x", "attachments": [artifact["id"]]}},
        headers=a_key(),
    )  # fmt: skip
    assert again.json()["errors"][0]["code"] == "artifact_unusable"


async def test_i29_lost_content_degrades_and_found_content_mends(
    served: Served, lives: Lives, folder: Path
) -> None:
    client = served.as_()
    artifact = (await send(client)).json()
    bytes_of(folder, artifact).unlink()
    assert code(await client.get(f"/v1/artifacts/{artifact['id']}/content")) == "artifact_lost"
    assert (await client.get(f"/v1/artifacts/{artifact['id']}")).json()["integrity"] == "missing"
    bytes_of(folder, artifact).write_bytes(PDF)  # from a backup
    assert (await client.get(f"/v1/artifacts/{artifact['id']}/content")).content == PDF
    assert (await client.get(f"/v1/artifacts/{artifact['id']}")).json()["integrity"] == "ok"


async def start(client: httpx.AsyncClient, *attachments: str) -> str:
    body = {"input": {"text": "what does it say?", "attachments": list(attachments)}}
    made = await client.post("/v1/runs", json=body, headers=a_key())
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


async def test_a_type_that_says_nothing_gives_way_to_the_names_suffix(served: Served) -> None:
    """Windows with Excel calls a CSV `application/vnd.ms-excel`; a slim machine knows no .docx."""
    client = served.as_()
    table = await send(client, "日期,金额\n".encode("gb18030"), "账.csv", "application/vnd.ms-excel")
    assert table.json()["media_type"] == "text/csv"
    word = await send(client, b"PK\x03\x04rest", "报告.docx", "application/octet-stream")
    assert word.json()["media_type"].endswith("wordprocessingml.document")
    pretended = await send(client, b"MZ\x90", "报告.docx", "application/octet-stream")
    assert code(pretended) == "invalid_request" and "artifact_type_mismatch" in pretended.text


async def test_a_run_starts_from_ones_own_files_alone(served: Served, lives: Lives) -> None:
    client = served.as_()
    artifact = (await send(client)).json()
    for who in (served.as_("mallory"), served.as_(tenant=OTHER_TENANT)):
        body = {"input": {"text": "x", "attachments": [artifact["id"]]}}
        answer = await who.post("/v1/runs", json=body, headers=a_key())
        assert answer.json()["errors"][0]["code"] == "unknown_artifact"
    await lives.sql("INSERT INTO agent.catalogs VALUES ('f', 'companion', '1', '')")
    run = (await client.get(f"/v1/runs/{await start(client, artifact['id'])}")).json()
    [shown] = run["artifacts"]
    assert (shown["id"], shown["role"], shown["integrity"]) == (artifact["id"], "input", "ok")
    assert run["degraded"] == []


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("活动17在哪里举办？", "work"),
        ("who is responsible for 17?", "work"),
        ("明早九点提醒我交周报", "life"),
    ],
)
async def test_words_that_say_nothing_by_themselves_mean_the_files(
    served: Served, text: str, module: str
) -> None:
    file = (await send(served.as_())).json()
    body = {"input": {"text": text, "attachments": [file["id"]]}}
    run = (await served.as_().post("/v1/runs", json=body, headers=a_key())).json()
    assert run["module"] == module
    alone = (await served.as_().post("/v1/runs", json={"input": {"text": text}}, headers=a_key())).json()
    assert alone["module"] == ("companion" if module == "work" else module)


async def test_a_follow_up_means_the_files_that_came_earlier_in_its_conversation(
    served: Served, folder: Path
) -> None:
    client = served.as_()
    lost = (await send(client, PDF)).json()
    files = [lost["id"], (await send(client, PDF + b" ")).json()["id"]]
    talk = str(uuid4())

    async def say(text: str, *attachments: str, **rest: str) -> tuple[str, list[str]]:
        body = {"input": {"text": text, "attachments": list(attachments)}, "conversation_id": talk, **rest}
        made = await client.post("/v1/runs", json=body, headers=a_key())
        assert made.status_code == 201, made.text
        run = (await client.get(f"/v1/runs/{made.json()['id']}")).json()
        return run["module"], [one["id"] for one in run["artifacts"]]

    assert await say("谁在204室？") == ("companion", []), "there is nothing yet that it could mean"
    assert await say("谁在204室？", *files) == ("work", files)
    assert await say("明早九点提醒我交周报") == ("life", []), "these mean no file"
    assert await say("再加一页") == ("work", files)
    assert await say("再加一页", module="companion") == ("companion", [])
    bytes_of(folder, lost).unlink()
    await client.get(f"/v1/artifacts/{lost['id']}/content")  # which sees that it is gone
    assert await say("do it again") == ("work", files[1:]), "what can't be used any more is left out"
    other = await client.post("/v1/runs", json={"input": {"text": "do it again"}}, headers=a_key())
    assert other.json()["module"] == "companion", "another conversation has files of its own"


async def test_i27_anothers_file_is_not_found(served: Served) -> None:
    artifact = (await send(served.as_())).json()
    for who in (
        served.as_("mallory"),
        served.as_(USER, tenant=OTHER_TENANT),
        served.as_("a", "admin", tenant=OTHER_TENANT),
    ):
        for part in ("", "/content"):
            assert code(await who.get(f"/v1/artifacts/{artifact['id']}{part}")) == "not_found"
    overseer = served.as_("boss", "operator")
    assert (await overseer.get(f"/v1/artifacts/{artifact['id']}")).status_code == 200
    approver = await served.as_("peer", "approver").get(f"/v1/artifacts/{artifact['id']}")
    assert approver.status_code in (403, 404)


async def test_a_ticket_opens_one_file(served: Served) -> None:
    client = served.as_()
    one, two = (await send(client)).json(), (await send(client)).json()
    path = f"/v1/artifacts/{one['id']}/content"
    made = await client.post("/v1/tickets", json={"path": path})
    assert made.status_code == 201, made.text
    ticket = {"ticket": made.json()["ticket"]}
    async with httpx.AsyncClient(base_url=served.base, trust_env=False) as bare:
        assert (await bare.get(path, params=ticket)).content == PDF
        other = await bare.get(f"/v1/artifacts/{two['id']}/content", params=ticket)
        assert code(other) == "unauthenticated"
        assert code(await bare.get(path)) == "unauthenticated"


async def test_an_upload_that_trickles_is_given_up(served: Served) -> None:
    async def slow() -> AsyncIterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n'
        await asyncio.sleep(5)

    headers = {"Content-Type": "multipart/form-data; boundary=b", **a_key()}
    answer = await served.as_().post("/v1/artifacts", content=slow(), headers=headers)
    assert code(answer) == "request_timeout"


async def test_without_a_store_files_are_refused_and_nothing_else(database: Database, tmp_path: Path) -> None:
    async with serving(database.dsn("api"), tmp_path, LIMITS) as bare:
        assert code(await send(bare.as_())) == "artifacts_unavailable"
        assert (await bare.as_().get("/v1/runs")).status_code == 200
