"""The real clock and the real source of ids: the only place that asks the machine for either."""

import time
from datetime import UTC, datetime
from uuid import UUID

import uuid_utils.compat as uuid_utils


class SystemClock:
    """This host's time. Never compared with another host's: Postgres judges leases and expiries."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; the measure of local trust in a lease."""
        return time.monotonic()


class SystemIds:
    """UUIDv7: sortable by creation, which the event log's partitions rely on."""

    def uuid7(self) -> UUID:
        return uuid_utils.uuid7()
