"""The three fences (design 02 §2): which writes an owner may still do.

A fence is judged twice: here, on a row that is locked, to give a clear answer, and in the SQL of the write,
where the whole fence stands in the WHERE clause.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class FenceKind(StrEnum):
    """START begins something new, RECORD writes down what was done, DRAIN ends a cancelling run."""

    START = "start"
    RECORD = "record"
    DRAIN = "drain"


@dataclass(frozen=True, slots=True)
class Fence:
    """Ownership of a run: who, and which revision the claim (or the cancel) gave."""

    run_id: UUID
    owner: str
    revision: int

    def header(self) -> str:
        """The value of `Fencepost-Fence`: run id / owner / revision."""
        return f"{self.run_id}/{self.owner}/{self.revision}"

    @classmethod
    def parse(cls, header: str) -> Fence:
        """Read the header. Raises ValueError on any other shape."""
        run_id, sep, rest = header.partition("/")
        owner, sep2, revision = rest.rpartition("/")
        if not (sep and sep2 and owner and revision.isascii() and revision.isdigit()):
            raise ValueError("expected <run_id>/<lease_owner>/<revision>")
        return cls(UUID(run_id), owner, int(revision))
