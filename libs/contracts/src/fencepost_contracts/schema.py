"""JSON Schemas of tools: which ones a contract may hold, and how a value is judged by them.

Validation is jsonschema-rs, Draft 2020-12, formats enforced, references outside the schema refused (its
default would fetch them from the network or the disk). A misspelt keyword or an unknown format is ignored
by every validator, so a contract that has one is refused here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import jsonschema_rs

from fencepost_contracts.canonical import Fault, dumps, pointer, refuse_reference
from fencepost_contracts.names import is_identity

MAX_SCHEMA_BYTES: Final = 65_536
MAX_FAULTS: Final = 20  # a model repairs a handful at a time; a hostile one shall not make us list thousands
FORMATS: Final = frozenset(
    {"date-time", "date", "time", "duration", "email", "uuid", "uri", "ipv4", "ipv6", "regex"}
)
_MAPS: Final = ("properties", "patternProperties", "$defs", "dependentSchemas")
_SINGLE: Final = ("items", "contains", "not", "if", "then", "else", "propertyNames", "additionalProperties",
                  "unevaluatedProperties", "unevaluatedItems")  # fmt: skip
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_PLAIN: Final = frozenset({
    "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
    "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxContains",
    "minContains", "maxProperties", "minProperties", "required", "dependentRequired", "format", "title",
    "description", "default", "examples", "deprecated", "$ref", "$comment",
})  # fmt: skip
KEYWORDS: Final = _PLAIN | {*_MAPS, *_SINGLE, *_LISTS}


class Schema:
    """A compiled schema."""

    def __init__(self, schema: dict[str, Any]) -> None:
        """Raises ValueError for one that check_schema would find fault with."""
        self.source = schema
        self._validator = jsonschema_rs.Draft202012Validator(
            schema, validate_formats=True, retriever=refuse_reference
        )

    def faults(self, value: Any) -> list[Fault]:
        """What is wrong with a value, each with its pointer; at most MAX_FAULTS."""
        faults: list[Fault] = []
        for error in self._validator.iter_errors(value):
            at = pointer(*error.instance_path)
            faults.extend(Fault(at + suffix, _shorter(error.message)) for suffix in _missed(error))
            if len(faults) >= MAX_FAULTS:
                break
        return faults[:MAX_FAULTS]


def check_schema(schema: Any, *, arguments: bool) -> list[Fault]:
    """All faults of a tool's schema, by pointer into it.

    arguments: it is an input schema, so its objects are closed and no property names an identity.
    """
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return [Fault("", "a tool's schema is an object schema: `type: object`")]
    if len(dumps(schema)) > MAX_SCHEMA_BYTES:
        return [Fault("", f"longer than {MAX_SCHEMA_BYTES} bytes")]
    faults = list(_walk(schema, "", arguments))
    if faults:
        return faults
    try:
        Schema(schema)
    except ValueError as error:  # jsonschema_rs.ValidationError is one
        at = getattr(error, "instance_path", None) or ()
        return [Fault(pointer(*at), _shorter(getattr(error, "message", str(error))))]
    return []


def _walk(schema: Any, at: str, arguments: bool) -> Iterator[Fault]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield Fault(at, "a schema is an object, true or false")
        return
    yield from _words(schema, at)
    if arguments:
        yield from _closed(schema, at)
    for word in _MAPS:
        if isinstance(schema.get(word), dict):
            for name, inner in schema[word].items():
                yield from _walk(inner, at + pointer(word, name), arguments)
    for word in _SINGLE:
        if word in schema:
            yield from _walk(schema[word], at + pointer(word), arguments)
    for word in _LISTS:
        if isinstance(schema.get(word), list):
            for number, inner in enumerate(schema[word]):
                yield from _walk(inner, at + pointer(word, number), arguments)


def _words(schema: dict[str, Any], at: str) -> Iterator[Fault]:
    for word in schema:
        if word not in KEYWORDS:
            yield Fault(at + pointer(word), "no keyword of JSON Schema 2020-12 that a contract may use")
    if "format" in schema and schema["format"] not in FORMATS:
        yield Fault(at + "/format", f"this format is not enforced; use one of {', '.join(sorted(FORMATS))}")
    reference = schema.get("$ref")
    if reference is not None and not str(reference).startswith("#"):
        yield Fault(at + "/$ref", "a reference stays inside its own schema: it starts with #")


def _closed(schema: dict[str, Any], at: str) -> Iterator[Fault]:
    if "patternProperties" in schema:
        yield Fault(at + "/patternProperties", "name every argument, so that none can be an identity")
    is_object = schema.get("type") == "object" or "properties" in schema
    if is_object and schema.get("additionalProperties") is not False:
        yield Fault(at, "an argument object says `additionalProperties: false`, or unknown ones get through")
    properties = schema.get("properties")
    for name in properties if isinstance(properties, dict) else ():
        if is_identity(name):
            yield Fault(
                at + pointer("properties", name), "identity is never an argument: it comes from the run"
            )


def _missed(error: jsonschema_rs.ValidationError) -> list[str]:
    """Pointer suffixes of the fields that an error about their object means."""
    kind: Any = error.kind
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
        return [pointer(name) for name in kind.unexpected[:MAX_FAULTS]]
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.Required):
        return [pointer(kind.property)]
    return [""]


def _shorter(text: str) -> str:
    return text if len(text) <= 300 else text[:297] + "..."
