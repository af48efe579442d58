"""Read the forms of a page with the values that a browser would send; used for logins.

The fields of a form are those between its tags, and not those inside its element: in `<table><form><tr><td><input>`,
as on many login pages, the element is empty, and a browser sends the field nevertheless.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from orienteer.extract.assets import PageBase
from orienteer.extract.parser import TokenType, decoded, tokens
from orienteer.url import canonical_url

_MAX_FORMS = 100
_MAX_FIELDS = 1_000
_UNSENT = frozenset(("button", "file", "image", "reset", "submit"))


@dataclass(slots=True, repr=False)
class Form:
    """A form. `fields` are the default values to send, hidden ones included; `passwords` are names of password fields.

    `names` are the names of all fields, including those that are empty or not chosen. `submit` is the first submit
    button, if it has a name. `action` is None if it is no URL that can be fetched.
    """

    action: str | None
    method: str
    id: str = ""
    name: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    passwords: set[str] = field(default_factory=set)
    submit: tuple[str, str] | None = None

    def set_field(self, name: str, value: str) -> None:
        if name in self.fields or len(self.fields) < _MAX_FIELDS:
            self.fields[name] = value
            self.names.add(name)


def forms_of(html: bytes, url: str, charset: str | None = None) -> list[Form]:
    """Return the forms of the page at `url`, at most a hundred."""
    base = PageBase(url)
    forms: list[Form] = []
    form: Form | None = None  # the open one
    text_area = select = ""  # the names of the open elements
    for token in tokens(decoded(html, charset)):
        tag, attributes = token.tag, dict(token.attrs or ())
        name = "" if "disabled" in attributes else attributes.get("name", "")
        if token.type is TokenType.TEXT and form is not None and text_area:
            form.set_field(text_area, (token.data or "").removeprefix("\n"))
        elif token.type is TokenType.END_TAG:
            form, select = (None if tag == "form" else form), ("" if tag == "select" else select)
        if token.type is not TokenType.START_TAG:
            text_area = ""
        elif tag == "base" and not forms:
            base.apply(attributes)
        elif tag == "form" and form is None and len(forms) < _MAX_FORMS:
            action = canonical_url(attributes.get("action") or base.url, base.url)
            method = attributes.get("method", "get").strip().lower()
            form = Form(action, method, attributes.get("id", ""), attributes.get("name", ""))
            forms.append(form)
        elif form is None:
            continue
        elif tag == "option" and select and "disabled" not in attributes:
            if "selected" in attributes or select not in form.fields:
                form.set_field(select, attributes.get("value", ""))
        elif tag == "select" and name:
            select = name
            form.names.add(name)
        elif tag == "textarea" and name:
            text_area = name
            form.set_field(name, "")
        elif tag == "input" and name:
            _add_input(form, name, attributes)
        elif tag == "button" and name and attributes.get("type", "submit").lower() == "submit":
            form.submit = form.submit or (name, attributes.get("value", ""))
    return forms


def _add_input(form: Form, name: str, attributes: dict[str, str]) -> None:
    kind = attributes.get("type", "text").strip().lower()
    if kind == "submit":
        form.submit = form.submit or (name, attributes.get("value", ""))
    if kind in _UNSENT:
        return
    form.names.add(name)
    if kind == "password":
        form.passwords.add(name)
    if kind not in ("checkbox", "radio"):
        form.set_field(name, attributes.get("value", ""))
    elif "checked" in attributes:
        form.set_field(name, attributes.get("value", "on"))
