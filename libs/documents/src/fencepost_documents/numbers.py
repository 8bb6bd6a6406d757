"""Numbers that stand in cells, and what they are together. Exact: decimals, never floats."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import Final

from fencepost_documents.ir import RecordSet

_NUMBERS: Final = 0.5  # of a column's values at least; a column with fewer is words
_NUMBER: Final = re.compile(
    r"(?P<before>[¥$€£]|cny|rmb|usd|eur|gbp|人民币)?\s*(?P<sign>[-−]?)\s*"
    r"(?P<digits>\d{1,3}(?:,\d{3})+|\d{1,15})(?P<fraction>\.\d{1,6})?\s*(?P<after>元|cny|rmb|usd|eur|gbp|[¥$€£])?",
    re.IGNORECASE,
)
_YEAR: Final = re.compile(r"\byears?\b|年")
_SAME: Final = {"rmb": "¥", "cny": "¥", "元": "¥", "人民币": "¥", "usd": "$", "eur": "€", "gbp": "£"}
_NAMES: Final = frozenset(
    {"number", "phone", "time", "end_time", "email", "name", "place"}
)  # digits that aren't amounts


def number_of(text: str) -> tuple[Decimal, str] | None:
    """The one amount that a cell is, with its currency ('' for none); None where it says more, or less."""
    found = _NUMBER.fullmatch(unicodedata.normalize("NFKC", text).strip())
    if found is None or (found["digits"][0] == "0" and len(found["digits"]) > 1):  # 007 is a code
        return None
    marks = {_SAME.get(one.lower(), one) for one in (found["before"], found["after"]) if one}
    if len(marks) > 1:
        return None
    sign = "-" if found["sign"] else ""
    value = Decimal(sign + found["digits"].replace(",", "") + (found["fraction"] or ""))
    return value, next(iter(marks), "")


def is_measure(records: RecordSet, field: str) -> bool:
    """Whether the field can be added up: most of its values are numbers, of one currency."""
    if field in _NAMES or _YEAR.search(field.casefold()):
        return False
    values = [value for record in records.records if (value := record.fields.get(field))]
    found = [number for value in values if (number := number_of(value)) is not None]
    return len({currency for _, currency in found if currency}) <= 1 and len(found) > len(values) * _NUMBERS


def currency_of(records: RecordSet, field: str) -> str:
    """The mark that values of a measure carry, '' for none."""
    found = (number_of(record.fields.get(field, "")) for record in records.records)
    return next((number[1] for number in found if number and number[1]), "")


def shown_number(value: Decimal) -> str:
    """With separators, without an exponent or trailing zeros beyond cents."""
    plain = value.quantize(Decimal("0.01"))
    return f"{plain.to_integral_value():,}" if plain == plain.to_integral_value() else f"{plain:,}"
