"""Which module a request goes to when it names none: the rules layer says, `companion` gets the rest."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

from fencepost_domain.errors import Invalid
from fencepost_runtime.logging import get_logger

FALLBACK: Final = "companion"
WITH_FILES: Final = "work"
SHIPPED: Final = frozenset({"companion", "life", "work", "migration"})
MODULE_OF: Final[Mapping[str, str]] = {
    "reminder": "life",
    "ledger": "life",
    "plan": "life",
    "email": "work",
    "presentation": "work",
    "document": "work",
    "translate": "companion",
    "chat": "companion",
}  # by the intent's first word

log = get_logger(__name__)


def choose_module(
    text: str,
    *,
    reference: datetime,
    zone: str | None,
    locale: str,
    known: Collection[str],
    has_files: bool = False,
) -> str:
    """The module of the text's intent if the rules are sure and somebody publishes it, else `companion`.

    Words that mean nothing by themselves mean the files that came with them: those are `work`'s.
    """
    unsure = WITH_FILES if has_files else FALLBACK
    try:
        from fencepost_intents.detect import detect  # the grammar's tables load once, when first needed

        found = detect(text, reference=reference, zone=zone, locale=locale)
    except Exception:  # a fault of the rules must not lose the request: the agent can read it as well
        log.exception("routing.rules_failed")
        return FALLBACK
    module = unsure if found.fallback_required else MODULE_OF.get(found.intent.partition(".")[0], FALLBACK)
    return module if not known or module in known else FALLBACK


def check_module(module: str, known: Collection[str]) -> str:
    """Raise Invalid for a module nobody published or served; before anybody did, the shipped ones count."""
    if module not in (known or SHIPPED):
        raise Invalid("/module", "no such module here; see /v1/modules", "unknown_module")
    return module


def detected(
    text: str, *, reference: datetime, zone: str | None, locale: str | None, currency: str | None
) -> Any:
    """The intent result as JSON (design 05)."""
    from fencepost_intents.detect import detect

    return detect(text, reference=reference, zone=zone, locale=locale, currency=currency).to_json()
