"""What people are asked and what is remembered of their answers: parts of `Client`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from fencepost import requests
from fencepost.requests import Request
from fencepost.views import Page, View


class Sender(Protocol):
    """What sends: the client that these are parts of."""

    def get(self, request: Request) -> View: ...

    def page(self, request: Request) -> Page: ...


class Interrupts:
    def __init__(self, client: Sender) -> None:
        self._client = client

    def get(self, interrupt_id: object) -> View:
        return self._client.get(requests.get_interrupt(interrupt_id))

    def list(self, **filters: Any) -> Page:
        return self._client.page(requests.list_interrupts(**filters))

    def resolve(self, interrupt_id: object, resolution: Mapping[str, Any], *, idempotency_key: str) -> View:
        """Decide or answer: {decision}, {decisions}, {choice}, {value} or {text}."""
        return self._client.get(requests.resolve(interrupt_id, resolution, idempotency_key))

    def approve(
        self,
        interrupt_id: object,
        *,
        idempotency_key: str,
        arguments: Mapping[str, Any] | None = None,
        note: str | None = None,
    ) -> View:
        body = {"decision": "approve", "arguments": arguments, "note": note}
        return self.resolve(interrupt_id, given(body), idempotency_key=idempotency_key)

    def reject(self, interrupt_id: object, *, idempotency_key: str, note: str | None = None) -> View:
        return self.resolve(
            interrupt_id, given({"decision": "reject", "note": note}), idempotency_key=idempotency_key
        )

    def link(self, interrupt_id: object, *, approver: str | None = None, seconds: int | None = None) -> View:
        """A one-time link to decide by: {url, approver, expires_at}. An earlier one of theirs is void."""
        body = {"approver": approver, "expires_in_seconds": seconds}
        return self._client.get(requests.make_link(interrupt_id, given(body)))

    def decide_each(
        self, interrupt_id: object, decisions: Sequence[Mapping[str, Any]], *, idempotency_key: str
    ) -> View:
        """One decision an action: [{index, decision, arguments?, note?}]."""
        return self.resolve(interrupt_id, {"decisions": list(decisions)}, idempotency_key=idempotency_key)


class Grants:
    """Remembered approvals. Made by resolving with `remember`."""

    def __init__(self, client: Sender) -> None:
        self._client = client

    def list(self, **filters: Any) -> Page:
        return self._client.page(requests.plain_list("/v1/grants", **filters))

    def get(self, grant_id: object) -> View:
        return self._client.get(requests.get_grant(grant_id))

    def revoke(self, grant_id: object) -> View:
        """End it for good; the same again is the same."""
        return self._client.get(requests.revoke_grant(grant_id))


def given(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}
