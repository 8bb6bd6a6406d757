"""Prompts of the model roles: files with a version in their name, never edited once a release has used them.

A manifest names the file and its hash for each role, so a run goes on with the words it was started with, and
a file that was changed in place is noticed instead of used (I16).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from importlib.resources import files
from string import Template
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fencepost_contracts.graphs import Manifest, RoleName
from fencepost_domain.errors import NotFound, Tampered

# The newest words of each role: what a new manifest names.
PRESENT: Final[Mapping[RoleName, str]] = {
    "module": "module-v1",
    "planner": "planner-v1",
    "composer": "composer-v1",
    "assessor": "assessor-v1",
    "repairer": "repairer-v1",
    "responder": "responder-v1",
    "compactor": "compactor-v1",
}


@dataclass(frozen=True, slots=True)
class Prompt:
    """name: of the file, `planner-v1`. fingerprint: SHA-256 of its bytes, lower hex."""

    name: str
    text: str
    fingerprint: str

    @property
    def reference(self) -> str:
        """As manifests and events name it: `planner-v1@3f9a…`, 16 hex digits."""
        return f"{self.name}@{self.fingerprint[:16]}"

    def render(self, **values: str) -> str:
        """The text with its `$names` filled in. Raises KeyError for one that is not given."""
        return Template(self.text).substitute(values).strip()


@lru_cache(maxsize=64)
def read_prompt(name: str) -> Prompt:
    """The prompt of that name. Raises NotFound."""
    place = files(__package__) / f"{name}.md"
    if not name.replace("-", "").isalnum() or not place.is_file():
        raise NotFound("prompt", name)
    data = place.read_bytes()
    return Prompt(name, data.decode(), hashlib.sha256(data).hexdigest())


def prompt_of(reference: str) -> Prompt:
    """The prompt a manifest names. Raises NotFound for one this build hasn't, Tampered for other words."""
    name, _, _ = reference.partition("@")
    prompt = read_prompt(name)
    if prompt.reference != reference:
        raise Tampered("prompt", reference)
    return prompt


def references() -> dict[RoleName, str]:
    """What a manifest made today says of its prompts, by role."""
    return {role: read_prompt(name).reference for role, name in PRESENT.items()}


def bound(manifest: Manifest | None, role: RoleName) -> Prompt:
    """The words a run is bound to; today's where its manifest names none. Raises NotFound, Tampered."""
    named = (manifest.prompts or {}).get(role) if manifest is not None else None
    return prompt_of(named) if named is not None else read_prompt(PRESENT[role])


def now_of(reference: datetime, zone: str | None) -> str:
    """The instant that relative times count from, on the user's clock where their zone is known."""
    if zone is None:
        return reference.isoformat(timespec="seconds")
    try:
        return reference.astimezone(ZoneInfo(zone)).strftime("%A, %Y-%m-%dT%H:%M:%S%z")
    except (ZoneInfoNotFoundError, ValueError):
        return reference.isoformat(timespec="seconds")
