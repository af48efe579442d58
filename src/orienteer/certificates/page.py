"""A certificate as a page: one HTML file that loads nothing, with its facts as data in it, to be printed on one sheet.

The page is made of the facts alone, and always the same of the same facts. So one can see whether somebody has changed
what it shows. A change of the template or the style is a new LAYOUT; a test notices it.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from orienteer.answers.reading import read_page
from orienteer.certificates.facts import Facts, facts_of
from orienteer.certificates.in_words import in_words
from orienteer.errors import InputError
from orienteer.wording import plain, size

LAYOUT = 1
_MAX_BYTES = 64 << 20
_TEMPLATES = Path(__file__).parent / "templates"
_DATA = re.compile(r'<script type="application/json" id="orienteer-certificate">(.*?)</script>', re.DOTALL)


class ReadCertificate(NamedTuple):
    """`text` is the page as it was read; None where it is the data alone. `digest` is what it says of its facts."""

    facts: Facts
    text: str | None
    digest: str


def certificate_page(facts: Facts) -> str:
    """The whole page."""
    return _template("page.html").render(**_values(facts), style=style_sheet(), data=_as_data(facts))


def certificate_body(facts: Facts) -> str:
    """What it shows, for a page that has a style of its own; escaped."""
    return _template("body.html").render(**_values(facts))


def style_sheet() -> str:
    return (_TEMPLATES / "certificate.css").read_text(encoding="utf-8")


def read_certificate(path: Path) -> ReadCertificate:
    """The certificate in a file, HTML or JSON; InputError where it is none."""
    text = _text_of(path)
    found = _DATA.findall(text)
    if len(found) > 1:
        raise InputError(f"{path}: it holds the data of {len(found)} certificates")
    try:
        data = json.loads(found[0] if found else text)
    except (ValueError, RecursionError):
        raise InputError(f"{path}: this is no certificate of Orienteer") from None
    facts = facts_of(data, str(path))
    return ReadCertificate(facts, text if found else None, str(data.get("sha256")))


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such certificate") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    if len(content) > _MAX_BYTES:
        raise InputError(f"{path}: it is larger than any certificate")
    return content.decode("utf-8-sig", "replace")


def page_problem(text: str, facts: Facts) -> str:
    """Where a page is not what its data make; "" where it is."""
    if facts.layout != LAYOUT:
        return (
            f"the page has layout {facts.layout}, this Orienteer makes {LAYOUT}: it cannot be told whether the page "
            "shows what its data say"
        )
    right = certificate_page(facts)
    if text.replace("\r\n", "\n").rstrip() == right.rstrip():
        return ""
    for shown, true in zip([*_lines(text), ""], [*_lines(right), ""], strict=False):
        if shown != true:
            return f"the page was changed: it shows '{plain(shown, 150)}' where its data say '{plain(true, 150)}'"
    return "the page was changed in its markup or style; its text is what its data say"


def _lines(page: str) -> list[str]:
    return read_page(page.encode(), "https://certificate.invalid/", "text/html", "utf-8").text.split("\n")


def _as_data(facts: Facts) -> str:
    """JSON that ends no element, whatever it holds."""
    text = json.dumps(facts.as_json(), ensure_ascii=True, indent=1)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _values(facts: Facts) -> dict[str, object]:
    return {"facts": facts, "words": in_words(facts), "size": size, "plain": plain}


@lru_cache(maxsize=2)
def _template(name: str) -> Template:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
