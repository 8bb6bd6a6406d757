"""From settings to an adapter. Clients are imported only when chosen: Kafka's cost memory at import."""

from collections.abc import Sequence

from fencepost_runtime.logging import get_logger
from fencepost_runtime.settings import WakeSettings
from fencepost_runtime.wake.none import SilentListener, SilentPublisher
from fencepost_runtime.wake.options import WakeOptions, options_of
from fencepost_runtime.wake.port import WakeListener, WakePublisher

log = get_logger(__name__)


def make_publisher(settings: WakeSettings | WakeOptions) -> WakePublisher:
    """The publisher that the settings choose; connects on first use. Raises ValueError without an address."""
    options = _options(settings)
    if options.adapter == "kafka":
        from fencepost_runtime.wake.kafka_publisher import KafkaPublisher

        return KafkaPublisher(options)
    if options.adapter == "postgres" and options.listen_url:
        from fencepost_runtime.wake.postgres_publisher import PostgresPublisher

        return PostgresPublisher(options)
    _say_silent(options)
    return SilentPublisher()


def make_listener(settings: WakeSettings | WakeOptions, modules: Sequence[str]) -> WakeListener:
    """A listener for these modules; connects when run. Raises ValueError without an address."""
    options = _options(settings)
    if options.adapter == "kafka":
        from fencepost_runtime.wake.kafka_listener import KafkaListener

        return KafkaListener(options, modules)
    if options.adapter == "postgres" and options.listen_url:
        from fencepost_runtime.wake.postgres_listener import PostgresListener

        return PostgresListener(options, modules)
    _say_silent(options)
    return SilentListener()


def _options(settings: WakeSettings | WakeOptions) -> WakeOptions:
    return settings if isinstance(settings, WakeOptions) else options_of(settings)


def _say_silent(options: WakeOptions) -> None:
    if options.adapter != "none":
        log.warning("wake.silent", adapter=options.adapter, reason="no database URL to listen on")
