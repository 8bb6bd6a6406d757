"""Values that must never be written out: registered where they are read, masked where text leaves us."""

import re
from typing import Any, Final

MASK: Final = "***"
SHORTEST_SECRET: Final = 6  # masking shorter values would blank out ordinary words

# Shapes of secrets that nobody registered: bearer tokens, URLs with a password, common key prefixes, tickets.
_SHAPES: Final = (
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}"), rf"\1 {MASK}"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), MASK),
    (re.compile(r"([a-z][a-z0-9+]*://[^\s/:@]*):[^\s/@]+@"), rf"\1:{MASK}@"),
    (re.compile(r"(?i)((?:^|[?&])(?:ticket|token|key|password)=)[^&\s\"']+"), rf"\1{MASK}"),
    (re.compile(r"\bsk-[A-Za-z0-9_-]{12,}"), MASK),
)
_SECRET_NAMES: Final = re.compile(
    r"(?i)(password|passwd|secret|authorization|api_?key|model_key|private_key)$"
)

_registered: set[str] = set()


def register_secret(value: str | None) -> None:
    """Mask `value` wherever it appears from now on; None and very short values are left alone."""
    if value and len(value) >= SHORTEST_SECRET:
        _registered.add(value)


def redact(text: str) -> str:
    for secret in _registered:
        if secret in text:
            text = text.replace(secret, MASK)
    for shape, replacement in _SHAPES:
        text = shape.sub(replacement, text)
    return text


def mask_registered(value: Any) -> Any:
    """Mask registered secrets alone, through dictionaries and lists: for what is stored, not logged.

    What a model or a provider echoes is somebody's words, so shapes that merely look secret are left.
    """
    if isinstance(value, str):
        for secret in _registered:
            value = value.replace(secret, MASK)
        return value
    if isinstance(value, dict):
        return {mask_registered(key): mask_registered(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mask_registered(item) for item in value]
    return value


class MaskedPieces:
    """Masks a text that comes in pieces: what may be the begin of a secret across two of them is held back.

    The rest of the text is told by who has all of it; what is held back at the end is never given out.
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What of the text so far may be shown and wasn't."""
        text: str = mask_registered(self._held + piece)
        keep = max((_begun(text, secret) for secret in _registered), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]


def _begun(text: str, secret: str) -> int:
    """How many of the last characters of `text` are the first of `secret`."""
    longest = min(len(text), len(secret) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(secret[:n])), 0)


def redact_value(value: Any, name: str = "") -> Any:
    """Redact through dictionaries and lists; a field whose name says secret is masked whole."""
    if name and value is not None and _SECRET_NAMES.search(name):
        return MASK
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: redact_value(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_value(item) for item in value]
    return value
