"""The certificate page: one HTML file without external resources, with its facts as JSON, for one printed sheet.

The page depends on the facts alone, so that a changed page is detected by rendering it again. A change of the template,
its texts or the style needs a new LAYOUT; a test checks that.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from orienteer.certificates.certificate_text import describe
from orienteer.certificates.facts import Facts, facts_of
from orienteer.errors import InputError
from orienteer.responses.reading import read_page
from orienteer.wording import plain, size

LAYOUT = 2
_MAX_BYTES = 64 << 20
_TEMPLATES = Path(__file__).parent / "templates"
_DATA = re.compile(r'<script type="application/json" id="orienteer-certificate">(.*?)</script>', re.DOTALL)


class ReadCertificate(NamedTuple):
    """`text` is the page as it was read; None if it is JSON only. `digest` is the one stored with the facts."""

    facts: Facts
    text: str | None
    digest: str


def certificate_page(facts: Facts) -> str:
    """Render the whole page."""
    return _template("page.html").render(**_values(facts), style=style_sheet(), data=_as_data(facts))


def certificate_body(facts: Facts) -> str:
    """Render the body of the page, escaped, for a page with its own style."""
    return _template("body.html").render(**_values(facts))


def style_sheet() -> str:
    return (_TEMPLATES / "certificate.css").read_text(encoding="utf-8")


def read_certificate(path: Path) -> ReadCertificate:
    """Read a certificate from an HTML or JSON file; an InputError if it is none."""
    text = _text_of(path)
    blocks = _DATA.findall(text)
    if len(blocks) > 1:
        raise InputError(f"{path}: it holds the data of {len(blocks)} certificates")
    try:
        data = json.loads(blocks[0] if blocks else text)
    except (ValueError, RecursionError):
        raise InputError(f"{path}: this is no certificate of Orienteer") from None
    facts = facts_of(data, str(path))
    return ReadCertificate(facts, text if blocks else None, str(data.get("sha256")))


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
    """Return how a page differs from the one rendered from its data; "" if it does not."""
    if facts.layout != LAYOUT:
        return (
            f"the page has layout {facts.layout}, this Orienteer makes {LAYOUT}: whether the page agrees with its data "
            "cannot be checked"
        )
    expected = certificate_page(facts)
    if text.replace("\r\n", "\n").rstrip() == expected.rstrip():
        return ""
    for line, right in zip([*_lines(text), ""], [*_lines(expected), ""], strict=False):
        if line != right:
            return f"the page was changed: it shows '{plain(line, 150)}' where its data say '{plain(right, 150)}'"
    return "the page was changed in its markup or style; its text is what its data say"


def _lines(page: str) -> list[str]:
    return read_page(page.encode(), "https://certificate.invalid/", "text/html", "utf-8").text.split("\n")


def _as_data(facts: Facts) -> str:
    """Return JSON that cannot close the script element, whatever it contains."""
    text = json.dumps(facts.as_json(), ensure_ascii=True, indent=1)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _values(facts: Facts) -> dict[str, object]:
    return {"facts": facts, "words": describe(facts), "size": size, "plain": plain}


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
