"""The OpenAPI document: what the framework can't see is added by hand (bodies, problems, streams, tokens)."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fencepost_contracts.http import (
    IntentRequest,
    LinkRequest,
    ResolutionRequest,
    RunRequest,
    SettingsPatch,
    StopRequest,
    TicketRequest,
)
from fencepost_contracts.http_admin import HandoffRequest, RepairRequest
from fencepost_contracts.http_budgets import BudgetPut
from fencepost_contracts.http_effects import CompensationRequest, EffectResolution
from fencepost_contracts.http_evidence import (
    ForkRequest,
    RetryRequest,
    SimulationRequest,
    SimulationsRequest,
)
from fencepost_contracts.http_pins import PinDecision
from fencepost_contracts.http_views import Problem
from pydantic import BaseModel

from fencepost_api.problems import MEDIA_TYPE, PROBLEMS

_REQUESTS: Final = (
    RunRequest, StopRequest, ResolutionRequest, LinkRequest, SettingsPatch, TicketRequest, IntentRequest,
    PinDecision,
    HandoffRequest, RepairRequest, RetryRequest, ForkRequest, SimulationRequest, SimulationsRequest,
    EffectResolution, CompensationRequest, BudgetPut, Problem,
)  # fmt: skip
_REFS: Final = "#/components/schemas/{model}"
_TEXT: Final = {"type": "string"}
_STREAM_TEXT: Final = (
    "With id (the log's seq): `run.status`, `interrupt.opened`, `interrupt.closed`, `action.prepared`, "
    "`action.committed`, `action.rejected`, `action.failed`, `action.unknown`, `message.completed`, "
    "`run.finished`. Without id: `message.delta`, `message.reset`, `resync`, `error`."
)


def multipart() -> dict[str, Any]:
    """`openapi_extra` of an upload."""
    file = {"type": "string", "format": "binary"}
    fields = {"file": file, "replaces": {"type": "string", "format": "uuid"}}
    schema = {"type": "object", "required": ["file"], "properties": fields, "additionalProperties": False}
    body = {"required": True, "content": {"multipart/form-data": {"schema": schema}}}
    return {**described(key=True), "requestBody": body}


def described(
    model: type[BaseModel] | None = None, *, key: bool = False, optional: bool = False, stream: bool = False
) -> dict[str, Any]:
    """`openapi_extra` of a route: its body, whether it takes a key, whether it streams."""
    extra: dict[str, Any] = {}
    if model is not None:
        schema = {"$ref": _REFS.format(model=model.__name__)}
        extra["requestBody"] = {"required": not optional, "content": {"application/json": {"schema": schema}}}
    if key:
        extra["parameters"] = [
            {"name": "Idempotency-Key", "in": "header", "required": True,
             "schema": {"type": "string", "minLength": 1, "maxLength": 255}}
        ]  # fmt: skip
    if stream:
        extra["parameters"] = [
            {"name": "Last-Event-ID", "in": "header", "required": False, "schema": {"type": "string"}},
            {"name": "ticket", "in": "query", "required": False, "schema": {"type": "string"}},
        ]
        extra["responses"] = {
            "200": {
                "description": _STREAM_TEXT,
                "content": {"text/event-stream": {"schema": _TEXT}},
            },
            "204": {"description": "The stream was read to its end."},
        }
    return extra


def build(app: FastAPI) -> dict[str, Any]:
    """The whole document, once."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for model in _REQUESTS:
        found = model.model_json_schema(ref_template=_REFS, mode="validation")
        schemas.update(found.pop("$defs", {}))
        schemas[model.__name__] = found
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    document["components"]["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
        "ticket": {"type": "apiKey", "in": "query", "name": "ticket"},
    }
    document["security"] = [{"bearer": []}]
    for item in document["paths"].values():
        for operation in item.values():
            _add_problems(operation)
    return document


def _add_problems(operation: dict[str, Any]) -> None:
    responses = operation.setdefault("responses", {})
    responses.pop("422", None)
    for answer in responses.values():
        if {"text/event-stream", "application/octet-stream"} & set(answer.get("content", {})):
            answer["content"].pop("application/json", None)
    codes = ", ".join(f"`{code}`" for code in sorted(PROBLEMS))
    problem = {MEDIA_TYPE: {"schema": {"$ref": _REFS.format(model="Problem")}}}
    for status in ("4XX", "5XX"):
        responses[status] = {"description": f"A problem; `code` is one of {codes}.", "content": problem}
