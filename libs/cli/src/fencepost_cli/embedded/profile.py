"""What `up` leaves for the other commands: where the api is, and a token for it. Readable by its owner.

Read by `fencepost.profile` of the SDK.
"""

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
