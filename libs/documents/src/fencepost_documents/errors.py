"""A document that is not read at all, and why."""

from __future__ import annotations

from fencepost_domain.errors import Refused


class DocumentRefused(Refused):
    """The file as a whole can't or mustn't be read.

    code: one of `problems.REFUSALS`; detail: what was found, in data; where: byte, member or locator.
    """

    code = "document_refused"

    def __init__(self, code: str, detail: str, where: str = "") -> None:
        self.code = code  # type: ignore[misc]  # finer than the class: the instance's word wins
        self.detail, self.where = detail, where
        super().__init__(f"{code}: {detail}" + (f" ({where})" if where else ""))
