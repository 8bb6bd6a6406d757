"""What records say together: how many, when, where; counted, never guessed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from fencepost_documents.ir import RecordSet

from .clean import clean_line
from .outline import Chart, Language, Series
from .wording import MISSING, cell_text, pick

_DATE: Final = re.compile(r"(?<!\d)((?:19|20)\d{2})\s*[-/.年]\s*(\d{1,2})(?:\s*[-/.月]\s*(\d{1,2}))?(?!\d)")
_MOST_BARS: Final = 12
_MOST_GROUPS: Final = 30  # more different values are names, not groups
_LONGEST: Final = 30  # characters of a value that can label a bar
_GROUPED_BY: Final = ("category", "place", "status", "organization", "person")
_GROUP_WORDS: Final = {
    "category": ("类别", "category"), "place": ("地点", "place"), "status": ("状态", "status"),
    "organization": ("单位", "organization"), "person": ("负责人", "person"),
}  # fmt: skip


def overview(records: RecordSet, headings: Sequence[str], language: Language) -> Iterator[str]:
    """Bullets for who reads nothing else."""
    count = len(records.records)
    files = len({record.artifact_id for record in records.records})
    yield pick(
        language,
        f"共 {count} 条记录，来自 {files} 个文件",
        f"{counted_en(count, 'record')} from {counted_en(files, 'file')}",
    )
    joined = pick(language, "、", ", ").join(headings)
    yield pick(language, f"包含字段：{joined}", f"Fields: {joined}")
    if days := sorted(filter(None, (day_of(record.fields.get("time", "")) for record in records.records))):
        first, last = days[0], days[-1]
        yield pick(language, f"时间跨度：{first} 至 {last}", f"Time span: {first} to {last}")
    if grouped := largest_groups(records, language):
        field, groups = grouped
        word = pick(language, *_GROUP_WORDS[field])
        said = pick(language, "、", ", ").join(
            pick(language, f"{name}（{number} 条）", f"{name} ({number})") for name, number in groups[:3]
        )
        yield pick(language, f"按{word}最多：{said}", f"Most by {word}: {said}")


def counted_en(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def day_of(text: str) -> str:
    """The first date of a text as YYYY-MM-DD or YYYY-MM, '' without one."""
    found = _DATE.search(text)
    if found is None or not 1 <= int(found[2]) <= 12:
        return ""
    day = f"-{int(found[3]):02d}" if found[3] and 1 <= int(found[3]) <= 31 else ""
    return f"{found[1]}-{int(found[2]):02d}{day}"


def largest_groups(records: RecordSet, language: Language) -> tuple[str, list[tuple[str, int]]] | None:
    """The first field whose values repeat, with its values by number; None where nothing repeats."""
    for field in _GROUPED_BY:
        values = [clean_line(record.fields[field]) for record in records.records if record.fields.get(field)]
        counts = Counter(cell_text(value, language) for value in values if len(value) <= _LONGEST)
        counts.pop(MISSING[language], None)
        if 2 <= len(counts) <= _MOST_GROUPS and len(counts) * 2 <= len(values):
            return field, sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return None


def chart_of(records: RecordSet, language: Language) -> Chart | None:
    """Records by month where they have dates in several, else by their largest groups, else by file; None
    where that is one bar."""
    months = Counter(day[:7] for record in records.records if (day := day_of(record.fields.get("time", ""))))
    if 2 <= len(months) <= _MOST_BARS * 2:
        ordered = sorted(months.items())
        title = pick(language, "各月记录数", "Records by month")
    elif grouped := largest_groups(records, language):
        field, groups = grouped
        ordered = groups[:_MOST_BARS]
        word = pick(language, *_GROUP_WORDS[field])
        title = pick(language, f"按{word}统计的记录数", f"Records by {word}")
    elif len(names := Counter(record.artifact_id for record in records.records)) > 1:
        ordered = [(pick(language, f"文件 {at}", f"File {at}"), number)
                   for at, number in enumerate(names.values(), 1)][:_MOST_BARS]  # fmt: skip
        title = pick(language, "各文件记录数", "Records by file")
    else:
        return None
    series = Series(
        name=pick(language, "记录数", "Records"), values=tuple(float(number) for _, number in ordered)
    )
    return Chart(kind="column", categories=tuple(name for name, _ in ordered), series=(series,), title=title)
