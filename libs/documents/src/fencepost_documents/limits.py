"""How much one document may take: bytes, units, memory, time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Read once by the caller and passed down. The figures of the zip directory are design 08 §6."""

    bytes_max: int = 32 * MIB  # refused before anything looks inside; 100 MB is not a document to answer from
    zip_members: int = 2_000
    zip_member_bytes: int = 64 * MIB
    zip_total_bytes: int = 256 * MIB
    zip_ratio: int = 200  # inflated to deflated; a real sheet of equal rows has some 30
    units_max: int = 50_000  # then reading ends and says so
    text_max: int = 8_000_000  # characters of all units
    unit_text_max: int = 20_000  # characters of one unit
    pages_max: int = 2_000
    memory_bytes: int = 1024 * MIB  # address space of the child, interpreter and libraries included
    cpu_seconds: int = 30
    wall: timedelta = timedelta(seconds=45)  # then the child's whole process group is killed


DEFAULT = Limits()
