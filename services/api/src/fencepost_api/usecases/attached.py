"""The files a run works on: those it came with, else those that came earlier in its conversation.

"Add a page", "who is in room 204?": said after a run with files, such words mean those files. Only the module
that works on files inherits them; what a run inherits is kept in its input, as if it had come with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fencepost_domain.errors import Invalid
from fencepost_store import views
from fencepost_store.artifacts import usable_artifacts
from fencepost_store.transaction import Tx

from fencepost_api.auth import Caller
from fencepost_api.routing import WITH_FILES


@dataclass(frozen=True, slots=True)
class Files:
    """since: the earlier run that they came with, None where they are the run's own."""

    ids: tuple[UUID, ...] = ()
    since: UUID | None = None

    def of(self, module: str) -> dict[str, Any]:
        """As the run's input keeps them: `{attachments?: [id], attachments_since?: run id}`."""
        if not self.ids or (self.since is not None and module != WITH_FILES):
            return {}
        kept: dict[str, Any] = {"attachments": [str(one) for one in self.ids]}
        return kept if self.since is None else {**kept, "attachments_since": str(self.since)}


async def files_of(tx: Tx, caller: Caller, given: tuple[UUID, ...], conversation_id: UUID | None) -> Files:
    """Raises Invalid for a given file that isn't the caller's or can't be used; earlier ones may."""
    if given:
        usable = await usable_artifacts(tx, caller.user_id, given)
        for place, artifact in enumerate(given):
            if artifact not in usable:
                raise Invalid(f"/input/attachments/{place}", "there is no such artifact", "unknown_artifact")
            if why := usable[artifact]:
                raise Invalid(f"/input/attachments/{place}", f"this artifact is {why}", "artifact_unusable")
        return Files(given)
    earlier = None
    if conversation_id is not None:
        earlier = await views.earlier_attachments(tx, conversation_id, caller.user_id)
    if earlier is None:
        return Files()
    since, ids = earlier
    usable = await usable_artifacts(tx, caller.user_id, ids)
    return Files(tuple(one for one in ids if one in usable and usable[one] is None), since)
