"""The application: routes inside, the guard around, every refusal a problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fencepost_domain.errors import FencepostError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from fencepost_api import openapi
from fencepost_api.context import Api
from fencepost_api.guard import Guard
from fencepost_api.problems import Refusal, internal, of_status, respond, tell
from fencepost_api.routes import (
    admin,
    approve,
    artifacts,
    budgets,
    catalogs,
    conversations,
    effects,
    evidence,
    grants,
    handoff,
    interrupts,
    life,
    lineage,
    pins,
    runs,
    service,
    streams,
)
from fencepost_api.streams.deltas import Listener

VERSION: Final = "1"
PARTS: Final = (
    runs,
    evidence,
    lineage,
    handoff,
    admin,
    interrupts,
    effects,
    grants,
    approve,
    conversations,
    artifacts,
    life,
    catalogs,
    budgets,
    pins,
    streams,
    service,
)
_EXPOSED: Final = ("Location", "Retry-After", "Idempotent-Replayed", "X-Request-Id", "Preference-Applied")
_ALLOWED: Final = (
    "Authorization",
    "Content-Type",
    "Idempotency-Key",
    "Last-Event-ID",
    "Prefer",
    "X-Request-Id",
)


def build_app(api: Api, listener: Listener | None = None) -> ASGIApp:
    """Everything that answers HTTP, ready to be served. listener: what readiness reports on."""
    app = FastAPI(
        title="Fencepost API",
        version=VERSION,
        description="Runs of AI agents: started once, approved by people, finished once.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,
    )
    app.state.api, app.state.listener = api, listener
    for part in PARTS:
        app.include_router(part.router)
    app.openapi = _cached_openapi(app)  # type: ignore[method-assign]
    app.add_exception_handler(FencepostError, _known)
    app.add_exception_handler(HTTPException, _framework)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(Exception, _unknown)
    served: ASGIApp = app
    if api.cors_origins:
        served = CORSMiddleware(
            app,
            allow_origins=list(api.cors_origins),
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=list(_ALLOWED),
            expose_headers=list(_EXPOSED),
            max_age=600,
        )
    return Guard(served, clock=api.clock, ids=api.ids, limits=api.limits)


def _cached_openapi(app: FastAPI) -> Any:
    def build() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = openapi.build(app)
        return app.openapi_schema

    return build


def _identity(request: Request) -> str:
    return str(request.scope.get("state", {}).get("request_id", ""))


async def _known(request: Request, error: Exception) -> Response:
    assert isinstance(error, FencepostError)
    return respond(tell(error), _identity(request))


async def _framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers: Mapping[str, str] | None = error.headers
    if error.status_code == 405:
        headers = {"Allow": ", ".join(sorted(_methods(request)))}
    return respond(of_status(error.status_code, headers), _identity(request))


def _methods(request: Request) -> set[str]:
    """Of all routes of the path: each route by itself only knows its own."""
    found: set[str] = set()
    for route in (route for part in PARTS for route in part.router.routes):
        if isinstance(route, Route) and route.path_regex.match(request.url.path):
            found |= route.methods or set()
    return found


async def _validation(request: Request, error: Exception) -> Response:
    return respond(tell(Refusal("invalid_request", "The request is not valid.")), _identity(request))


async def _unknown(request: Request, error: Exception) -> Response:
    return respond(internal(), _identity(request))
