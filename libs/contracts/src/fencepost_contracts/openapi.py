"""OpenAPI 3.0 and 3.1 documents, read into declarations: an operation becomes a request with named arguments.

The document is a file of the module's folder; references stay inside it and nothing is fetched. Path,
query and header parameters and the fields of a JSON body become arguments of one object. An operation that
can't be called safely (cookies, deep objects, other bodies than JSON) is named with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from fencepost_contracts.foreign import Unusable, resolve
from fencepost_contracts.sources import Declared, HttpBinding, HttpParameter, Where

MAX_BYTES: Final = 4_194_304
METHODS: Final = ("get", "put", "post", "delete", "patch")
IGNORED_HEADERS: Final = frozenset({"accept", "content-type", "authorization"})  # says the specification
FORBIDDEN_HEADERS: Final = frozenset({
    "host", "content-length", "transfer-encoding", "connection", "cookie", "upgrade", "te", "trailer",
    "proxy-authorization", "forwarded", "x-forwarded-for", "x-forwarded-host",
})  # fmt: skip
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
    properties: dict[str, Any] = {}
    required: list[str] = []
    parameters = []
    for parameter in _parameters(document, item, operation):
        place = _place(parameter, path)
        if place is None:
            continue
        argument = str(parameter["name"])
        if argument in properties:
            raise Unusable(f"{argument!r} is a parameter in two places")
        properties[argument] = {**parameter.get("schema", {}), **_said(parameter)}
        if parameter.get("required") or place == "path":
            required.append(argument)
        explode = bool(parameter.get("explode", place == "query"))
        parameters.append(HttpParameter(argument=argument, place=place, name=argument, explode=explode))
    fields, body = _body(document, operation, properties, required)
    schema = {"type": "object", "properties": properties, "required": sorted(required)}
    said = [str(operation[word]).strip() for word in ("summary", "description") if operation.get(word)]
    return Declared(
        source=source,
        kind="openapi",
        target=name,
        description="\n".join(dict.fromkeys(said)),
        input_schema=_whole(document, schema),
        output_schema=_answer(document, operation),
        endpoint={"url": server},
        http=HttpBinding(
            method=method.upper(), path=path, parameters=tuple(parameters), fields=tuple(fields), body=body
        ),
    )


def _parameters(
    document: Mapping[str, Any], item: Mapping[str, Any], operation: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """An operation's own parameters go before those of its path."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for given in (*item.get("parameters", ()), *operation.get("parameters", ())):
        parameter = resolve(document, given["$ref"]) if "$ref" in given else given
        found[str(parameter.get("in")), str(parameter.get("name"))] = parameter
    return list(found.values())


def _place(parameter: Mapping[str, Any], path: str) -> Where | None:
    place, name = parameter.get("in"), str(parameter.get("name", ""))
    if place == "header":
        if name.lower() in IGNORED_HEADERS:
            return None
        if name.lower() in FORBIDDEN_HEADERS:
            raise Unusable(f"the header {name} is not an argument's to set")
        return "header"
    if place == "path":
        if "{" + name + "}" not in path:
            raise Unusable(f"the path has no {{{name}}}")
        return "path"
    if place == "query":
        if parameter.get("style", "form") != "form":
            raise Unusable(f"{name}: style {parameter['style']} is not sent")
        return "query"
    if not parameter.get("required"):
        return None
    raise Unusable(f"{name}: a parameter in {place} is not sent")


def _said(parameter: Mapping[str, Any]) -> dict[str, str]:
    return {"description": str(parameter["description"])} if parameter.get("description") else {}


def _body(
    document: Mapping[str, Any], operation: Mapping[str, Any], properties: dict[str, Any], required: list[str]
) -> tuple[list[str], str | None]:
    """Adds the body's fields to the arguments; a body that is no object of fields is one argument, `body`."""
    given = operation.get("requestBody")
    if given is None:
        return [], None
    request = resolve(document, given["$ref"]) if "$ref" in given else given
    content = request.get("content", {})
    media = next((content[kind] for kind in content if _is_json(kind)), None)
    if media is None:
        raise Unusable("its body is not JSON")
    schema = media.get("schema", {})
    flat = resolve(document, schema["$ref"]) if "$ref" in schema else schema
    fields = flat.get("properties")
    if isinstance(fields, Mapping) and "allOf" not in flat and not set(fields) & set(properties):
        sent = {name: value for name, value in fields.items() if not value.get("readOnly")}
        properties.update(sent)
        required.extend(
            name for name in flat.get("required", ()) if name in sent and request.get("required", True)
        )
        return list(sent), None
    if BODY in properties:
        raise Unusable("a parameter is named body, and there is a body")
    properties[BODY] = schema
    if request.get("required"):
        required.append(BODY)
    return [], BODY


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


def address(server: str, path: str) -> str:
    """Server and path as one address; the path is under the server's own."""
    return urljoin(f"{server}/", path.lstrip("/"))
