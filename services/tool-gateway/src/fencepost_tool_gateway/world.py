"""Everything that leaves the house, built once: who sends, by which credentials, to which addresses."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost_runtime.settings import GatewaySettings, SettingsError

from fencepost_tool_gateway.egress import Egress, GuardedTransport, networks
from fencepost_tool_gateway.executors.http import HttpExecutor
from fencepost_tool_gateway.executors.mcp import McpExecutor
from fencepost_tool_gateway.executors.port import Outside
from fencepost_tool_gateway.executors.tasks import TaskExecutor
from fencepost_tool_gateway.pinning import Pinning
from fencepost_tool_gateway.secrets import LocalSecrets, Secrets


@dataclass(frozen=True, slots=True)
class OutsideWorld:
    executors: tuple[Outside, ...]
    tasks: TaskExecutor
    servers: McpExecutor
    pinning: Pinning


def make_outside(settings: GatewaySettings, secrets: Secrets | None = None) -> OutsideWorld:
    """Raises SettingsError for networks that are none."""
    try:
        egress = Egress(networks(settings.egress_allow))
    except ValueError as error:
        raise SettingsError(f"FENCEPOST_EGRESS_ALLOW: {error}") from None
    return outside_world(secrets or LocalSecrets(settings.secrets_dir), egress)


def outside_world(secrets: Secrets, egress: Egress) -> OutsideWorld:
    servers = McpExecutor(secrets, egress)
    http = HttpExecutor(secrets, GuardedTransport(egress))
    tasks = TaskExecutor(http)
    return OutsideWorld((servers, tasks, http), tasks, servers, Pinning(servers))
