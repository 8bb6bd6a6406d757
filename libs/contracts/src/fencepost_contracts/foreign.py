"""Other people's JSON Schemas, made into ones a catalog may hold.

Kept is what a validator enforces; what it would ignore (unknown keywords, formats nothing checks) is left
out, argument objects are closed, references are put in place. A schema that can't be used says why.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from fencepost_contracts.schema import FORMATS, KEYWORDS, check_schema

MAX_NODES: Final = 20_000  # of one schema with its references in place
MAX_DEPTH: Final = 40
ANYTHING: Final[Mapping[str, Any]] = {}
_SCHEMAS: Final = ("properties", "$defs", "dependentSchemas")
_ONE: Final = ("items", "contains", "not", "if", "then", "else", "propertyNames", "additionalProperties",
               "unevaluatedProperties", "unevaluatedItems")  # fmt: skip
_MANY: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_LEFT_OUT: Final = frozenset({"$ref", "$defs", "examples", "deprecated", "$comment", "title", "default"})


class Unusable(ValueError):
    """This schema can't be a tool's; the message says why, in our words."""


class Adopter:
    """Reads one declared schema. `arguments`: closed, and without what only answers have.

    Its references lead to its own `x-parts` (an OpenAPI document's) or into itself (an MCP server's).
    """

    def __init__(self, whole: Mapping[str, Any], *, arguments: bool) -> None:
        self._whole = whole
        self._parts: Mapping[str, Any] = whole.get("x-parts", {})
        self._arguments = arguments
        self._nodes = 0

    def adopt(self, schema: Any) -> Any:
        """Raises Unusable."""
        return self._one(schema, (), 0)

    def _one(self, schema: Any, inside: tuple[str, ...], depth: int) -> Any:
        self._nodes += 1
        if self._nodes > MAX_NODES or depth > MAX_DEPTH:
            raise Unusable("the schema is too large or too deep")
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping):
            raise Unusable("a schema is an object")
        reference = schema.get("$ref")
        if reference is not None:
            if reference in inside:
                if self._arguments:
                    raise Unusable("its arguments refer to themselves")
                return dict(ANYTHING)
            target = self._parts.get(str(reference)) or resolve(self._whole, reference)
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            return self._one({**target, **beside}, (*inside, str(reference)), depth + 1)
        return self._words(schema, inside, depth)

    def _words(self, schema: Mapping[str, Any], inside: tuple[str, ...], depth: int) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for word, value in schema.items():
            if word not in KEYWORDS or word in _LEFT_OUT or (word == "format" and value not in FORMATS):
                continue
            if word in _SCHEMAS and isinstance(value, Mapping):
                kept[word] = {
                    str(name): self._one(inner, inside, depth + 1)
                    for name, inner in value.items()
                    if not self._is_left_out(inner)
                }
            elif word in _ONE:
                kept[word] = self._one(value, inside, depth + 1)
            elif word in _MANY and isinstance(value, list):
                kept[word] = [self._one(inner, inside, depth + 1) for inner in value]
            elif word != "patternProperties" or not self._arguments:
                kept[word] = value
        _exclusive(kept)
        if schema.get("nullable") is True:
            _nullable(kept)
        if self._arguments and (kept.get("type") == "object" or "properties" in kept):
            kept["additionalProperties"] = False
            kept["required"] = [
                name for name in kept.get("required", ()) if name in kept.get("properties", {})
            ]
        return kept

    def _is_left_out(self, inner: Any) -> bool:
        word = "readOnly" if self._arguments else "writeOnly"
        return isinstance(inner, Mapping) and inner.get(word) is True


def resolve(document: Mapping[str, Any], reference: Any) -> Mapping[str, Any]:
    """What a reference inside the document leads to. Raises Unusable for any other."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        raise Unusable("a reference leads outside its document")
    found: Any = document
    for part in reference[2:].split("/"):
        key = re.sub("~1", "/", part).replace("~0", "~")
        if not isinstance(found, Mapping) or key not in found:
            raise Unusable(f"{reference[:100]} leads nowhere")
        found = found[key]
    if not isinstance(found, Mapping):
        raise Unusable(f"{reference[:100]} is no object")
    return found


def _exclusive(schema: dict[str, Any]) -> None:
    """OpenAPI 3.0 says `exclusiveMinimum: true` beside a minimum."""
    for exclusive, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if schema.get(exclusive) is True and limit in schema:
            schema[exclusive] = schema.pop(limit)
        elif isinstance(schema.get(exclusive), bool):
            del schema[exclusive]


def _nullable(schema: dict[str, Any]) -> None:
    kind = schema.get("type")
    if isinstance(kind, str):
        schema["type"] = [kind, "null"]
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]


def arguments_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """An input schema as a catalog holds it. Raises Unusable."""
    adopted = Adopter(schema, arguments=True).adopt(schema)
    if not isinstance(adopted, dict):
        raise Unusable("a tool's arguments are an object")
    adopted = {"type": "object", "properties": {}, **adopted, "additionalProperties": False}
    return _checked(adopted, arguments=True)


def result_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """An output schema as a catalog holds it; anything but an object is under `result`. Raises Unusable."""
    adopted = Adopter(schema, arguments=False).adopt(schema)
    if not isinstance(adopted, dict) or adopted.get("type", "object") != "object":
        adopted = {"type": "object", "properties": {"result": adopted}}
    return _checked({"type": "object", **adopted}, arguments=False)


def _checked(schema: dict[str, Any], *, arguments: bool) -> dict[str, Any]:
    faults = check_schema(schema, arguments=arguments)
    if faults:
        raise Unusable("; ".join(f"{fault.pointer or '/'}: {fault.detail}" for fault in faults[:3]))
    return schema
