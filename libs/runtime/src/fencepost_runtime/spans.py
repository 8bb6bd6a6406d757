"""Spans leave the process as logs do: with every secret masked, whoever wrote it into them (I28)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace.status import Status

from fencepost_runtime.secrets import redact, redact_value


class RedactingExporter(SpanExporter):
    """Before another exporter: names, attributes, events and statuses are masked on copies."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._inner.export([redacted(span) for span in spans])

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


def redacted(span: ReadableSpan) -> ReadableSpan:
    description = span.status.description
    return ReadableSpan(
        name=redact(span.name),
        context=span.get_span_context(),
        parent=span.parent,
        resource=span.resource,
        attributes=_masked(span.attributes),
        events=[Event(redact(one.name), _masked(one.attributes), one.timestamp) for one in span.events],
        links=span.links,
        kind=span.kind,
        status=Status(span.status.status_code, redact(description) if description else None),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _masked(attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: redact_value(value) for name, value in (attributes or {}).items()}
