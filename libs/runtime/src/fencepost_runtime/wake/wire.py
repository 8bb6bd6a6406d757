"""Between a WakeMessage and bytes. What can't be read is described, never raised past here."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from fencepost_contracts.envelope import CONTENT_TYPE
from fencepost_contracts.wake import WakeBatch, WakeData, WakeEvent, WakeType
from pydantic import ValidationError

from fencepost_runtime.wake.port import POISON_KEPT_BYTES, Hint, PoisonRecord, WakeMessage

Headers = Sequence[tuple[str, bytes]]


class Unreadable(ValueError):
    """The bytes aren't a wake-up; the message says what they are instead."""


def encode(message: WakeMessage) -> bytes:
    """One CloudEvent, JSON, UTF-8."""
    event = WakeEvent(
        id=message.event_id,
        type=message.event_type,
        subject=str(message.run_id),
        time=message.at,
        data=WakeData(module=message.module, run_id=message.run_id, detail=dict(message.detail)),
    )
    return event.model_dump_json(exclude_none=True, exclude_defaults=False).encode()


def headers_of(message: WakeMessage) -> list[tuple[str, bytes]]:
    headers = [("content-type", CONTENT_TYPE.encode())]
    if message.traceparent:
        headers.append(("traceparent", message.traceparent.encode("ascii", "replace")))
    return headers


def decode(module: str, value: bytes | None, headers: Headers = ()) -> Hint:
    """Read one CloudEvent of this module's topic. Raises Unreadable."""
    if value is None:
        raise Unreadable("no value")
    try:
        event = WakeEvent.model_validate_json(value)
    except ValidationError as error:
        raise Unreadable(_first(error)) from None
    if event.data.module != module:
        raise Unreadable(f"module {event.data.module} on the topic of {module}")
    return Hint(module, event.data.run_id, event.type, _traceparent(headers))


def encode_batches(messages: Iterable[WakeMessage], limit_bytes: int) -> list[str]:
    """Payloads for NOTIFY, each at most limit_bytes long: one, unless a tick has very many runs."""
    payloads: list[str] = []
    runs: dict[WakeType, list[UUID]] = {}
    size = 0
    for message in messages:
        cost = _RUN_BYTES if message.event_type in runs else _RUN_BYTES + len(message.event_type) + 8
        if runs and _FRAME_BYTES + size + cost > limit_bytes:
            payloads.append(WakeBatch(runs=runs).model_dump_json())
            runs, size = {}, 0
            cost = _RUN_BYTES + len(message.event_type) + 8
        runs.setdefault(message.event_type, []).append(message.run_id)
        size += cost
    if runs:
        payloads.append(WakeBatch(runs=runs).model_dump_json())
    return payloads


_RUN_BYTES = 39  # a UUID in quotes and its comma
_FRAME_BYTES = 32  # {"v":1,"runs":{}} and room


def decode_batch(module: str, payload: str) -> list[Hint]:
    """Read one NOTIFY. Raises Unreadable."""
    try:
        batch = WakeBatch.model_validate_json(payload)
    except ValidationError as error:
        raise Unreadable(_first(error)) from None
    return [Hint(module, run_id, kind) for kind, run_ids in batch.runs.items() for run_id in run_ids]


def poison(
    topic: str, partition: int | None, offset: int | None, reason: str, value: bytes | None
) -> PoisonRecord:
    """Keep what a person needs to find it again, and no more of it than that."""
    return PoisonRecord(topic, partition, offset, reason, value[:POISON_KEPT_BYTES] if value else value)


def _first(error: ValidationError) -> str:
    """The first complaint, without the input: it may hold anything."""
    item = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(part) for part in item["loc"])
    return f"{where}: {item['msg']}" if where else item["msg"]


def _traceparent(headers: Headers) -> str | None:
    for name, value in headers:
        if name == "traceparent":
            return value.decode("ascii", "replace")
    return None
