"""A mesh whose agent sends parcels: the reference provider behind it, a model that does what it is told."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.faults.mesh import Mesh, mesh_at
from tests.support.parcels import SEND, Provider, parcels_module, secrets_folder
from tests.support.scripted_model import Chunks, ScriptedModel, providing, tool_answer


class Sends(deque[Any]):
    """A model that sends the parcel by the tool that the request names."""

    def popleft(self) -> Any:
        return self._answer

    def _answer(self, body: dict[str, Any]) -> Chunks:
        words = next(m["content"] for m in body["messages"] if m["role"] == "user")
        return tool_answer(f"probe.{words.split()[-1]}", SEND)


@asynccontextmanager
async def sending_mesh(folder: Path, provider: Provider) -> AsyncIterator[Mesh]:
    async with providing(ScriptedModel(script=Sends())) as model:
        env = {
            "FENCEPOST_MODEL_URL": model.url,
            "FENCEPOST_MODEL_NAME": "scripted",
            "FENCEPOST_MODULES_DIR": str(parcels_module(provider.url)),
            "FENCEPOST_SECRETS_DIR": str(secrets_folder(folder / "secrets")),
        }
        async with mesh_at(folder, env) as running:
            yield running
