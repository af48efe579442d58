"""Read the forms of a page with the values that a browser would send; used for logins."""

from __future__ import annotations

from dataclasses import dataclass, field

from turbohtml import Tokenizer

from orienteer.extract.charset import decoded
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


def forms_of(html: bytes, url: str, charset: str | None = None) -> list[Form]:
    """Return the forms of the page at `url`, at most a hundred."""
    reader = _FormReader(url)
    tokenizer = Tokenizer()
    tokenizer.feed(decoded(html, charset))
    tokenizer.close()
    tokenizer.dispatch(reader)
    return reader.forms


class _FormReader:
    """The handler of the tokenizer."""

    handle_comment = handle_decl = handle_pi = bool

    def __init__(self, url: str) -> None:
        self.forms: list[Form] = []
        self._base = url
        self._form: Form | None = None
        self._text: tuple[str, list[str]] | None = None  # of a text area
        self._select = ""

    def handle_data(self, text: str) -> None:
        if self._text is not None:
            self._text[1].append(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in reversed(attributes)}  # of repeated attributes the first counts
        if tag == "base" and "href" in found and not self.forms:
            self._base = canonical_url(found["href"], self._base) or self._base
        elif tag == "form" and self._form is None and len(self.forms) < _MAX_FORMS:
            self._form = Form(
                canonical_url(found.get("action") or self._base, self._base),
                found.get("method", "get").strip().lower(), found.get("id", ""), found.get("name", ""),
            )  # fmt: skip
            self.forms.append(self._form)
        elif self._form is not None:
            self._control(self._form, tag, found)

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "textarea" and self._text is not None:
            name, pieces = self._text
            self._add(name, "".join(pieces).removeprefix("\n"))
            self._text = None
        elif tag == "select":
            self._select = ""

    def _control(self, form: Form, tag: str, found: dict[str, str]) -> None:
        name = found.get("name", "")
        if "disabled" in found:
            return
        if tag == "option" and self._select:
            if "selected" in found or self._select not in form.fields:
                self._add(self._select, found.get("value", ""))
        elif tag == "select" and name:
            self._select = name
            form.names.add(name)
        elif tag == "textarea" and name:
            self._text = name, []
        elif tag == "button" and found.get("type", "submit").lower() == "submit" and name and form.submit is None:
            form.submit = name, found.get("value", "")
        elif tag == "input" and name:
            self._input(form, name, found)

    def _input(self, form: Form, name: str, found: dict[str, str]) -> None:
        kind = found.get("type", "text").strip().lower()
        if kind == "submit" and form.submit is None:
            form.submit = name, found.get("value", "")
        if kind in _UNSENT:
            return
        form.names.add(name)
        if kind == "password":
            form.passwords.add(name)
        if kind not in ("checkbox", "radio"):
            self._add(name, found.get("value", ""))
        elif "checked" in found:
            self._add(name, found.get("value", "on"))

    def _add(self, name: str, value: str) -> None:
        if self._form is not None and (name in self._form.fields or len(self._form.fields) < _MAX_FIELDS):
            self._form.fields[name] = value
            self._form.names.add(name)
