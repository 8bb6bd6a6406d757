"""The api's requests as values, shared by the sync and the async client: method, path, body, headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Request:
    """One call. `key`: its Idempotency-Key, for requests that create or decide."""

    method: str
    path: str
    json: Mapping[str, Any] | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, tuple[str, bytes, str]] | None = None  # field -> name, content, media type

    def all_headers(self) -> dict[str, str]:
        return {**self.headers, **({"Idempotency-Key": self.key} if self.key else {})}


def _id(value: object) -> str:
    return quote(str(value), safe="")


def create_run(text: str, key: str, *, wait: int | None = None, **rest: Any) -> Request:
    """A new run. rest: module, conversation_id, on_busy, metadata, deadline_seconds, budget, locale, zone."""
    given = {
        name: rest.pop(name)
        for name in ("locale", "zone", "currency", "attachments")
        if rest.get(name) is not None
    }
    body = {"input": {"text": text, **given}, **{k: v for k, v in rest.items() if v is not None}}
    return Request("POST", "/v1/runs", body, key=key, headers={"Prefer": f"wait={wait}"} if wait else {})


def get_run(run_id: object) -> Request:
    return Request("GET", f"/v1/runs/{_id(run_id)}")


def list_runs(**filters: Any) -> Request:
    return Request("GET", "/v1/runs", params={k: v for k, v in filters.items() if v is not None})


def run_verb(run_id: object, verb: str, key: str | None = None) -> Request:
    """verb: cancel, pause or resume."""
    return Request("POST", f"/v1/runs/{_id(run_id)}/{verb}", {}, key=key)


def handoff(run_id: object, note: str, assignee: str | None = None) -> Request:
    body = {"note": note, **({"assignee": assignee} if assignee else {})}
    return Request("POST", f"/v1/runs/{_id(run_id)}/handoff", body)


def handoff_package(run_id: object) -> Request:
    return Request("GET", f"/v1/runs/{_id(run_id)}/handoff")


def continue_run(run_id: object, key: str, text: str | None = None) -> Request:
    """A run that goes on from a handed-over one; text: what to do, its goal if absent."""
    body: dict[str, Any] = {"continues": str(run_id), **({"input": {"text": text}} if text else {})}
    return Request("POST", "/v1/runs", body, key=key)


def stuck(**filters: Any) -> Request:
    """filters: run, moving, limit, cursor."""
    given = {name: value for name, value in filters.items() if value is not None}
    return Request("GET", "/v1/admin/stuck", params=given)


def repair(run_id: object, verb: str, reason: str) -> Request:
    """verb: release_lease, requeue or expire_approval."""
    return Request("POST", f"/v1/admin/runs/{_id(run_id)}/repairs", {"verb": verb, "reason": reason})


def run_events(run_id: object, after: int = 0, limit: int = 200) -> Request:
    return Request("GET", f"/v1/runs/{_id(run_id)}/events", params={"after": after, "limit": limit})


def upload(name: str, content: bytes, media_type: str, key: str) -> Request:
    """A file, to be attached to runs by its id."""
    return Request("POST", "/v1/artifacts", key=key, files={"file": (name, content, media_type)})


def artifact(artifact_id: object, part: str = "") -> Request:
    """What is known of a file, or with `/content` its bytes."""
    return Request("GET", f"/v1/artifacts/{_id(artifact_id)}{part}")


def conversation(conversation_id: object, part: str = "", **params: Any) -> Request:
    """A conversation, or a part of it: `/state`, `/state/events`, `/messages`."""
    given = {name: value for name, value in params.items() if value is not None}
    return Request("GET", f"/v1/conversations/{_id(conversation_id)}{part}", params=given)


def derive(run_id: object, verb: str, body: Mapping[str, Any], key: str) -> Request:
    """verb: retry, fork or simulations."""
    return Request("POST", f"/v1/runs/{_id(run_id)}/{verb}", body, key=key)


def run_difference(run_id: object) -> Request:
    return Request("GET", f"/v1/runs/{_id(run_id)}/difference")


def simulate_last(module: str, last: int, substitutes: Mapping[str, Any], key: str) -> Request:
    body = {"module": module, "last": last, "substitutes": dict(substitutes)}
    return Request("POST", "/v1/simulations", body, key=key)


def get_simulation(simulation_id: object) -> Request:
    return Request("GET", f"/v1/simulations/{_id(simulation_id)}")


def run_export(run_id: object) -> Request:
    return Request("GET", f"/v1/runs/{_id(run_id)}/export")


def run_replay(run_id: object, view: str, at_seq: int | None) -> Request:
    given = {"view": view, "at_seq": at_seq}
    params = {name: value for name, value in given.items() if value is not None}
    return Request("GET", f"/v1/runs/{_id(run_id)}/replay", params=params)


def get_interrupt(interrupt_id: object) -> Request:
    return Request("GET", f"/v1/interrupts/{_id(interrupt_id)}")


def list_interrupts(**filters: Any) -> Request:
    return Request("GET", "/v1/interrupts", params={k: v for k, v in filters.items() if v is not None})


def resolve(interrupt_id: object, resolution: Mapping[str, Any], key: str) -> Request:
    return Request("POST", f"/v1/interrupts/{_id(interrupt_id)}/resolution", resolution, key=key)


def plain_list(path: str, **filters: Any) -> Request:
    """A list of the caller's things: reminders, ledger-entries, conversations, modules."""
    return Request("GET", path, params={k: v for k, v in filters.items() if v is not None})


def make_link(interrupt_id: object, body: Mapping[str, Any]) -> Request:
    """A one-time link; never repeated by itself: each one voids the one before."""
    return Request("POST", f"/v1/interrupts/{_id(interrupt_id)}/links", body)


def get_grant(grant_id: object) -> Request:
    return Request("GET", f"/v1/grants/{_id(grant_id)}")


def revoke_grant(grant_id: object) -> Request:
    return Request("DELETE", f"/v1/grants/{_id(grant_id)}")
