"""What an erased run can't be asked for any more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fencepost_domain.errors import Gone


def check_not_erased(given: Mapping[str, Any]) -> None:
    """given: a run's input; a request always has words. Raises Gone run_erased."""
    if given.get("text") == "":
        raise Gone("run_erased", "what it said was removed for good: ask anew")
