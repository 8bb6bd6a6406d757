"""Files: taken in whole, shown by what is known of them, given out only when their hash is right (I29)."""

from __future__ import annotations

import asyncio
import hashlib
import re
from typing import Any, Final
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Request
from fencepost_contracts.http import CANONICAL_UUID
from fencepost_contracts.http_artifacts import ArtifactView
from fencepost_domain.artifact import Lost, understood_type
from fencepost_domain.errors import Invalid
from fencepost_runtime.artifacts import ArtifactMissing, key_of
from fencepost_runtime.logging import get_logger
from fencepost_runtime.telemetry import counter
from fencepost_store import artifacts as registry
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import Response

from fencepost_api import render
from fencepost_api.auth import Caller
from fencepost_api.context import Api
from fencepost_api.deps import (
    ApiDep,
    CallerDep,
    StreamCallerDep,
    api_of,
    check_queries,
    id_of,
    idempotency_key,
)
from fencepost_api.openapi import multipart
from fencepost_api.problems import Refusal
from fencepost_api.usecases.store_artifact import Upload, store_artifact, store_of

router = APIRouter(tags=["artifacts"])
log = get_logger(__name__)
_lost: Final = counter("fencepost.artifacts.lost", "Artifacts found missing or altered")
_FIELDS: Final = frozenset({"file", "replaces"})
# HTML's form data escapes these three in a part's name and no percent sign, so nothing else is meant by one.
_ESCAPED: Final = re.compile("%(?:22|0D|0A)")
_BYTES: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The bytes, of the artifact's own media type.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post("/v1/artifacts", status_code=201, response_model=ArtifactView, openapi_extra=multipart())
async def upload(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """A file as `multipart/form-data`: `file`, and `replaces` to make the next version of one's own."""
    check_queries(request)
    key = idempotency_key(request)
    assert key is not None  # required above
    async with api.files:  # each is in memory whole
        row, replayed = await store_artifact(api, caller, await _upload(request), key)
    headers = {"Location": f"/v1/artifacts/{row['id']}"}
    if replayed:
        headers["Idempotent-Replayed"] = "true"
    return render.answer(render.artifact(row), 201, headers)


@router.get("/v1/artifacts/{artifact_id}", response_model=ArtifactView)
async def get_artifact(artifact_id: str, api: ApiDep, caller: CallerDep) -> Response:
    return render.answer(render.artifact(await _row(api, caller, artifact_id)))


@router.get("/v1/artifacts/{artifact_id}/content", responses=_BYTES)
async def content(artifact_id: str, request: Request, api: ApiDep, caller: StreamCallerDep) -> Response:
    """The bytes, compared with their hash before the first is sent.

    Else 410 `artifact_lost` or `artifact_erased`.
    """
    check_queries(request, "ticket")
    row = await _row(api, caller, artifact_id)
    if row["erased_at"] is not None:
        raise Refusal("artifact_erased", "It was erased; the record that there was one remains.")
    sha256 = bytes(row["sha256"])
    tag = f'"{sha256.hex()}"'
    async with api.files:
        found, data = await _read(api, row, sha256)
    if found is not row["lost"]:
        await _note(api, row, found)
    if found is not None:
        raise Refusal("artifact_lost", _WHY[found])
    headers = {
        "ETag": tag,
        "Content-Disposition": disposition(row["name"]),
        "Cache-Control": "private, no-cache",
    }
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(data, 200, {**headers, "Content-Security-Policy": "sandbox"}, row["media_type"])


_WHY: Final = {
    Lost.MISSING: "Its content is gone from the store; the record of it remains.",
    Lost.ALTERED: "Its content isn't what was stored: it is not given out.",
}


async def _row(api: Api, caller: Caller, artifact_id: str) -> Any:
    wanted = id_of(artifact_id, "artifact")
    async with api.store.transaction(caller.tenant_id) as tx:
        return await registry.artifact(tx, wanted, None if caller.oversees else caller.user_id)


async def _read(api: Api, row: Any, sha256: bytes) -> tuple[Lost | None, bytes]:
    """The bytes, or what is there instead of them."""
    try:
        data = await store_of(api).read(key_of(row["tenant_id"], row["id"]))
    except ArtifactMissing:
        return Lost.MISSING, b""
    if await asyncio.to_thread(lambda: hashlib.sha256(data).digest()) != sha256:
        return Lost.ALTERED, b""
    return None, data


async def _note(api: Api, row: Any, found: Lost | None) -> None:
    """What a reader found is recorded at once; the scan tells the run."""
    async with api.store.transaction(row["tenant_id"]) as tx:
        news = await registry.note_check(tx, row["id"], found)
    if news and found is not None:
        _lost.add(1, {"reason": str(found)})
        log.error("artifact.lost", artifact_id=str(row["id"]), reason=str(found))


def disposition(name: str) -> str:
    """Always a download; the name in both spellings, since headers are Latin-1 (case FI-1)."""
    plain = re.sub(r"[^A-Za-z0-9 ._()-]", "_", name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


async def _upload(request: Request) -> Upload:
    form = await _form(request)
    try:
        unknown = sorted(set(form) - _FIELDS)
        if unknown:
            raise Invalid(f"/{unknown[0][:64]}", "no such field is known here", "extra_forbidden")
        if len(form.multi_items()) != len(set(form)):
            raise Invalid("/file", "a field stands twice", "duplicate_field")
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise Invalid("/file", "send the content as a part with a filename", "missing")
        name = _unescaped(file.filename or "")
        media_type = understood_type(file.content_type or "", name)
        return Upload(name, media_type, await file.read(), _replaces(form.get("replaces")))
    finally:
        await form.close()


async def _form(request: Request) -> FormData:
    limits = api_of(request).limits
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        raise Refusal("upload_expected", "Send multipart/form-data with a part named `file`.")
    try:
        async with asyncio.timeout(limits.upload_wait.total_seconds()):
            return await request.form(max_files=1, max_fields=4, max_part_size=4_096)
    except TimeoutError:
        detail = f"Send it within {limits.upload_wait.total_seconds():g} seconds."
        raise Refusal("request_timeout", detail, headers={"Connection": "close"}) from None
    except HTTPException:
        raise Refusal("upload_expected", "The multipart body can't be read: one file, few fields.") from None


def _unescaped(name: str) -> str:
    """The name as the sender's disk has it. What may not stand in one is cleaned later (`safe_name`)."""
    return _ESCAPED.sub(lambda found: chr(int(found[0][1:], 16)), name)


def _replaces(given: Any) -> UUID | None:
    if given is None:
        return None
    if not isinstance(given, str) or not re.fullmatch(CANONICAL_UUID, given, re.ASCII):
        raise Invalid("/replaces", "the id of an artifact", "invalid_id")
    return UUID(given)
