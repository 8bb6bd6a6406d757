"""Colours of what is produced, as RRGGBB. Text on its ground has a contrast of at least 7 to 1."""

from __future__ import annotations

from typing import Final

INK: Final = "222B36"
DEEP: Final = "17365D"
ACCENT: Final = "2F6DB5"
PALE: Final = "EEF3F9"
LINE: Final = "C5D0DE"
WHITE: Final = "FFFFFF"
QUIET: Final = "5A6673"
SERIES: Final = ("2F6DB5", "E08A2E", "3C9A6B", "B5473C", "7A5CA8", "4BA3B5", "8C8C3A", "C2679A")
