"""What `up` leaves for the other commands: where the api is, and a token for it. Readable by its owner."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from fencepost_cli.embedded.files import write_private

NAME: Final = "profile.json"


@dataclass(frozen=True, slots=True)
class Profile:
    url: str
    token: str = field(repr=False)


def write_profile(data_dir: Path, profile: Profile) -> Path:
    path = data_dir / NAME
    write_private(path, json.dumps(asdict(profile)))
    return path


def read_profile(data_dir: Path) -> Profile | None:
    """None when no `up` has left one. Raises ValueError for a file that isn't a profile."""
    try:
        document = json.loads((data_dir / NAME).read_text())
        return Profile(document["url"], document["token"])
    except FileNotFoundError:
        return None
    except (KeyError, TypeError) as error:
        raise ValueError(f"{data_dir / NAME} is not a profile") from error
