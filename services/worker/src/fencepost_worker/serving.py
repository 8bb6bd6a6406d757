"""Which models this worker can serve, and what its manifest says of them."""

from __future__ import annotations

from typing import Final

from fencepost_contracts.graphs import Manifest, RoleModel
from fencepost_runtime.secret_sources import make_secrets
from fencepost_runtime.settings import WorkerSettings
from fencepost_runtime.system import SystemClock

from fencepost_worker import prompts
from fencepost_worker.models.port import Model

MANIFEST_VERSION: Final = "1"
ROLE: Final = "module"


class Served:
    """The configured model and the offline one; a run goes on with the one it is bound to."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._offline: Model | None = None
        self._endpoint: Model | None = None
        self.secrets = make_secrets(settings, SystemClock())
        self.manifest = Manifest(
            version=MANIFEST_VERSION, roles={ROLE: self._role()}, prompts=prompts.references()
        )

    def _role(self) -> RoleModel:
        url, name = self._settings.model_url, self._settings.model_name
        share = self._settings.model_history_tokens
        if url is None:
            from fencepost_worker.models.offline import NAME

            return RoleModel(provider="offline", model=NAME, history_tokens=share)
        from fencepost_worker.models.openai_compatible import public_endpoint

        return RoleModel(
            provider="openai_compatible",
            model=name or "default",
            endpoint=public_endpoint(url),
            history_tokens=share,
        )

    def model_of(self, manifest: Manifest, name: str = ROLE) -> Model | None:
        """The model of a bound manifest's role; None when this worker has no access to it."""
        role = manifest.of(name)
        if role.provider == "offline":
            self._offline = self._offline or self._make_offline()
            return self._offline
        mine = self._role()
        if (mine.provider, mine.model, mine.endpoint) != (role.provider, role.model, role.endpoint):
            return None
        self._endpoint = self._endpoint or self._make_endpoint()
        return self._endpoint

    def substitute(self, name: str) -> Model | None:
        """Another model for a simulation: the offline one by name, any other at the configured endpoint."""
        from fencepost_worker.models.offline import NAME

        if name in ("offline", NAME):
            self._offline = self._offline or self._make_offline()
            return self._offline
        if self._settings.model_url is None:
            return None
        self._endpoint = self._endpoint or self._make_endpoint()
        return self._endpoint

    def _make_offline(self) -> Model:
        from fencepost_worker.models.offline import OfflineModel

        return OfflineModel()

    def _make_endpoint(self) -> Model:
        from fencepost_worker.models.openai_compatible import OpenAICompatible

        settings = self._settings
        key = settings.model_key.get_secret_value() if settings.model_key else None
        reference = settings.model_key_from
        key_now = (lambda: self.secrets.read(reference)) if reference else None
        return OpenAICompatible(settings.model_url or "", settings.model_name or "default", key, key_now)

    async def close(self) -> None:
        await self.secrets.close()
        for model in (self._offline, self._endpoint):
            if model is not None:
                await model.close()
