"""Wake-ups: `make_publisher(settings)` for the relay, `make_listener(settings, modules)` for a worker."""

from fencepost_runtime.wake.adapters import make_listener, make_publisher
from fencepost_runtime.wake.bell import Bell, BellEar
from fencepost_runtime.wake.options import WakeOptions, options_of
from fencepost_runtime.wake.port import (
    Delivered,
    Delivery,
    Hint,
    HintHandler,
    ListenerStats,
    PoisonHandler,
    PoisonRecord,
    Refused,
    Unreachable,
    WakeListener,
    WakeMessage,
    WakePublisher,
)

__all__ = [
    "Bell",
    "BellEar",
    "Delivered",
    "Delivery",
    "Hint",
    "HintHandler",
    "ListenerStats",
    "PoisonHandler",
    "PoisonRecord",
    "Refused",
    "Unreachable",
    "WakeListener",
    "WakeMessage",
    "WakeOptions",
    "WakePublisher",
    "make_listener",
    "make_publisher",
    "options_of",
]
