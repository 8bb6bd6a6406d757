"""Query parameters as values, refused with the parameter's name when they aren't."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date, datetime
from typing import Final
from uuid import UUID

from fastapi import Request
from fencepost_contracts.http import CANONICAL_UUID, MAX_METADATA, METADATA_KEY_PATTERN
from fencepost_domain.vocabulary import RunStatus
from fencepost_store.views import RunFilter

from fencepost_api.auth import Caller
from fencepost_api.deps import bad_query, check_queries, one_query

_RUN_FILTERS: Final = ("status", "module", "user", "conversation_id", "created_after", "limit", "cursor")
_METADATA: Final = "metadata."


def number(request: Request, name: str, default: int) -> int:
    text = one_query(request, name)
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,15}", text, re.ASCII):
        raise bad_query(name, "a number from 0 up")
    return int(text)


def uuid_query(request: Request, name: str) -> UUID | None:
    text = one_query(request, name)
    if text is None:
        return None
    if not re.fullmatch(CANONICAL_UUID, text, re.ASCII):
        raise bad_query(name, "an id")
    return UUID(text)


def cursor_id(request: Request) -> UUID | None:
    return uuid_query(request, "cursor")


def one_of(request: Request, name: str, allowed: Collection[str]) -> str | None:
    text = one_query(request, name)
    if text is not None and text not in allowed:
        raise bad_query(name, f"one of {', '.join(sorted(allowed))}")
    return text


def instant(request: Request, name: str) -> datetime | None:
    """RFC 3339 with a zone; a `+` that became a space on the way is read as meant."""
    text = one_query(request, name)
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text.strip().replace(" ", "+") if "T" in text else "")
    except ValueError:
        found = None
    if found is None or found.tzinfo is None or not 1970 <= found.year <= 9000:
        raise bad_query(name, "a time with zone, such as 2026-03-04T10:00:00+08:00")
    return found


def day(request: Request, name: str) -> date | None:
    text = one_query(request, name)
    if text is None:
        return None
    try:
        return date.fromisoformat(text if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text, re.ASCII) else "")
    except ValueError:
        raise bad_query(name, "a day, such as 2026-03-04") from None


def run_filter(request: Request, caller: Caller) -> RunFilter | None:
    """Which runs are asked for, within what the caller may see; None: certainly none."""
    keys = [name for name in request.query_params if name.startswith(_METADATA)]
    check_queries(request, *_RUN_FILTERS, *keys)
    if len(keys) > MAX_METADATA:
        raise bad_query("metadata", f"at most {MAX_METADATA} keys")
    for name in keys:
        if not re.fullmatch(METADATA_KEY_PATTERN, name.removeprefix(_METADATA), re.ASCII):
            raise bad_query(name[:64], "no metadata has such a key")
    statuses = tuple(part for part in (one_query(request, "status") or "").split(",") if part)
    for status in statuses:
        if status not in set(RunStatus):
            raise bad_query("status", f"one or more of {', '.join(RunStatus)}")
    user = one_query(request, "user")
    if not caller.oversees and user not in (None, caller.user_id):
        return None
    return RunFilter(
        user_id=user if caller.oversees else caller.user_id,
        statuses=statuses,
        module=one_query(request, "module"),
        conversation_id=uuid_query(request, "conversation_id"),
        created_after=instant(request, "created_after"),
        metadata={name.removeprefix(_METADATA): one_query(request, name) or "" for name in keys},
        before=cursor_id(request),
    )
