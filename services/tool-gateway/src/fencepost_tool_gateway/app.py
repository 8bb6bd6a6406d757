"""The routes (cluster-internal). Every one but the probes asks who calls; most ask for the run's fence."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from uuid import UUID

from fastapi import FastAPI, Request
from fencepost_contracts.tools import ActionRequest, CommitRequest, InProgress, PrepareRequest
from fencepost_domain.errors import FencepostError, NotFound, Unavailable
from fencepost_runtime.beside import Beside
from fencepost_runtime.health import Check, run_checks
from fencepost_runtime.http import REQUEST_ID_HEADER, request_id
from fencepost_runtime.logging import get_logger, log_context
from fencepost_runtime.telemetry import tracer
from opentelemetry.propagate import extract
from pydantic import BaseModel
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from fencepost_tool_gateway import callbacks, lookup, tasks
from fencepost_tool_gateway.gateway import Gateway
from fencepost_tool_gateway.invoke import commit
from fencepost_tool_gateway.limits import check_service, read_fence, read_model
from fencepost_tool_gateway.prepare import prepare
from fencepost_tool_gateway.problems import Refused, internal, respond

log = get_logger(__name__)
ROUTES: Final = frozenset(f"/internal/actions/{verb}" for verb in ("prepare", "commit", "lookup", "cancel"))
OPEN_TO_TOKENS: Final = callbacks.PATH + "/"  # who runs a task has a token of that task, and no other
Next = Callable[[Request], Awaitable[Response]]


def make_app(
    gateway: Gateway, secret: str, checks: Mapping[str, Check], beside: Beside | None = None
) -> FastAPI:
    """checks: what `/readyz` asks, by name. secret: what services show as a bearer token."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    expected = secret.encode()

    @app.middleware("http")
    async def guard(request: Request, call_next: Next) -> Response:
        identity = request_id(request.headers.get(REQUEST_ID_HEADER), gateway.ids)
        caller = extract(request.headers)
        name = f"{request.method} {request.url.path}" if request.url.path in ROUTES else request.method
        with tracer().start_as_current_span(name, caller), log_context(request_id=identity):
            response = await _answered(request, call_next, expected, identity)
        response.headers[REQUEST_ID_HEADER] = identity
        return response

    _probes(app, checks, gateway, beside or Beside())
    _catalogs(app, gateway)
    _actions(app, gateway)
    _tasks(app, gateway)
    return app


async def _answered(request: Request, call_next: Next, expected: bytes, identity: str) -> Response:
    try:
        is_open = request.url.path in ("/healthz", "/readyz") or request.url.path.startswith(OPEN_TO_TOKENS)
        if not is_open:
            check_service(request, expected)
        response = await call_next(request)
        if response.status_code in (404, 405) and response.headers.get("content-type") == "application/json":
            raise HTTPException(response.status_code)
        return response
    except FencepostError as error:
        log.info("request.refused", code=error.code, path=request.url.path)
        return respond(error, identity)
    except HTTPException as error:
        code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "bad_request")
        return respond(Refused(code, "no such route"), identity)
    except (SQLAlchemyError, OSError) as error:
        log.error("request.database_failed", path=request.url.path, exc_info=error)
        return respond(Unavailable("the database"), identity)
    except Exception:
        log.exception("request.failed", path=request.url.path)
        return respond(internal(), identity)


def _json(model: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    told = {"Cache-Control": "no-store", **(headers or {})}
    return Response(model.model_dump_json(), status, told, "application/json")


def _probes(app: FastAPI, checks: Mapping[str, Check], gateway: Gateway, beside: Beside) -> None:
    @app.get("/healthz")
    async def healthz() -> Any:
        return {"status": "ok"}

    @app.get("/readyz")
    async def readyz() -> Response:
        verdicts = await run_checks(checks)
        ready = all(verdict == "ok" for verdict in verdicts.values())
        body = beside.told(ready, verdicts)
        if gateway.catalogs.refused:  # served all the same, by the contract that was in force before
            body["contracts_refused"] = {name: list(why) for name, why in gateway.catalogs.refused.items()}
            body["status"] = "degraded" if ready else "not ready"
        return JSONResponse(body, 200 if ready else 503)


def _catalogs(app: FastAPI, gateway: Gateway) -> None:
    @app.get("/internal/modules/{module}/catalog")
    async def current(module: str) -> Response:
        return _json(gateway.catalogs.now(module))

    @app.get("/internal/catalogs/{fingerprint}")
    async def by_fingerprint(fingerprint: str) -> Response:
        async with gateway.store.transaction() as tx:
            compiled = await gateway.catalogs.by_fingerprint(tx, fingerprint[:64])
        return _json(compiled.catalog)


def _actions(app: FastAPI, gateway: Gateway) -> None:
    @app.post("/internal/actions/prepare")
    async def prepare_calls(request: Request) -> Response:
        fence = read_fence(request)
        body, faults = await read_model(request, PrepareRequest)
        _check_indexes(body)
        return _json(await prepare(gateway, fence, body, faults))

    @app.post("/internal/actions/commit")
    async def commit_action(request: Request) -> Response:
        fence = read_fence(request)
        body, _ = await read_model(request, CommitRequest)
        answer = await commit(gateway, fence, body)
        if isinstance(answer, InProgress):
            after = str(math.ceil(answer.retry_after_seconds))
            return _json(answer, 202, {"Retry-After": after})
        return _json(answer)

    @app.post("/internal/actions/lookup")
    async def look_up(request: Request) -> Response:
        fence = read_fence(request)
        body, _ = await read_model(request, ActionRequest)
        return _json(await lookup.look_up(gateway, fence, body))

    @app.post("/internal/actions/cancel")
    async def cancel(request: Request) -> Response:
        fence = read_fence(request)
        body, _ = await read_model(request, ActionRequest)
        return _json(await lookup.cancel(gateway, fence, body))


def _tasks(app: FastAPI, gateway: Gateway) -> None:
    @app.get("/internal/tasks/{task_id}")
    async def task(task_id: str) -> Response:
        try:
            wanted = UUID(task_id)
        except ValueError:
            raise NotFound("task", task_id[:64]) from None
        return _json(await tasks.look_at_task(gateway, wanted))

    @app.post(callbacks.PATH + "/{effect_key}")
    async def event(effect_key: str, request: Request) -> Response:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        return _json(await tasks.take_event(gateway, effect_key[:200], given))


def _check_indexes(body: PrepareRequest) -> None:
    indexes = [call.index for call in body.calls]
    if len(set(indexes)) != len(indexes):
        raise Refused("invalid_request", "an index stands twice; each call of an answer has its own")
