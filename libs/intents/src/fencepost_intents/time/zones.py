"""Zones as named in a text or given by a caller, as tzinfo; and wall times laid on them.

Zone files are read once a zone and process; nothing else here touches a disk.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from fencepost_intents.time.model import Unreadable


@lru_cache(maxsize=256)
def zone_info(name: str) -> tzinfo:
    """An IANA name (in any case), or `UTC+08:00`. Raises Unreadable for a zone that isn't known."""
    if name.startswith(("UTC+", "UTC-")):
        sign = 1 if name[3] == "+" else -1
        hours, _, minutes = name[4:].partition(":")
        offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
        if offset > timedelta(hours=14):
            raise Unreadable(f"no zone {name}")
        return timezone(sign * offset)
    try:
        return ZoneInfo(proper_name(name))
    except (KeyError, ValueError, OSError) as cause:
        raise Unreadable(f"no zone {name}") from cause


def proper_name(name: str) -> str:
    """`america/new_york` as `America/New_York`."""
    if name != name.lower() or "/" not in name:
        return name
    return "/".join("_".join(part.capitalize() for part in piece.split("_")) for piece in name.split("/"))


def settle_zone(name: str, zone: str | None) -> str:
    """CST is China's or Chicago's, by where the user is. Raises Unreadable where that doesn't tell."""
    if name != "CST":
        return proper_name(name)
    place = zone or ""
    if place.startswith(("Asia/Shanghai", "Asia/Chong", "Asia/Hong", "Asia/Taipei", "Asia/Urumqi", "PRC")):
        return "Asia/Shanghai"
    if place.startswith(("America/", "US/")):
        return "America/Chicago"
    raise Unreadable("CST: which one?")


def on_clock(wall: datetime, tz: tzinfo) -> tuple[datetime, ...]:
    """The instants that a wall time names: one, two in a fold, and in a gap the ones just before and after
    it.
    """
    first = wall.replace(tzinfo=tz, fold=0)
    second = wall.replace(tzinfo=tz, fold=1)
    if first.utcoffset() == second.utcoffset():
        return (first,)
    # In a gap the round trip through UTC doesn't come back.
    if first.astimezone(UTC).astimezone(tz).replace(tzinfo=None, fold=0) == wall.replace(fold=0):
        return (first, second)
    earlier, later = second.astimezone(UTC).astimezone(tz), first.astimezone(UTC).astimezone(tz)
    return (earlier, later)
