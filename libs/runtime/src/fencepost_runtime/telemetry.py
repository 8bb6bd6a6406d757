"""Traces and metrics by OTLP over HTTP, only where OTEL_EXPORTER_OTLP_ENDPOINT is set.

Without it the SDK isn't even imported: the API's no-op tracer costs a microsecond a span.
"""

import os
from collections.abc import Callable
from typing import Final

from opentelemetry import metrics, trace
from opentelemetry.metrics import Counter, Meter

ENDPOINT_VARIABLE: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"


def set_up_telemetry(service: str, version: str = "0") -> Callable[[], None]:
    """Start exporting if an endpoint is set; returns what flushes and ends it (a no-op when off)."""
    os.environ.setdefault("OTEL_SEMCONV_STABILITY_OPT_IN", "http,database,messaging")
    if not os.environ.get(ENDPOINT_VARIABLE):
        return lambda: None
    return _start_exporting(service, version)


def _start_exporting(service: str, version: str) -> Callable[[], None]:
    # Imported here: 70 ms and some MB that only those who export should pay.
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from fencepost_runtime.spans import RedactingExporter

    resource = Resource.create({"service.name": f"fencepost-{service}", "service.version": version})
    traces = TracerProvider(resource=resource)
    traces.add_span_processor(BatchSpanProcessor(RedactingExporter(OTLPSpanExporter())))
    trace.set_tracer_provider(traces)
    measures = MeterProvider(
        resource=resource, metric_readers=[PeriodicExportingMetricReader(OTLPMetricExporter())]
    )
    metrics.set_meter_provider(measures)

    def stop() -> None:
        traces.shutdown()
        measures.shutdown()

    return stop


def tracer() -> trace.Tracer:
    return trace.get_tracer("fencepost")


def meter() -> Meter:
    return metrics.get_meter("fencepost")


def counter(name: str, description: str) -> Counter:
    return meter().create_counter(name, description=description)


def trace_parent() -> str | None:
    """The W3C `traceparent` of the current span, to be stored beside work that another process does."""
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
