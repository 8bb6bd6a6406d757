"""One JSON line an event, ours and the standard library's alike, with the run and trace it belongs to."""

import logging
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import structlog
from opentelemetry import trace

from fencepost_runtime.secrets import redact, redact_value

_NOISY = ("uvicorn", "alembic", "httpx", "httpcore", "aiokafka", "asyncio")


def set_up_logging(service: str, level: str = "info", form: str = "json") -> None:
    """Route everything to standard error; safe to call again."""
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _name_service(service),
        _add_trace,
        structlog.processors.format_exc_info,
        _redact,
    ]
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer() if form == "console" else structlog.processors.JSONRenderer()
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer, _redact_line],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in _NOISY:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """`get_logger(__name__).info("run.claimed", run_id=...)`: an event name and fields, no prose."""
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return logger


@contextmanager
def log_context(**fields: Any) -> Iterator[None]:
    """Add fields (`run_id=...`) to every line written inside, across awaits and started tasks."""
    with structlog.contextvars.bound_contextvars(**fields):
        yield


def _name_service(service: str) -> structlog.types.Processor:
    def add(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event["service"] = service
        return event

    return add


def _add_trace(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        event["trace_id"] = f"{context.trace_id:032x}"
        event["span_id"] = f"{context.span_id:016x}"
    return event


def _redact(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for key, value in list(event.items()):
        if not key.startswith("_"):  # structlog's own record and flags
            event[key] = redact_value(value, key)
    return event


def _redact_line(_: Any, __: str, line: Any) -> str:
    """Once more on the finished line: objects that only became text in the renderer."""
    return redact(str(line))
