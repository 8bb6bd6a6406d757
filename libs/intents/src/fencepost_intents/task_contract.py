"""`compile_task_contract`: what the user's own words make a condition of success. Pure; no model is asked.

A quotation, a text to translate, a reminder's title or what somebody else did orders nothing. Where words are
open to doubt the contract asks for less: a condition nobody set would fail good work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fencepost_domain.task_contract import TaskContract

from fencepost_intents.contract.fields import required_fields
from fencepost_intents.contract.kinds import file_kinds
from fencepost_intents.contract.pages import pages
from fencepost_intents.contract.scope import scope_of
from fencepost_intents.contract.wishes import (
    full_coverage,
    ignores_attachments,
    output_language,
    pictures,
    tables,
)

LONGEST: Final = 4000  # code points; of a longer text the middle is a paste, and orders stand at its ends


def compile_task_contract(text: str, locale: str | None, attachments: Sequence[str] = ()) -> TaskContract:
    """The contract of a request. locale: the user's; it counts where the words say "my language".

    attachments: artifact ids that came with the request; the work is bound to them unless the words say not.
    """
    if len(text) > LONGEST:
        text = text[: LONGEST // 2] + "\n" + text[-LONGEST // 2 :]
    scope = scope_of(text)
    bound = () if ignores_attachments(scope) else tuple(dict.fromkeys(attachments))
    kinds = file_kinds(scope)
    return TaskContract(
        file_kinds=kinds,
        full_coverage=full_coverage(scope),
        attachments=bound,
        required_fields=required_fields(scope),
        language=output_language(scope, locale),
        tables=tables(scope),
        pictures=pictures(scope),
        pages=pages(scope) if "pptx" in kinds else None,  # of others nobody knows before they are printed
    )
