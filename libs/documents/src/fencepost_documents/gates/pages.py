"""Whether a presentation has as many pages as were asked for."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost_domain.gates import Violation


def judge_pages(found: int, asked: tuple[int, int], position: str, said: str) -> Iterator[Violation]:
    """asked: least and most. said: the detail, with `{found}` and `{asked}` in it."""
    least, most = asked
    if least <= found <= most:
        return
    detail = said.format(found=found, asked=most if least == most else f"{least} to {most}")
    fix = "choose what is shown, or split it, so that the pages fit"
    yield Violation("page_count", position, detail, fix)
