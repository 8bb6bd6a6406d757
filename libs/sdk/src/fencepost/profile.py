"""Where the api is: from arguments, the environment, or the profile that a local `fencepost up` left."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Connection:
    url: str
    token: str = field(repr=False)


class NoProfile(LookupError):
    """Nothing says where the api is. Start `fencepost up`, or set FENCEPOST_URL and FENCEPOST_TOKEN."""

    def __init__(self) -> None:
        super().__init__(
            "no Fencepost is known here: start `fencepost up`, or set FENCEPOST_URL and FENCEPOST_TOKEN"
            " (or FENCEPOST_DATA_DIR, where `up --data-dir` runs)"
        )


def default_data_dir() -> Path:
    """FENCEPOST_DATA_DIR; else where the launcher of this program's own clone keeps its data; else the home.

    Never the working directory's: a folder somebody else made must not say where a token is sent.
    """
    given = os.environ.get("FENCEPOST_DATA_DIR")
    if given:
        return Path(given).absolute()
    clone = Path(sys.prefix).parent / ".fencepost"  # beside its .venv
    return clone if clone.is_dir() else Path.home() / ".fencepost"


def find(url: str | None = None, token: str | None = None, data_dir: Path | None = None) -> Connection:
    """The connection to use. Raises NoProfile; ValueError for a profile that can't be read."""
    url = url or os.environ.get("FENCEPOST_URL")
    token = token or os.environ.get("FENCEPOST_TOKEN")
    if url and token:
        return Connection(url.rstrip("/"), token)
    path = (data_dir or default_data_dir()) / "profile.json"
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return Connection((url or str(stored["url"])).rstrip("/"), token or str(stored["token"]))
    except FileNotFoundError:
        raise NoProfile from None
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a profile; `fencepost up` writes a new one") from error
