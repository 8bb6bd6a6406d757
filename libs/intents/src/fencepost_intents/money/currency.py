# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Which currency is meant: written, or the default of the place; `$`, `¥` and 块 differ by place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_BY_ZONE: Final[Mapping[str, str]] = {
    "Asia/Shanghai": "CNY", "Asia/Chongqing": "CNY", "Asia/Urumqi": "CNY", "Asia/Hong_Kong": "HKD", "Asia/Taipei": "TWD",
    "Asia/Macau": "MOP", "Asia/Tokyo": "JPY", "Asia/Seoul": "KRW", "Asia/Singapore": "SGD", "Asia/Kolkata": "INR",
    "Asia/Bangkok": "THB", "Asia/Kuala_Lumpur": "MYR", "Asia/Dubai": "AED", "Europe/London": "GBP", "Europe/Zurich": "CHF",
    "Europe/Paris": "EUR", "Europe/Berlin": "EUR", "Europe/Madrid": "EUR", "Europe/Rome": "EUR", "Europe/Amsterdam": "EUR",
    "Europe/Vienna": "EUR", "Europe/Dublin": "EUR", "Europe/Brussels": "EUR", "Europe/Lisbon": "EUR", "Europe/Helsinki": "EUR",
    "America/New_York": "USD", "America/Chicago": "USD", "America/Denver": "USD", "America/Phoenix": "USD",
    "America/Los_Angeles": "USD", "America/Anchorage": "USD", "Pacific/Honolulu": "USD", "America/Toronto": "CAD",
    "America/Vancouver": "CAD", "Australia/Sydney": "AUD", "Australia/Melbourne": "AUD", "Pacific/Auckland": "NZD",
}  # fmt: skip
_DOLLARS: Final = frozenset(("USD", "CAD", "AUD", "HKD", "SGD", "TWD", "NZD"))
_KUAI: Final = frozenset(("CNY", "TWD", "HKD", "MOP"))
_KUAI_WORDS: Final = frozenset(("元", "块", "块钱", "元钱", "圆", "元整", "毛", "角"))


@dataclass(frozen=True, slots=True)
class Place:
    """Where the amount is said: the caller's default currency, the zone and the language."""

    currency: str | None
    zone: str | None
    locale: str | None
    language: str

    @property
    def own(self) -> str | None:
        """The default currency, where none is written. None: ask."""
        if self.currency:
            return self.currency
        by_zone = _BY_ZONE.get(self.zone or "")
        # A Chinese sentence in China, an English one elsewhere; an English one in Shanghai leaves it open
        # no more.
        return by_zone or ("CNY" if self.language == "zh" and self.zone is None else None)

    @property
    def comma_is_decimal(self) -> bool:
        return (self.locale or "").lower().startswith(("de", "fr", "es", "it", "nl", "pt", "ru", "pl", "tr"))


def settle(written: str, word: str, place: Place) -> tuple[str, tuple[str, ...]]:
    """The ISO code of a written currency, and what was inferred for it."""
    own = place.own
    if written == "$":
        if own in _DOLLARS and own != "USD":
            return str(own), (f"$ taken as {own}",)
        return "USD", ()
    if written == "¥":
        return ("JPY", ("¥ taken as JPY",)) if own == "JPY" else ("CNY", ())
    if written == "CNY" and word in _KUAI_WORDS and own in _KUAI and own != "CNY":
        return str(own), (f"{word} taken as {own}",)
    return written, ()
