"""Pages of the community as simple HTML in the colours of their host.

URLs have no port. The HTML contains `PORT` as a placeholder, which is replaced by the port of each request: the same
web works with bare host names (`--connect-to`), and with `http://name.localhost:port/`, which any browser can open.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from orienteer.fake_web.community.writing import ProseWriter
from orienteer.fake_web.fake_response import FakeResponse

PORT = "\x00"  # occurs in no HTML


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
class CommunityPage:
    """`text` is paragraphs, `lists` are links under headings, `by` the author and date; `bare`: the print version."""

    title: str
    text: tuple[str, ...] = ()
    lists: tuple[tuple[str, tuple[Link, ...]], ...] = ()
    by: str = ""
    language: str = "en"
    picture: str = ""
    bare: bool = False


class Pages:
    """The pages of the web by URL, while they are written; `week` is the age of the web."""

    def __init__(self, rng: int, week: int) -> None:
        self.rng = rng
        self.week = week
        self.hosts: dict[str, Host] = {}
        self.robots: dict[str, str] = {}
        self.at: dict[str, CommunityPage | Moved | FakeResponse] = {}
        self.html: dict[str, str] = {}  # cache of requested pages

    def writer(self, *key: object) -> ProseWriter:
        return ProseWriter(self.rng, *key)

    def link(self, url: str, text: str | None = None) -> Link:
        """Return a link to a page that was written before, with its title as text."""
        page = self.at[url]
        assert text is not None or isinstance(page, CommunityPage)
        return Link(text or page.title, url)  # type: ignore[union-attr]

    def links(self, urls: list[str]) -> tuple[Link, ...]:
        return tuple(map(self.link, urls))

    def write_listing(self, url: str, title: str, urls: list[str], per_page: int) -> None:
        """Write a list as several pages, each with a link to the next."""
        n_pages = -(-len(urls) // per_page)
        for k in range(n_pages):
            lists = [("", self.links(urls[k * per_page : (k + 1) * per_page]))]
            if k + 1 < n_pages:
                lists.append(("", (Link("Older ones", f"{url}/{k + 2}"),)))
            number = f", page {k + 1}" if k else ""
            self.at[url + (f"/{k + 1}" if k else "")] = CommunityPage(title + number, (), tuple(lists))


_STYLE = """
body{margin:0;font:17px/1.55 Georgia,serif;color:#222;background:#faf9f6}
header,footer{background:COLOUR;color:#fff;padding:.7em 1.2em;font-family:system-ui,sans-serif}
header a,footer a{color:#fff;margin-right:1em}header b{font-size:1.25em;display:block}
main{max-width:44em;margin:1.5em auto;padding:0 1.2em}h1{line-height:1.2}.by{color:#666;font-style:italic}
img{max-width:100%}li{margin:.2em 0}@media print{header,footer{display:none}}
"""


def rendered(page: CommunityPage, host: Host) -> str:
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
    """Return the title as a URL segment: `Roadworks in Mill Lane` becomes `roadworks-in-mill-lane`."""
    letters = "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in title.lower())
    return "-".join(letters.split())
