"""No wake-ups: the scan each second finds the work. Also what a missing direct DSN falls back to."""

import asyncio
from collections.abc import Sequence

from fencepost_runtime.wake.port import (
    Delivered,
    Delivery,
    HintHandler,
    ListenerStats,
    PoisonHandler,
    WakeMessage,
)


class SilentPublisher:
    """Every message counts as delivered: there is nobody to tell, and no row is to wait for somebody."""

    async def publish(self, batch: Sequence[WakeMessage]) -> list[Delivery]:
        return [Delivered() for _ in batch]

    async def close(self) -> None:
        return None


class SilentListener:
    """Hears nothing, until cancelled."""

    def __init__(self) -> None:
        self.stats = ListenerStats()

    async def run(self, on_hint: HintHandler, on_poison: PoisonHandler) -> None:
        await asyncio.get_running_loop().create_future()

    async def ready(self) -> None:
        return None

    def pause(self) -> None:
        return None

    def resume(self) -> None:
        return None
