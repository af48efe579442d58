"""Pages of the town: their texts, their simple HTML in the colours of their host, and files that are not HTML.

Texts are composed from the templates in texts.toml: determined by their key, independent of other texts.

URLs have no port. The HTML contains `PORT` as a placeholder, which is replaced by the port of each request: the same
web works with bare host names (`--connect-to`), and with `http://name.localhost:port/`, which any browser can open.
"""

from __future__ import annotations

import random
import re
import struct
import tomllib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from pathlib import Path
from typing import NamedTuple

PORT = "\x00"  # occurs in no HTML
TEXTS: dict[str, dict[str, list[str]]] = tomllib.loads((Path(__file__).parent / "texts.toml").read_text("utf-8"))
WORDS = TEXTS["words"]
_SENTENCES_PER_PARAGRAPH = 4
_BEFORE_VOWEL = re.compile(r"\b([Aa])(?= [aeiou])")
_WIDTH, _HEIGHT = 320, 180
_SKIES = ((186, 214, 235), (240, 205, 170), (205, 210, 216), (150, 180, 215))
_HILLS = ((86, 122, 80), (120, 112, 82), (70, 100, 96), (143, 128, 100))
_SEAS = ((74, 112, 139), (58, 92, 104), (104, 132, 142), (64, 84, 120))


class ProseWriter:
    """Draws words, sentences and titles for the page identified by `key`."""

    def __init__(self, rng: int, *key: object) -> None:
        self.draw = random.Random(f"{rng}/{'/'.join(map(str, key))}")

    def filled(self, phrase: str) -> str:
        """Fill the placeholders of a phrase with random words; `{Name}` is capitalized."""
        return _BEFORE_VOWEL.sub(r"\1n", phrase.format_map(_Drawn(self.draw)))

    def headline(self, topic: str) -> str:
        text = self.filled(self.draw.choice(TEXTS["headlines"][topic]))
        return text[0].upper() + text[1:]

    def paragraphs(self, n_sentences: int, *topics: str) -> tuple[str, ...]:
        """Return `n` distinct sentences of these topics, a few per paragraph."""
        phrases = _phrases(topics)
        drawn = self.draw.sample(phrases, min(n_sentences, len(phrases)))
        made = [_capital(self.filled(phrase)) for phrase in drawn]
        return tuple(
            " ".join(made[start : start + _SENTENCES_PER_PARAGRAPH])
            for start in range(0, len(made), _SENTENCES_PER_PARAGRAPH)
        )

    def about(self, prose: str) -> tuple[str, ...]:
        """Return paragraphs as described: `8 council town` are 8 sentences of these topics."""
        n_sentences, *topics = prose.split() or ["0"]
        return self.paragraphs(int(n_sentences), *topics)


class _Drawn(dict[str, str]):
    """Fills every placeholder with a separate draw."""

    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        self._draw = draw

    def __missing__(self, place: str) -> str:
        word = self._draw.choice(WORDS[place.lower()])
        return _capital(word) if place[0].isupper() else word


@cache
def _phrases(topics: tuple[str, ...]) -> list[str]:
    return [phrase for topic in topics for phrase in TEXTS["sentences"][topic]]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


class Link(NamedTuple):
    text: str
    url: str


class Moved(NamedTuple):
    """A redirect to the new URL of a page."""

    url: str
    status: int = 301


@dataclass(frozen=True)
class Host:
    """A host of the community or an external one: the header and footer of all its pages."""

    name: str
    title: str
    colour: str
    menu: tuple[Link, ...]
    foot: tuple[Link, ...] = ()


@dataclass(frozen=True)
class SiteResponse:
    """A response to any request: a page, a file or a redirect."""

    body: bytes
    content_type: str = "text/html"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class TownPage:
    """`text` is paragraphs, `lists` are links under headings, `by` the author and date; `bare`: the print version."""

    title: str
    text: tuple[str, ...] = ()
    lists: tuple[tuple[str, tuple[Link, ...]], ...] = ()
    by: str = ""
    url: str = ""
    language: str = "en"
    picture: str = ""
    bare: bool = False

    def with_lists(self, lists: Sequence[tuple[str, tuple[Link, ...]]]) -> TownPage:
        return replace(self, lists=tuple((heading, links) for heading, links in lists if links))


_STYLE = """
body{margin:0;font:17px/1.55 Georgia,serif;color:#222;background:#faf9f6}
header,footer{background:COLOUR;color:#fff;padding:.7em 1.2em;font-family:system-ui,sans-serif}
header a,footer a{color:#fff;margin-right:1em}header b{font-size:1.25em;display:block}
main{max-width:44em;margin:1.5em auto;padding:0 1.2em}h1{line-height:1.2}.by{color:#666;font-style:italic}
img{max-width:100%}li{margin:.2em 0}@media print{header,footer{display:none}}
"""


def rendered(page: TownPage, host: Host) -> str:
    """Return the page as HTML."""
    own = f"http://{host.name}"

    def anchors(links: tuple[Link, ...]) -> str:
        return " ".join([_anchor(link, own) for link in links])

    html = [
        f'<!DOCTYPE html>\n<html lang="{page.language}"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{escape(page.title)}</title><style>{_STYLE.replace('COLOUR', host.colour)}</style></head>\n<body>",
    ]
    if not page.bare:
        html.append(f"<header><b>{escape(host.title)}</b><nav>{anchors(host.menu)}</nav></header>\n")
    html.append(f"<main><h1>{escape(page.title)}</h1>\n")
    if page.by:
        html.append(f'<p class="by">{escape(page.by)}</p>\n')
    if page.picture:
        html.append(f'<p><a href="{escape(page.picture)}"><img src="{escape(page.picture)}" alt=""></a></p>\n')
    html += [f"<p>{escape(paragraph)}</p>\n" for paragraph in page.text]
    for heading, links in page.lists:
        items = "".join([f"<li>{_anchor(link, own)}</li>\n" for link in links])
        html.append(f"<h2>{escape(heading)}</h2>\n<ul>\n{items}</ul>\n")
    html.append("</main>\n")
    if not page.bare:
        html.append(f"<footer>{anchors(host.foot)}</footer>\n")
    html.append("</body></html>\n")
    return "".join(html)


def _anchor(link: Link, own: str) -> str:
    if link.url.startswith(own + "/"):
        href = link.url[len(own) :]
    else:
        name, slash, path = link.url.removeprefix("http://").partition("/")
        href = f"http://{name}{PORT}{slash}{path}"
    return f'<a href="{escape(href)}">{escape(link.text)}</a>'


def slug(title: str) -> str:
    """Return the title as a URL segment: `The roadworks in Mill Lane` becomes `roadworks-in-mill-lane`."""
    letters = "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in title.lower())
    return "-".join(letters.split()).removeprefix("the-")


def pdf(text: str) -> SiteResponse:
    """Return a PDF with one line of text."""
    line = text.replace("\\", "").replace("(", "[").replace(")", "]")
    drawn = f"BT /F1 14 Tf 60 760 Td ({line}) Tj ET".encode("latin-1", "replace")
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%b\nendstream" % (len(drawn), drawn),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj%b\nendobj\n" % (number, content)
    table = b"".join([b"%010d 00000 n \n" % place for place in places])
    end = b"xref\n0 6\n0000000000 65535 f \n%btrailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n"
    return SiteResponse(out + end % (table, len(out)), content_type="application/pdf")


def png(rng: int, name: str) -> SiteResponse:
    """Return a PNG of hills, sea and sky, determined by its name."""
    draw = random.Random(f"{rng}/{name}")
    sky, hill, sea = (draw.choice(colours) for colours in (_SKIES, _HILLS, _SEAS))
    horizon, peak = draw.randrange(60, 110), draw.randrange(40, _WIDTH - 40)
    rows = []
    for y in range(_HEIGHT):
        half = max(0, (y - horizon + 50) * 3)
        left, right = max(0, peak - half), min(_WIDTH, peak + half)
        land = bytes(sky) * left + bytes(hill) * (right - left) + bytes(sky) * (_WIDTH - right)
        rows.append(b"\0" + (land if y < horizon else bytes(sea) * _WIDTH))
    head = struct.pack(">2I5B", _WIDTH, _HEIGHT, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(b"".join(rows), 9)), (b"IEND", b""))
    body = b"".join([_chunk(kind, data) for kind, data in chunks])
    return SiteResponse(b"\x89PNG\r\n\x1a\n" + body, content_type="image/png")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
