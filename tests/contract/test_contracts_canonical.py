"""JSON that may be used, and one text for one value (cases CP-1, AP-5)."""

from decimal import Decimal

import pytest
from fencepost_contracts import canonical
from fencepost_contracts.canonical import JsonRefused
from fencepost_contracts.schema import Schema
from hypothesis import given
from hypothesis import strategies as st

CP1 = Schema(
    {
        "type": "object",
        "properties": {
            "amount": {"type": "number", "minimum": 0, "maximum": 50000},
            "at": {"type": "string", "format": "date-time"},
            "to": {"type": "string", "format": "email"},
        },
        "additionalProperties": False,
    }
)


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        ('{"a": {"amount": NaN}}', "/a/amount"),
        ('{"amount": Infinity}', "/amount"),
        ('{"amount": -Infinity}', "/amount"),
        ('{"amount": 1e999}', "/amount"),
        ('{"list": [1, 2, -1e999]}', "/list/2"),
        ('{"a/b": {"~": NaN}}', "/a~1b/~0"),
        ('{"x": 1, "x": 2}', "/x"),
        ('{"o": {"x": 1, "y": 2, "x": 1}}', "/o/x"),
        ('{"t": "\\ud800"}', "/t"),
        ('{"t": "a\\u0000b"}', "/t"),
        ('{"\\udc00": 1}', ""),
        ('{"n": ' + "1" * 5000 + "}", "/n"),
    ],
)
def test_cp1_what_is_no_json_value_is_refused_and_named(raw: str, place: str) -> None:
    with pytest.raises(JsonRefused) as refused:
        canonical.loads(raw)
    assert [fault.pointer for fault in refused.value.faults] == [place]


NOT_JSON = ["", "{", "[1,]", "nul", "{'a': 1}", b"\xff\xfe", "[" * 1000, '{"a":' * 1000, "1 2"]


@pytest.mark.parametrize("raw", NOT_JSON)
def test_what_is_no_json_at_all_is_refused(raw: str | bytes) -> None:
    with pytest.raises(JsonRefused):
        canonical.loads(raw)


def test_brackets_in_strings_are_not_depth() -> None:
    text = '{"a": "' + "[{" * 500 + '\\"[[["}'
    assert canonical.loads(text) == {"a": "[{" * 500 + '"[[['}


def test_a_body_over_the_limit_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(JsonRefused, match="longer than 10 bytes"):
        canonical.loads(b'"aaaaaaaaaaaa"', max_bytes=10)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"amount": -1}, "/amount"),
        ({"amount": 50001}, "/amount"),
        ({"at": "not a date"}, "/at"),
        ({"at": "2026-02-30T09:00:00Z"}, "/at"),
        ({"to": "nope"}, "/to"),
        ({"surprise": 1}, "/surprise"),
    ],
)
def test_cp1_formats_bounds_and_unknown_properties_are_enforced(value: dict[str, object], place: str) -> None:
    assert [fault.pointer for fault in CP1.faults(value)] == [place]


def test_cp1_a_good_value_passes() -> None:
    assert CP1.faults({"amount": 35.5, "at": "2026-03-05T09:00:00+08:00", "to": "a@example.com"}) == []


def test_equal_values_have_one_text_and_amounts_keep_their_digits() -> None:
    assert canonical.dumps({"b": 1, "a": 1.0}) == b'{"a":1,"b":1}'
    exact = canonical.dumps({"n": 2**60, "d": Decimal("0.0010")})
    assert exact == b'{"d":"0.0010","n":"1152921504606846976"}'
    assert canonical.digest({"v": "0.001"}) != canonical.digest({"v": "0.0010"})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", object()])
def test_what_has_no_canonical_text_is_refused(value: object) -> None:
    with pytest.raises(ValueError):
        canonical.dumps({"v": value})


def test_ap5_fields_are_joined_with_boundaries() -> None:
    assert canonical.length_delimited("1", "23") != canonical.length_delimited("12", "3")
    assert canonical.length_delimited(None) != canonical.length_delimited("")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text().filter(lambda t: "\x00" not in t),
    lambda inner: st.lists(inner) | st.dictionaries(st.text().filter(lambda t: "\x00" not in t), inner),
    max_leaves=20,
)


@given(JSON)
def test_what_was_written_is_read_back_and_written_the_same(value: object) -> None:
    text = canonical.dumps(value)
    assert canonical.loads(text, max_depth=64) == value
    assert canonical.dumps(canonical.loads(text, max_depth=64)) == text


@given(st.text() | st.binary())
def test_whatever_comes_in_is_a_value_or_refused(raw: str | bytes) -> None:
    try:
        canonical.dumps(canonical.loads(raw))
    except JsonRefused as refused:
        assert refused.faults
