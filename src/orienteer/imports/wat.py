"""WAT records: JSON metadata of Common Crawl about a page: headers, title and links, but no text.

    Envelope
        WARC-Header-Metadata        WARC-Type, WARC-Target-URI, WARC-Date, WARC-Payload-Digest
        Payload-Metadata / HTTP-Response-Metadata
            Response-Message        Status
            Headers                 a name, and a value or several
            HTML-Metadata           Head (Title, Base, Metas, Link) and Links: {"path": "A@/href", "url": "..."}

The files are untrusted: a value of the wrong type counts as missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from orienteer.extract.links import MAX_LINKS, SCRIPTED, TOO_MANY_LINKS
from orienteer.extract.page import Page
from orienteer.extract.robot_rules import ALL_ROBOTS, OUR_NAME, RobotRules, rules_of, rules_of_header
from orienteer.responses.headers import Headers
from orienteer.url import canonical_url, too_long_url

_FOLLOWED = frozenset(("A@/href", "AREA@/href", "FRAME@/src", "IFRAME@/src"))
_FOLLOWED_RELATIONS = frozenset(("canonical", "next", "prev"))
_SCRIPT = "SCRIPT@/src"
_MAX_TITLE_CHARS = 1_000


class WatPage(NamedTuple):
    """The metadata of a page; `links` and `title` are empty unless it is HTML."""

    url: str
    date: str
    payload_digest: str
    status: int
    headers: Headers
    title: str = ""
    links: tuple[str, ...] = ()
    noindex: bool = False
    nofollow: bool = False
    nofollow_links: tuple[str, ...] = ()
    too_long: tuple[str, ...] = ()
    is_cut: bool = False  # there are more links than MAX_LINKS
    is_suspect: bool = False  # it has scripts and no links

    def packed(self) -> bytes:
        """Encode what `page_of` needs for the spool."""
        facts = [self.headers.items(), *self[5:]]
        return json.dumps(facts).encode("utf-8", "replace")


def wat_page(block: bytes, robot: str = OUR_NAME) -> WatPage | None:
    """Parse a WAT record about a response, with the rules for `robot`; None for a record about a request.

    ValueError if the JSON is invalid.
    """
    try:
        envelope = _table(json.loads(block), "Envelope")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"invalid JSON: {error}") from None
    about = _table(envelope, "WARC-Header-Metadata")
    response = _table(_table(envelope, "Payload-Metadata"), "HTTP-Response-Metadata")
    url = canonical_url(_text(about, "WARC-Target-URI"))
    if _text(about, "WARC-Type") != "response" or url is None or not response:
        return None
    status = _text(_table(response, "Response-Message"), "Status")
    headers = Headers(_headers(_table(response, "Headers")))
    page = WatPage(
        url,
        _text(about, "WARC-Date"),
        _text(about, "WARC-Payload-Digest"),
        int(status) if status.isdecimal() and len(status) == 3 else 0,
        headers,
    )
    html = _table(response, "HTML-Metadata")
    return _read(page, html, robot) if html else page


def page_of(packed: bytes, url: str) -> tuple[Headers, Page]:
    """Return the headers and the page from the result of `WatPage.packed`."""
    headers, title, links, noindex, nofollow, nofollow_links, too_long, is_cut, is_suspect = json.loads(packed)
    page = Page(
        links=links, title=title, text="", headings=[], anchors=[], description="", language="", charset="",
        canonical=None, noindex=noindex, nofollow=nofollow, nofollow_links=tuple(nofollow_links),
        unknown_links=(TOO_MANY_LINKS,) * is_cut + (SCRIPTED,) * is_suspect, too_long=tuple(too_long),
    )  # fmt: skip
    return Headers((name, value) for name, value in headers), page


def _read(page: WatPage, html: dict[str, Any], robot: str) -> WatPage:
    head = _table(html, "Head")
    rules = rules_of_header("\n".join(page.headers.get_all("x-robots-tag")), robot=robot) | _rules(head, robot)
    base = canonical_url(_text(head, "Base"), page.url) if _text(head, "Base") else None
    links: dict[str, None] = {}
    nofollow_links: dict[str, None] = {}
    too_long: dict[str, None] = {}
    is_cut = False
    for reference, is_followed in _references(head, html):
        text, start = reference.partition("#")[0], base or page.url
        link = canonical_url(text, start)
        to = links if is_followed and not rules.nofollow else nofollow_links
        if link is not None:
            is_cut = is_cut or (len(to) == MAX_LINKS and link not in to)
            if not is_cut:
                to[link] = None
        elif is_followed and (substitute := too_long_url(text, start)) is not None:
            too_long[substitute] = None
    title = " ".join(_text(head, "Title").split())[:_MAX_TITLE_CHARS]
    return page._replace(
        title=title, links=tuple(links), noindex=rules.noindex, nofollow=rules.nofollow,
        nofollow_links=tuple(nofollow_links), too_long=tuple(too_long), is_cut=is_cut,
        is_suspect=_has_scripts(head, html) and not {*links, *nofollow_links, *too_long} - {page.url},
    )  # fmt: skip


def _references(head: dict[str, Any], html: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield the links of a page, and whether they may be followed."""
    for entry in _tables(head, "Link"):
        if _text(entry, "url") and not _FOLLOWED_RELATIONS.isdisjoint(_relations(entry)):
            yield _text(entry, "url"), True
    for entry in _tables(html, "Links"):
        if _text(entry, "url") and _text(entry, "path") in _FOLLOWED:
            yield _text(entry, "url"), "nofollow" not in _relations(entry)


def _has_scripts(head: dict[str, Any], html: dict[str, Any]) -> bool:
    return bool(_tables(head, "Scripts")) or any(_text(entry, "path") == _SCRIPT for entry in _tables(html, "Links"))


def _relations(entry: dict[str, Any]) -> list[str]:
    return _text(entry, "rel").lower().split()


def _rules(head: dict[str, Any], robot: str) -> RobotRules:
    rules = RobotRules()
    for entry in _tables(head, "Metas"):
        if _text(entry, "name").strip().lower() in (ALL_ROBOTS, robot):
            rules |= rules_of(_text(entry, "content"))
    return rules


def _headers(table: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                # Headers are bytes decoded as Latin-1.
                yield name, text.encode("utf-8", "replace").decode("latin-1")


def _table(value: Any, name: str) -> dict[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _tables(value: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = value.get(name)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _text(value: dict[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""
