"""The broker's jars, fetched once by Maven into a cache folder and shared by all who need them.

The folder is named after the pom's text, so a changed version never meets the old jars.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Final

FETCH_SECONDS: Final = 600  # some 45 MB over a slow line
NEEDED_JAVA: Final = 17  # Kafka 4's own demand


class BrokerUnavailable(RuntimeError):
    """No broker can be had here; the message says what to install or set."""


def default_cache() -> Path:
    """`$XDG_CACHE_HOME/fencepost`, else `~/.cache/fencepost`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fencepost"


def fetch_jars(cache: Path) -> Path:
    """The folder of jars, filled by Maven unless it is there already. Raises BrokerUnavailable."""
    pom = resources.files("fencepost_cli.embedded").joinpath("broker_pom.xml").read_bytes()
    folder = cache / f"kafka-{hashlib.sha256(pom).hexdigest()[:12]}"
    if folder.exists():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / f"{folder.name}.lock"):
        if not folder.exists():
            _fill(folder, pom)
    return folder


def find_java() -> str:
    """The java to run: JAVA_HOME's, else the one on the PATH, of NEEDED_JAVA or later."""
    home = os.environ.get("JAVA_HOME")
    candidate = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if candidate is None or not Path(candidate).exists():
        raise BrokerUnavailable(f"Kafka needs Java {NEEDED_JAVA} or later, or Docker: no java was found")
    told = subprocess.run([candidate, "-version"], capture_output=True, text=True, timeout=30, check=False)
    major = told.stderr.partition('"')[2].partition(".")[0].partition('"')[0].partition("-")[0]
    if major.isdigit() and int(major) < NEEDED_JAVA:
        raise BrokerUnavailable(f"Kafka needs Java {NEEDED_JAVA} or later; {candidate} is {major}")
    return candidate


def _fill(folder: Path, pom: bytes) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise BrokerUnavailable("Kafka's jars come by Maven (mvn), which was not found; Docker would do too")
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    (part / "pom.xml").write_bytes(pom)
    told = subprocess.run(
        [maven, "-B", "-q", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=."],
        cwd=part, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False,
    )  # fmt: skip
    if told.returncode or not any(part.glob("kafka_2.13-*.jar")):
        tail = (told.stdout + told.stderr)[-2000:]
        raise BrokerUnavailable(f"Maven could not fetch Kafka's jars:\n{tail}")
    part.rename(folder)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process fetches, the others wait for it."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
