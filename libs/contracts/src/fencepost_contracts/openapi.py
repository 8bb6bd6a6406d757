"""OpenAPI 3.0 and 3.1 documents, read into declarations: an operation becomes a request with named arguments.

The document is a file of the module's folder; references stay inside it and nothing is fetched. Path,
query parameters and the fields of a JSON body become arguments of one object, and an `http` block as a
contract would have it. An operation that needs more (headers, cookies, other bodies) is named, with why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from fencepost_contracts.foreign import Unusable, resolve
from fencepost_contracts.http_tools import PLACEHOLDER, HttpCall
from fencepost_contracts.sources import Declared

MAX_BYTES: Final = 4_194_304
METHODS: Final = ("get", "put", "post", "delete", "patch")
IN_QUERY: Final = frozenset({"GET", "DELETE"})
IGNORED_HEADERS: Final = frozenset({"accept", "content-type", "authorization"})  # says the specification
JSON: Final = "application/json"
BODY: Final = "body"


@dataclass(frozen=True, slots=True)
class Document:
    """A document as read. operations: by operationId; refused: those that can't be called, and why."""

    raw: Mapping[str, Any]
    server: str
    operations: Mapping[str, Declared]
    refused: Mapping[str, str] = field(default_factory=dict)


def read_document(path: Path, source: str, server: str | None = None) -> Document:
    """Raises Unusable, with what is wrong with the document as a whole."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise Unusable(f"can't be read: {error.strerror}") from None
    return parse_document(raw, source, server)


def parse_document(raw: bytes, source: str, server: str | None = None) -> Document:
    """server: one of the document's servers; it may be left out where there is exactly one."""
    document = _parsed(raw)
    chosen = _server(document, server)
    operations: dict[str, Declared] = {}
    refused: dict[str, str] = {}
    for name, path, method, item, operation in _operations(document):
        try:
            operations[name] = _declared(document, source, chosen, name, path, method, item, operation)
        except Unusable as error:
            refused[name] = str(error)
    return Document(document, chosen, operations, refused)


def _parsed(raw: bytes) -> Mapping[str, Any]:
    if len(raw) > MAX_BYTES:
        raise Unusable(f"longer than {MAX_BYTES} bytes")
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 2)
    try:
        document = reader.load(StringIO(raw.decode("utf-8")))
    except (UnicodeDecodeError, YAMLError, ValueError, RecursionError):
        raise Unusable("neither YAML nor JSON") from None
    if not isinstance(document, Mapping) or not isinstance(document.get("paths"), Mapping):
        raise Unusable("no OpenAPI document: it has no paths")
    if not str(document.get("openapi", "")).startswith(("3.0.", "3.1.")):
        raise Unusable("OpenAPI 3.0 and 3.1 are read")
    return document


def _server(document: Mapping[str, Any], wanted: str | None) -> str:
    """The address requests go to; the document is an allow-list of them. Raises Unusable."""
    servers = document.get("servers") or ()
    urls = [
        str(one["url"]) for one in servers if isinstance(one, Mapping) and isinstance(one.get("url"), str)
    ]
    if wanted is None:
        if len(urls) != 1:
            raise Unusable("say which `server`: the document has not exactly one")
        wanted = urls[0]
    elif urls and wanted not in urls and wanted.rstrip("/") not in [url.rstrip("/") for url in urls]:
        raise Unusable(f"`server` is none of the document's: {', '.join(urls)[:300]}")
    parts = urlsplit(wanted)
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.username or "{" in wanted:
        raise Unusable(f"{wanted[:200]!r} is no plain http(s) address")
    return wanted.rstrip("/")


def _operations(
    document: Mapping[str, Any],
) -> Iterator[tuple[str, str, str, Mapping[str, Any], Mapping[str, Any]]]:
    for path, item in document["paths"].items():
        if not isinstance(item, Mapping) or not str(path).startswith("/"):
            continue
        for method in METHODS:
            operation = item.get(method)
            if isinstance(operation, Mapping):
                name = operation.get("operationId") or f"{method} {path}"
                yield str(name), str(path), method, item, operation


def _declared(
    document: Mapping[str, Any], source: str, server: str, name: str, path: str, method: str,
    item: Mapping[str, Any], operation: Mapping[str, Any],
) -> Declared:  # fmt: skip
    arguments = _Arguments(document, method.upper(), server + path)
    for parameter in _parameters(document, item, operation):
        arguments.take(parameter)
    body = _body(document, operation, arguments)
    unnamed = set(PLACEHOLDER.findall(arguments.url)) - set(arguments.properties)
    if unnamed:
        raise Unusable(f"its path names {', '.join(sorted(unnamed))}, which is no parameter")
    said = [str(operation[word]).strip() for word in ("summary", "description") if operation.get(word)]
    schema = {
        "type": "object",
        "properties": arguments.properties,
        "required": sorted(arguments.required),
    }
    return Declared(
        source=source,
        kind="openapi",
        target=name,
        description="\n".join(dict.fromkeys(said)),
        input_schema=_whole(document, schema),
        output_schema=_answer(document, operation),
        endpoint={"url": server},
        http=HttpCall(method=arguments.method, url=arguments.url, body=body),
    )


@dataclass(slots=True)
class _Arguments:
    """An operation's arguments, and its address with places for those that stand in it."""

    document: Mapping[str, Any]
    method: str
    url: str
    properties: dict[str, Any] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)

    def take(self, parameter: Mapping[str, Any]) -> None:
        """Raises Unusable for one that is needed and can't be sent; one that isn't needed is left out."""
        place, name = parameter.get("in"), str(parameter.get("name", ""))
        if place == "path":
            if "{" + name + "}" not in self.url:
                raise Unusable(f"the path has no {{{name}}}")
            argument = _argument(name)
            self.url = self.url.replace("{" + name + "}", "{" + argument + "}")
            self._add(argument, parameter, required=True)
        elif place == "query" and self.method in IN_QUERY:
            if parameter.get("style", "form") != "form" or parameter.get("explode") is False:
                self._left_out(parameter, "a list in one parameter is not sent")
                return
            self._add(name, parameter, required=bool(parameter.get("required")))
        elif place == "query" and parameter.get("required"):
            if _kind(self.document, parameter) in ("array", "object"):
                raise Unusable(f"{name}: a list in the address of a {self.method} is not sent")
            mark = "&" if "?" in self.url else "?"
            self.url += f"{mark}{quote(name, safe='')}={{{_argument(name)}}}"
            self._add(_argument(name), parameter, required=True)
        elif place != "header" or name.lower() not in IGNORED_HEADERS:
            self._left_out(parameter, f"a parameter in {place} is not sent")

    def _left_out(self, parameter: Mapping[str, Any], why: str) -> None:
        if parameter.get("required"):
            raise Unusable(f"{parameter.get('name')}: {why}")

    def _add(self, argument: str, parameter: Mapping[str, Any], *, required: bool) -> None:
        if argument in self.properties:
            raise Unusable(f"{argument!r} is a parameter in two places")
        self.properties[argument] = {**parameter.get("schema", {}), **_said(parameter)}
        if required:
            self.required.append(argument)


def _argument(name: str) -> str:
    """A name that can stand for a place in an address."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return plain if PLACEHOLDER.fullmatch("{" + plain + "}") else f"_{plain}"


def _kind(document: Mapping[str, Any], parameter: Mapping[str, Any]) -> Any:
    schema = parameter.get("schema", {})
    return (resolve(document, schema["$ref"]) if "$ref" in schema else schema).get("type")


def _parameters(
    document: Mapping[str, Any], item: Mapping[str, Any], operation: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """An operation's own parameters go before those of its path."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for given in (*item.get("parameters", ()), *operation.get("parameters", ())):
        parameter = resolve(document, given["$ref"]) if "$ref" in given else given
        found[str(parameter.get("in")), str(parameter.get("name"))] = parameter
    return list(found.values())


def _said(parameter: Mapping[str, Any]) -> dict[str, str]:
    return {"description": str(parameter["description"])} if parameter.get("description") else {}


def _body(document: Mapping[str, Any], operation: Mapping[str, Any], arguments: _Arguments) -> str | None:
    """Adds the body's fields to the arguments; a body that is no object of fields is one argument, `body`."""
    given = operation.get("requestBody")
    if given is None:
        return None
    if arguments.method in IN_QUERY:
        raise Unusable(f"a {arguments.method} with a body is not sent")
    request = resolve(document, given["$ref"]) if "$ref" in given else given
    content = request.get("content", {})
    media = next((content[kind] for kind in content if _is_json(kind)), None)
    if media is None:
        raise Unusable("its body is not JSON")
    schema = media.get("schema", {})
    flat = resolve(document, schema["$ref"]) if "$ref" in schema else schema
    fields = flat.get("properties")
    if isinstance(fields, Mapping) and "allOf" not in flat and not set(fields) & set(arguments.properties):
        sent = {name: value for name, value in fields.items() if not value.get("readOnly")}
        arguments.properties.update(sent)
        if request.get("required", True):
            arguments.required.extend(name for name in flat.get("required", ()) if name in sent)
        return None
    if BODY in arguments.properties:
        raise Unusable("a parameter is named body, and there is a body")
    arguments.properties[BODY] = schema
    if request.get("required"):
        arguments.required.append(BODY)
    return "{" + BODY + "}"


def _answer(document: Mapping[str, Any], operation: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema of the first success that has one; None where anything may come."""
    responses = operation.get("responses", {})
    for status in sorted(str(code) for code in responses if str(code).startswith("2")):
        given = responses.get(status, responses.get(int(status) if status.isdigit() else status)) or {}
        response = resolve(document, given["$ref"]) if "$ref" in given else given
        for kind, media in (response.get("content") or {}).items():
            if _is_json(kind) and media.get("schema"):
                return _whole(document, media["schema"])
    return None


def _is_json(kind: str) -> bool:
    bare = kind.partition(";")[0].strip().lower()
    return bare == JSON or bare.endswith("+json")


def _whole(document: Mapping[str, Any], schema: Any) -> dict[str, Any]:
    """The schema with the parts of the document it refers to, so that a change there is a change."""
    parts: dict[str, Any] = {}
    _collect(document, schema, parts)
    return {**schema, "x-parts": parts} if parts else dict(schema)


def _collect(document: Mapping[str, Any], value: Any, parts: dict[str, Any]) -> None:
    if isinstance(value, Mapping):
        reference = value.get("$ref")
        if isinstance(reference, str) and reference not in parts:
            parts[reference] = resolve(document, reference)
            _collect(document, parts[reference], parts)
        for inner in value.values():
            _collect(document, inner, parts)
    elif isinstance(value, list):
        for inner in value:
            _collect(document, inner, parts)
