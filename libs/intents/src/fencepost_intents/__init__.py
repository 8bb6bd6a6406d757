"""Understanding: intent, time and money in Chinese and English. See `detect`."""

from fencepost_intents.detect import detect
from fencepost_intents.result import (
    VERSION,
    AmountResult,
    Answer,
    IntentPart,
    IntentResult,
    SlotValue,
    TimeResult,
)
from fencepost_intents.time.holidays import DEFAULT, HolidayTable

__all__ = [
    "DEFAULT",
    "VERSION",
    "AmountResult",
    "Answer",
    "HolidayTable",
    "IntentPart",
    "IntentResult",
    "SlotValue",
    "TimeResult",
    "detect",
]
