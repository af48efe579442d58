"""What the API can do, at `/api/docs`: the application's OpenAPI as a page of plain HTML, which works offline."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from orienteer.web.rendering import Entry, render

ENTRY: Entry | None = None  # the foot of every page leads here
router = APIRouter()

_METHODS = ("get", "post", "put", "patch", "delete")
_OTHER = "pages"  # the heading of what has no tag
_SAID_OF_ALL = "Successful Response"  # by FastAPI, where we have said nothing


class Value(NamedTuple):
    """A parameter, or a field of what is sent or answered."""

    name: str
    kind: str
    is_required: bool
    about: str


class Answer(NamedTuple):
    """What comes back with a status; `kind` names its shape, if it has one."""

    status: str
    kind: str
    about: str


class Call(NamedTuple):
    """Something to ask for. `example` is a command that does; `sent` is the shape of what is sent with it."""

    method: str
    path: str
    summary: str
    about: str
    values: tuple[Value, ...]
    sent: str
    answers: tuple[Answer, ...]
    example: str

    @property
    def id(self) -> str:
        return f"{self.method}{self.path}".replace("/", "-").replace("{", "").replace("}", "")


class Shape(NamedTuple):
    """An object as JSON: its fields."""

    name: str
    about: str
    fields: tuple[Value, ...]


@router.get("/api/docs", include_in_schema=False)
def api_docs(request: Request) -> HTMLResponse:
    told = request.app.openapi()
    root = request.scope.get("root_path", "")
    return render(
        request,
        "api_docs.html",
        groups=_groups(told, f"{request.url.scheme}://{request.url.netloc}{root}"),
        shapes=list(_shapes(told)),
        schema=request.app.openapi_url,
    )


def _groups(told: Mapping[str, Any], address: str) -> dict[str, list[Call]]:
    """The calls by what they are about, in the order in which the pages name them."""
    groups: dict[str, list[Call]] = {}
    for path, methods in told["paths"].items():
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
        answers=tuple(
            Answer(status, _kind(_content(answer)), answer.get("description", "").replace(_SAID_OF_ALL, ""))
            for status, answer in call.get("responses", {}).items()
        ),
        example=_example(method, address + path, values, bool(sent)),
    )


def _example(method: str, url: str, values: tuple[Value, ...], has_body: bool) -> str:
    asked = "&".join(f"{value.name}=…" for value in values if value.is_required and "{" + value.name + "}" not in url)
    wanted = f"'{url}{'?' + asked if asked else ''}'"
    if method == "get":
        return f"curl {wanted}"
    body = " -H 'Content-Type: application/json' -d '{}'" if has_body else ""
    return f"curl -X {method.upper()} {wanted}{body}"


def _shapes(told: Mapping[str, Any]) -> Iterator[Shape]:
    for name, shape in sorted(told.get("components", {}).get("schemas", {}).items()):
        required = shape.get("required", ())
        fields = tuple(
            Value(field, _kind(kind), field in required, kind.get("description", ""))
            for field, kind in shape.get("properties", {}).items()
        )
        yield Shape(name, shape.get("description", ""), fields)


def _content(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a body; its media type is JSON, or stands for it."""
    for media, content in part.get("content", {}).items():
        schema: Mapping[str, Any] = content.get("schema") or {"type": media}
        return schema
    return {}


def _kind(schema: Mapping[str, Any]) -> str:
    """A schema in few words.

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
