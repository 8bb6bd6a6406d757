"""LibreOffice and poppler as judges of files: what opens there, and where each word lands on its page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Final

NEEDED: Final = ("soffice", "pdftotext", "pdffonts", "pdftoppm")
# Forced, because LibreOffice "opens" random bytes through a text filter otherwise.
FILTERS: Final[Mapping[str, str]] = {
    "pptx": "Impress MS PowerPoint 2007 XML",
    "docx": "MS Word 2007 XML",
    "xlsx": "Calc MS Excel 2007 XML",
}
_PAGE: Final = re.compile(r'<page width="([\d.]+)" height="([\d.]+)">(.*?)</page>', re.DOTALL)
_WORD: Final = re.compile(
    r'<word xMin="([-\d.]+)" yMin="([-\d.]+)" xMax="([-\d.]+)" yMax="([-\d.]+)">(.*?)</word>', re.DOTALL
)


def missing() -> list[str]:
    """Programs that aren't here."""
    return [name for name in NEEDED if shutil.which(name) is None]


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its box, in points from the page's top left."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    def over(self, other: Word) -> bool:
        """They share a visible part: boxes of neighbouring lines touch, so a little is no overlap."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        lower = min(self.bottom - self.top, other.bottom - other.top)
        return across > 1.0 and down > 0.4 * lower


@dataclass(frozen=True, slots=True)
class Laid:
    width: float
    height: float
    words: tuple[Word, ...]

    def outside(self) -> list[Word]:
        return [
            word
            for word in self.words
            if min(word.left, word.top) < -1 or word.right > self.width + 1 or word.bottom > self.height + 1
        ]

    def overlapping(self) -> list[tuple[str, str]]:
        ordered = sorted(self.words, key=lambda word: word.top)
        found = []
        for at, one in enumerate(ordered):
            for other in ordered[at + 1 :]:
                if other.top >= one.bottom:
                    break
                if one.over(other):
                    found.append((one.text, other.text))
        return found


def to_pdf(files: Mapping[str, bytes], folder: Path) -> dict[str, Path]:
    """A PDF of each file, by one start of LibreOffice for each kind. AssertionError for one that fails."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    for kind, how in FILTERS.items():
        names = [name for name in files if name.endswith(kind)]
        if not names:
            continue
        command = [
            "soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless", "--norestore",
            f"--infilter={how}", "--convert-to", "pdf", "--outdir", str(folder / kind),
            *(str(folder / name) for name in names),
        ]  # fmt: skip
        home = {**os.environ, "HOME": str(folder)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=110, env=home, check=False)
        assert done.returncode == 0, done.stderr
    made = {name: (folder / name.rpartition(".")[2] / name).with_suffix(".pdf") for name in files}
    # The exit code is 0 on failure too: what counts is that the PDF is there.
    assert [name for name, path in made.items() if not path.exists()] == []
    return made


def text_of(pdf: Path) -> str:
    return _said("pdftotext", "-layout", str(pdf), "-")


def pages_of(pdf: Path) -> list[Laid]:
    """Each page with its words."""
    said = _said("pdftotext", "-bbox", str(pdf), "-")
    return [Laid(float(wide), float(high), tuple(_words(body))) for wide, high, body in _PAGE.findall(said)]


def fonts_of(pdf: Path) -> dict[str, bool]:
    """Fonts by name, and whether each is in the file."""
    lines = _said("pdffonts", str(pdf)).splitlines()
    start = lines[1].split(" ")
    width = len(start[0])
    columns = [match.span() for match in re.finditer("-+", lines[1])]
    embedded = columns[3]
    return {line[:width].strip(): line[slice(*embedded)].strip() == "yes" for line in lines[2:]}


def blank_pages(pdf: Path, folder: Path) -> list[int]:
    """Pages on whose picture nothing is drawn."""
    from PIL import Image

    stem = folder / f"{pdf.parent.name}-{pdf.stem}-look"
    _said("pdftoppm", "-r", "20", "-gray", str(pdf), str(stem))
    pictures = sorted(folder.glob(f"{stem.name}-*.pgm"))
    assert pictures
    blank = []
    for number, path in enumerate(pictures, 1):
        with Image.open(path) as picture:
            low, high = picture.getextrema()
            if low == high:
                blank.append(number)
    return blank


def _words(body: str) -> Iterator[Word]:
    for left, top, right, bottom, text in _WORD.findall(body):
        yield Word(unescape(text), float(left), float(top), float(right), float(bottom))


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
