"""Create a run: once per key, with what the caller may ask for (I01, I02, case ID-1).

Until the first request under a key commits, nobody else can see its row. Transaction-scoped advisory locks
can be seen: who finds the same request in work waits for it, who sends another one learns so at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from fencepost_contracts.http import RunInput, RunRequest
from fencepost_domain.budget import deadline_of
from fencepost_domain.errors import Conflict, Invalid
from fencepost_runtime.failpoints import ahit
from fencepost_store import settings_store, views
from fencepost_store.runs import NewRun
from fencepost_store.runs import create_run as store_run
from fencepost_store.settings_store import ForRun
from fencepost_store.transaction import Tx

from fencepost_api.auth import Caller
from fencepost_api.budgets import check_budgets
from fencepost_api.context import Api
from fencepost_api.effective import Effective, check_zone, effective, lowered
from fencepost_api.handoff import brief
from fencepost_api.render import Row, fresh
from fencepost_api.routing import WITH_FILES, check_module, choose_module
from fencepost_api.texts import guess_locale, is_chinese
from fencepost_api.usecases.attached import files_of
from fencepost_api.usecases.handoff_run import to_continue
from fencepost_api.usecases.once import InWork, fingerprint, judged, once
from fencepost_api.usecases.stop_run import stop_run

ROUTE: Final = "POST /v1/runs"


@dataclass(frozen=True, slots=True)
class Created:
    """The run as it is now. `replayed`: an earlier request under the key made it."""

    row: Row
    replayed: bool


async def create_run(
    api: Api, caller: Caller, request: RunRequest, raw: Any, key: str, traceparent: str | None
) -> Created:
    """Raises Refusal request_in_progress and what the store's create_run raises.

    raw: the parsed body, which sameness is judged by.
    """
    caller.need("user", "operator", "admin")
    check_zone(request.input.zone if request.input else None, "/input/zone")
    _check_available(request)
    digest = fingerprint(raw)
    if request.on_busy == "cancel" and request.conversation_id is not None:
        await _make_room(api, caller, request.conversation_id, key)
    created = await once(api, caller, lambda tx: _create(api, tx, caller, request, key, digest, traceparent))
    api.seen.keep((caller.tenant_id, caller.user_id), caller.roles)
    await ahit("api.create.before_response")
    api.runs.touch(created.row["id"])
    return created


async def _create(
    api: Api, tx: Tx, caller: Caller, request: RunRequest, key: str, digest: str, traceparent: str | None
) -> Created:
    told, stored = await settings_store.claim_for_run(tx, caller.user_id, ROUTE, key, digest)
    claim = judged(told, digest)
    if claim is not None and claim.run_id is not None:
        return Created(await views.run(tx, claim.run_id), replayed=True)
    new = await _new_run(api, tx, caller, request, stored, key, digest, traceparent)
    if new.must_be_free:
        await views.hold_conversation(tx, new.conversation_id, caller.user_id)
    created = await store_run(tx, new)
    if created.replayed:
        raise InWork  # it was committed between look and claim: undo what was begun, and look again
    if api.seen.get((caller.tenant_id, caller.user_id)) != caller.roles:
        await settings_store.see_principal(tx, caller.user_id, caller.roles)
    row = fresh(new, created.times)
    await ahit("api.create.before_commit")
    return Created(row, replayed=False)


async def _new_run(
    api: Api,
    tx: Tx,
    caller: Caller,
    request: RunRequest,
    stored: ForRun,
    key: str,
    digest: str,
    traceparent: str | None,
) -> NewRun:
    settings = effective(stored.tenant, stored.person)
    check_budgets(stored.budgets, stored.now, _locale(request.input, settings))
    before = await _before(tx, caller, request)
    given = request.input or before.input
    talk = request.conversation_id if request.module in (None, WITH_FILES) else None  # others inherit none
    files = await files_of(tx, caller, given.attachments, talk)
    locale = _locale(given, settings)
    zone = given.zone or settings.zone
    known = await _known_modules(api, tx)
    module = before.module or _module(
        request, given.text, api.clock.now(), zone, locale, known, bool(files.ids)
    )
    said = given.model_dump(mode="json", exclude_none=True, exclude_defaults=True, exclude={"attachments"})
    asked = request.budget.model_dump(exclude_none=True) if request.budget else {}
    budget = lowered(settings.budgets, asked)
    return NewRun(
        id=api.ids.uuid7(),
        tenant_id=caller.tenant_id,
        user_id=caller.user_id,
        roles=tuple(sorted(caller.roles)),
        module=module,
        conversation_id=request.conversation_id or before.conversation_id or api.ids.uuid7(),
        input={**said, **files.of(module), **before.facts},
        locale=locale,
        zone=zone,
        currency=given.currency or settings.currency or ("CNY" if is_chinese(locale) else "USD"),
        route=ROUTE,
        idempotency_key=key,
        request_hash=digest,
        metadata=request.metadata,
        budget=budget,
        deadline=deadline_of(request.deadline_seconds, budget.get("seconds")),
        traceparent=traceparent,
        must_be_free=request.on_busy == "reject",
        continues=request.continues,
        root_run_id=before.root_run_id,
    )


def _locale(given: RunInput | None, settings: Effective) -> str:
    return (given and given.locale) or settings.locale or guess_locale(given.text if given else "")


async def _known_modules(api: Api, tx: Tx) -> frozenset[str]:
    known = api.modules.get("all")
    if not known:
        known = await views.known_modules(tx)
        api.modules.keep("all", known)
    return known


def _module(
    request: RunRequest,
    text: str,
    now: datetime,
    zone: str | None,
    locale: str,
    known: frozenset[str],
    has_files: bool,
) -> str:
    if request.module is not None:
        return check_module(request.module, known)
    return choose_module(text, reference=now, zone=zone, locale=locale, known=known, has_files=has_files)


@dataclass(frozen=True, slots=True)
class _Before:
    """What a new run takes from the handed-over one it goes on from. module: unless another was asked for."""

    input: RunInput
    module: str | None = None
    conversation_id: UUID | None = None
    root_run_id: UUID | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


async def _before(tx: Tx, caller: Caller, request: RunRequest) -> _Before:
    """The same person goes on in the same conversation; another one in their own, with the package alone."""
    if request.continues is None:
        assert request.input is not None  # held by the request's shape
        return _Before(request.input)
    row, whole = await to_continue(tx, caller, request.continues)
    text = str(row["input"].get("text", ""))
    own = row["user_id"] == caller.user_id
    return _Before(
        RunInput(text=text, locale=row["locale"], zone=row["zone"]),
        module=None if request.module else row["module"],
        conversation_id=row["conversation_id"] if own else None,
        root_run_id=row["root_run_id"],
        facts={"continues": brief(whole)},
    )


def _check_available(request: RunRequest) -> None:
    if request.definition is not None:
        raise Invalid("/definition", "not available in this release", "not_available")
    if request.input is None and request.continues is None:
        raise Invalid("/input", "say what is wanted, or which run is continued (`continues`)", "missing")


async def _make_room(api: Api, caller: Caller, conversation_id: UUID, key: str) -> None:
    """`on_busy: cancel`: stop what holds the conversation, each in a transaction of its own."""
    async with api.store.transaction(caller.tenant_id) as tx:
        runs = await views.runs_at_work(tx, conversation_id, caller.user_id, but_route=ROUTE, but_key=key)
    for run_id in runs:
        try:
            await stop_run(api, caller, run_id, note="on_busy: cancel")
        except Conflict:
            continue  # it ended, or is being stopped, by itself
