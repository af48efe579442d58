"""The documentation of the API at `/api/docs`: the OpenAPI schema as plain HTML, which works offline."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from orienteer.web.error_responses import ERROR_RESPONSES
from orienteer.web.rendering import NavEntry, render

ENTRY: NavEntry | None = None  # linked from the footer of every page
router = APIRouter()

_METHODS = ("get", "post", "put", "patch", "delete")
_OTHER = "pages"  # the heading of calls without a tag
_DEFAULT_TEXT = "Successful Response"  # FastAPI's


class Value(NamedTuple):
    """A parameter, or a field of a request or response."""

    name: str
    kind: str
    is_required: bool
    about: str


class ResponseDoc(NamedTuple):
    """The response of a status; `kind` is the name of its schema, if any."""

    status: str
    kind: str
    about: str


class Call(NamedTuple):
    """A call of the API. `example` is a command that makes it; `sent` is the schema of its body."""

    method: str
    path: str
    summary: str
    about: str
    values: tuple[Value, ...]
    sent: str
    responses: tuple[ResponseDoc, ...]
    example: str

    @property
    def id(self) -> str:
        return f"{self.method}{self.path}".replace("/", "-").replace("{", "").replace("}", "")


class SchemaDoc(NamedTuple):
    """A JSON object and its fields."""

    name: str
    about: str
    fields: tuple[Value, ...]


@router.get("/api/docs", include_in_schema=False)
def api_docs(request: Request) -> HTMLResponse:
    schema = request.app.openapi()
    root = request.scope.get("root_path", "")
    return render(
        request,
        "api_docs.html",
        errors=[ResponseDoc(str(status), "", error["description"]) for status, error in ERROR_RESPONSES.items()],
        groups=_groups(schema, f"{request.url.scheme}://{request.url.netloc}{root}"),
        shapes=list(_shapes(schema)),
        schema=request.app.openapi_url,
    )


def _groups(schema: Mapping[str, Any], address: str) -> dict[str, list[Call]]:
    """Return the calls by tag, in the order of the schema."""
    groups: dict[str, list[Call]] = {}
    for path, methods in schema["paths"].items():
        for method, call in methods.items():
            if method in _METHODS:
                tag = next(iter(call.get("tags", ())), _OTHER)
                groups.setdefault(tag, []).append(_call(method, path, call, address))
    return groups


def _call(method: str, path: str, call: Mapping[str, Any], address: str) -> Call:
    values = tuple(
        Value(one["name"], _kind(one["schema"]), one.get("required", False), one.get("description", ""))
        for one in call.get("parameters", ())
    )
    sent = _kind(_content(call.get("requestBody", {})))
    return Call(
        method=method.upper(),
        path=path,
        summary=call.get("summary", ""),
        about=call.get("description", ""),
        values=values,
        sent=sent,
        responses=tuple(
            ResponseDoc(status, _kind(_content(one)), one.get("description", "").replace(_DEFAULT_TEXT, ""))
            for status, one in call.get("responses", {}).items()
            if int(status) not in ERROR_RESPONSES or one["description"] != ERROR_RESPONSES[int(status)]["description"]
        ),
        example=_example(method, address + path, values, bool(sent)),
    )


def _example(method: str, url: str, values: tuple[Value, ...], has_body: bool) -> str:
    query = "&".join(f"{value.name}=…" for value in values if value.is_required and "{" + value.name + "}" not in url)
    target = f"'{url}{'?' + query if query else ''}'"
    if method == "get":
        return f"curl {target}"
    body = " -H 'Content-Type: application/json' -d '{}'" if has_body else ""
    return f"curl -X {method.upper()} {target}{body}"


def _shapes(schema: Mapping[str, Any]) -> Iterator[SchemaDoc]:
    for name, shape in sorted(schema.get("components", {}).get("schemas", {}).items()):
        required = shape.get("required", ())
        fields = tuple(
            Value(field, _kind(kind), field in required, kind.get("description", ""))
            for field, kind in shape.get("properties", {}).items()
        )
        yield SchemaDoc(name, shape.get("description", ""), fields)


def _content(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a body; if it is not JSON, its media type."""
    for media, content in part.get("content", {}).items():
        schema: Mapping[str, Any] = content.get("schema") or {"type": media}
        return schema
    return {}


def _kind(schema: Mapping[str, Any]) -> str:
    """Describe a schema in a few words.

    >>> _kind({"anyOf": [{"type": "array", "items": {"$ref": "#/components/schemas/Hit"}}, {"type": "null"}]})
    'list of Hit, or null'
    >>> _kind({"type": "integer", "minimum": 1, "default": 10})
    'integer, at least 1; 10 if left out'
    """
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return ", or ".join(dict.fromkeys(map(_kind, schema["anyOf"])))
    if "enum" in schema or "const" in schema:
        return " or ".join(json.dumps(value) for value in schema.get("enum", [schema.get("const")]))
    kind = str(schema.get("type", ""))
    if kind == "array":
        return f"list of {_kind(schema.get('items', {})) or 'anything'}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"object of {_kind(schema['additionalProperties'])}"
    limits = [
        f"{words} {schema[name]:g}"
        for name, words in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "more than"),
            ("maximum", "at most"),
            ("maxLength", "longest"),
        )
        if name in schema
    ]
    default = f"; {json.dumps(schema['default'])} if left out" if schema.get("default") not in (None, "") else ""
    return ", ".join([kind, *limits]) + default
