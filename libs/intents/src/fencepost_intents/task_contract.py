"""`compile_task_contract`: what the user's own words make a condition of success. Pure; no model is asked."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost_domain.task_contract import TaskContract


def compile_task_contract(text: str, locale: str | None, attachments: Sequence[str] = ()) -> TaskContract:
    """The contract of a request. locale: the user's, used where the words are in no language of ours.

    attachments: artifact ids that came with the request; the work is bound to them.
    """
    return TaskContract(attachments=tuple(dict.fromkeys(attachments)))
