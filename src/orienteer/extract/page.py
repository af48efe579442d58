"""Extract the content of an HTML page: links, text, metadata, and rules for robots."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from orienteer.extract.block_reader import bounded
from orienteer.extract.blocks import Block
from orienteer.extract.line_places import placed
from orienteer.extract.links import (
    MAX_LINKS,
    NOFOLLOW,
    SCRIPTED,
    TOO_MANY_LINKS,
    UNCOUNTED,
    UNREADABLE,
    URL_TOO_LONG,
    Resolved,
    base_url,
    resolved,
)
from orienteer.extract.main_text import line_scores, main_text
from orienteer.extract.page_fields import NO_FIELDS, PageFields
from orienteer.extract.parser import charset_of, utf8_and_text
from orienteer.extract.reader import PageReader, read
from orienteer.extract.refresh import Refresh, stated_refresh
from orienteer.extract.robot_rules import OUR_NAME, RobotRules, rules_of, rules_of_header
from orienteer.extract.script_signs import FEW_LINKS, reads_noscript
from orienteer.url import canonical_url, too_long_url

__all__ = ["MAX_LINKS", "MAX_TEXT_CHARS", "Page", "extract_page"]

MAX_TEXT_CHARS = 1_000_000


@dataclass(slots=True)
class Page:
    """The content of a page. URLs are canonical; texts have collapsed white space, and a line for each block."""

    links: list[str]  # to follow, in the order of the document, without repeats
    title: str
    text: str  # the visible text; each page of a document with pages begins with a form feed
    headings: list[str]  # of the first three levels
    anchors: list[tuple[str, str]]  # links to other pages, with their texts or those of their images
    description: str
    language: str  # as declared, such as "en", or ""
    charset: str
    canonical: str | None
    noindex: bool
    nofollow: bool
    unknown_links: tuple[str, ...] = ()  # the reasons why links are missing, see extract/links
    nofollow_links: tuple[str, ...] = ()  # links that robots are asked not to follow
    too_long: tuple[str, ...] = ()  # substitutes for links whose URLs are too long
    refresh: Refresh | None = None  # the target of a refresh, which is one of the links
    noarchive: bool = False
    feeds: tuple[str, ...] = ()  # URLs of feeds; like `alternates`, they do not count as links
    alternates: tuple[str, ...] = ()  # the same page in other languages
    fields: PageFields = NO_FIELDS  # with `with_fields`
    blocks: list[Block] = field(default_factory=list)  # the lines of the text, with `with_blocks`
    base: str = ""  # the URL that references in blocks are resolved against
    has_code: bool = False  # has scripts, which may change the page
    line_scores: bytes = b""  # the main text scores of lines (see `main_text`), with `with_scores`
    line_groups: bytes = b""  # the code block or table of each line (see `line_places`), if there are any, with scores

    @property
    def is_suspect(self) -> bool:
        """Whether scripts may build the page, so that its text and links may be incomplete."""
        return SCRIPTED in self.unknown_links

    @property
    def main_text(self) -> str:
        """The main text; the whole text if its lines have no scores."""
        return main_text(self.text, self.line_scores, self.line_groups)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Links that count as links of the page, but are not followed.

        These are links that are too long, and all links of a page that asks robots not to follow its links. A single
        link marked nofollow does not count: its author does not endorse it.
        """
        return (*self.too_long, *(self.nofollow_links if self.nofollow else ()))

    @property
    def why_uncounted(self) -> str:
        """The reasons why the number of missing links is unknown; "" if it is known."""
        return ", ".join(why for why in self.unknown_links if why in UNCOUNTED)


def extract_page(
    html: bytes,
    url: str,
    charset: str | None = None,
    robots_header: str = "",
    with_text: bool = True,
    refresh_header: str = "",
    now: float | None = None,
    robot: str = OUR_NAME,
    with_fields: bool = False,
    with_blocks: bool = False,
    with_scores: bool = False,
) -> Page:
    """Extract the content of the page at `url`.

    Links are those that a browser without scripts would find: of `a` and `area`, also in SVG, of `frame`, `iframe`, a
    canonical, next or previous `link`, and a refresh, in the HTTP header (`refresh_header`) or in a `meta` element.
    They are resolved against the page's `base`. Links marked `nofollow` are separate (`nofollow_links`), which applies
    to all links if the page or `robots_header` (the `X-Robots-Tag`) says so. `unknown_links` has the reasons why links
    are missing.

    `charset` is that of the HTTP header, `now` is compared with `unavailable_after`, `robot` is the name of the robot
    whose rules apply. `with_text=False` leaves out text, headings and anchors, which halves the time; `with_blocks`
    adds the text as blocks, which takes several times as long; `with_scores` adds what `main_text` needs. `fields` are
    read only with `with_fields` (`page_fields`).

    No content raises an exception; time and memory are linear in its size.

    >>> page = extract_page(b"<title>A</title><p>See <a href=b#c>the<br>next</a>.", "http://example.org/a/")
    >>> page.title, page.text, page.anchors
    ('A', 'See the\\nnext.', [('http://example.org/a/b', 'the next')])
    """
    used_charset = charset_of(html, charset)
    utf8, decoded = utf8_and_text(html, used_charset)
    reader = read(utf8, decoded, with_text, robot, with_fields, with_blocks, with_scores)
    rules = _rules(reader, robots_header, now, robot)
    base = base_url(reader.base, url)
    found = resolved(reader.references, base, used_charset)
    unfollowed = resolved(reader.nofollow_references, base, used_charset)
    refresh, is_link, too_long = _refresh(reader, refresh_header, url)
    too_long = (*found.too_long, *too_long)
    links = dict.fromkeys(found.links.values())
    if refresh is not None and refresh.url is not None and is_link:
        links[refresh.url] = None
    nofollow_links = [link for link in dict.fromkeys(unfollowed.links.values()) if link not in links]
    if rules.nofollow:
        nofollow_links, links = [*links, *nofollow_links], {}
    missing = {
        TOO_MANY_LINKS: found.is_cut or reader.n_left_out > 0,
        URL_TOO_LONG: bool(too_long),
        UNREADABLE: not reader.is_understood,
        NOFOLLOW: rules.nofollow and bool(nofollow_links),
        SCRIPTED: _is_suspect(reader, found, unfollowed, url),
    }
    anchors = {
        (link, text): None
        for reference, text in reader.anchors
        if (link := found.links.get(reference)) is not None and link != url and link in links
    }
    text = reader.text[:MAX_TEXT_CHARS].rstrip()
    scores, groups = _scores_and_groups(reader, text, url) if with_scores else (b"", b"")
    return Page(
        links=list(links),
        title=reader.title,
        text=text,
        headings=reader.headings,
        anchors=list(anchors),
        description=reader.description,
        language=reader.language,
        charset=used_charset,
        canonical=canonical_url(reader.canonical, base) if reader.canonical else None,
        noindex=rules.noindex,
        nofollow=rules.nofollow,
        unknown_links=tuple(why for why, is_missing in missing.items() if is_missing),
        nofollow_links=tuple(nofollow_links),
        too_long=too_long,
        refresh=refresh,
        noarchive=rules.noarchive,
        feeds=tuple(resolved(reader.feeds, base, used_charset).links.values()) if reader.feeds else (),
        alternates=_alternates(reader, base, used_charset, url) if reader.alternates else (),
        fields=NO_FIELDS if reader.fields is None else reader.fields.fields(base),
        blocks=bounded(reader.blocks, MAX_TEXT_CHARS),
        base=base,
        has_code=reader.signs.has_code,
        line_scores=scores,
        line_groups=groups,
    )


def _scores_and_groups(reader: PageReader, text: str, url: str) -> tuple[bytes, bytes]:
    if not text or reader.lines is None or reader.noscript_text:  # the elements of lines of `noscript` are unknown
        return b"", b""
    lines = text.split("\n")
    places = placed(reader.lines).of_first(len(lines))
    groups = places.groups(np.array([len(line) for line in lines]))
    return line_scores(text, places, reader.title, url, groups), places.numbered_groups(groups)


def _is_suspect(reader: PageReader, found: Resolved, unfollowed: Resolved, url: str) -> bool:
    """Whether scripts may build the page, judging by its code and the links that can be clicked."""
    unclicked = reader.unclicked
    if reader.noscript_references and not reads_noscript(*reader.n_words):
        unclicked = unclicked | reader.noscript_references
    clicked: set[str] = set()
    for reference, link in chain(found.links.items(), unfollowed.links.items()):
        if link != url and reference not in unclicked:
            clicked.add(link)
            if len(clicked) == FEW_LINKS:
                break
    n_scripted = 0 if clicked else reader.n_scripted
    return reader.signs.is_suspect(len(clicked), n_scripted, lambda: reader.n_words)


def _alternates(reader: PageReader, base: str, charset: str, url: str) -> tuple[str, ...]:
    links = dict.fromkeys(resolved(reader.alternates, base, charset).links.values())
    return tuple(link for link in links if link != url)


def _rules(reader: PageReader, robots_header: str, now: float | None, robot: str) -> RobotRules:
    rules = rules_of_header(robots_header, now, robot) if robots_header else RobotRules()
    for content in reader.robots:
        rules |= rules_of(content, now)
    return rules


def _refresh(reader: PageReader, header: str, url: str) -> tuple[Refresh | None, bool, tuple[str, ...]]:
    """Return the refresh (the header comes before the page), whether it is a link, and a substitute if too long."""
    stated, base = stated_refresh(header) if header else None, url
    if stated is None:
        stated, base = reader.refresh, base_url(reader.base_of_refresh, url)
    if stated is None:
        return None, False, ()
    target = canonical_url(stated.reference, base)
    substitute = too_long_url(stated.reference, base) if target is None else None
    return Refresh(target, stated.delay_s), bool(stated.reference), () if substitute is None else (substitute,)
