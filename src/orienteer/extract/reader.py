"""Reading a page: from its tokens to what it says.

Only tokens are read, no tree is built: a tree costs up to thousands of times the memory of the page where formatting
elements are left open (the standard wants them reopened in every paragraph), and square time where `<html>` is
repeated. What stands where in the tree is settled before (`markup`), in linear time, and leaves only what is on the
page.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from turbohtml import Tokenizer

from orienteer.extract.language import primary_language
from orienteer.extract.markup import DRAWN_LINK, NOSCRIPT, Light, Lightener
from orienteer.extract.refresh import StatedRefresh, stated_refresh
from orienteer.extract.robot_rules import ANYBODY, OUR_NAME
from orienteer.extract.script_signs import new_signs, reads_noscript
from orienteer.extract.whitespace import BLOCK_MARK, lines

MAX_TITLE_CHARS = 1_000  # also of a heading and of the description
MAX_ANCHOR_CHARS = 200
MAX_REFERENCES = 50_000  # that are kept of a page; also of anchors
MAX_HEADINGS = 10_000
MAX_ALTERNATES = 500  # of a page; also of feeds
_MAX_RULES = 1_000

# Elements that stand on lines of their own, or at least apart from the words beside them.
BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "br", "button", "caption", "center", "dd", "details", "dialog",
    "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "h1", "h2", "h3", "h4",
    "h5", "h6", "header", "hgroup", "hr", "legend", "li", "listing", "main", "menu", "nav", "ol", "optgroup",
    "option", "p", "plaintext", "pre", "search", "section", "select", "summary", "table", "tbody", "td", "textarea",
    "tfoot", "th", "thead", "tr", "ul", "xmp",
))  # fmt: skip

# Those of them that lines stand in.
BLOCK_NODES = BLOCKS.difference(("br", "frameset", "hr", "plaintext", "textarea", "xmp"))
LINE_NODES = BLOCK_NODES | {"a"}  # what lines are told to stand in

_READ = ("a", "area", "base", "body", "frame", "html", "iframe", "link", "meta", "title")
READ_WITH_TEXT = (*_READ, "h1", "h2", "h3", "img")
_LINKS_ONLY = Lightener(_READ, (), with_text=False)
_WITH_TEXT = Lightener(READ_WITH_TEXT, BLOCKS, with_text=True)

_PERMALINKS = frozenset("¶#§🔗")  # what the links of headings to themselves say, which no reader reads
_FOLLOWED_RELATIONS = frozenset(("canonical", "next", "prev"))

_LEADS_NOWHERE = re.compile(r"history|print\(|close\(")  # in a script that a link runs
_FEED_TYPES = frozenset(("application/rss+xml", "application/atom+xml"))

_Attributes = list[tuple[str, str]]


def read(html: bytes, with_text: bool = True, robot: str = OUR_NAME) -> PageReader:
    """What a page in UTF-8 says, and what it says to a robot of this name; without text, its links and its head."""
    reader = PageReader(with_text, robot)
    dispatch((_WITH_TEXT if with_text else _LINKS_ONLY).lightened(html, reader.signs), reader)
    return reader


def dispatch(light: Light, reader: PageReader) -> None:
    """Report the tokens of a page."""
    reader.begin(light)
    tokenizer = Tokenizer()
    tokenizer.feed(light.page)
    tokenizer.close()
    tokenizer.dispatch(reader)
    reader.finish()


class PageReader:
    """What the tokenizer reports to. References are kept as written, but without their fragments.

    `nofollow_references` are those of links that ask not to be followed. `unclicked` are those that are followed, but
    that nobody clicks: of `link` and `iframe` elements; `noscript_references` those that stand in a `noscript`.
    `feeds` and `alternates` lead to a feed of the page, and to what it says in other languages.
    """

    def __init__(self, with_text: bool, robot: str = OUR_NAME) -> None:
        self.references: dict[str, None] = {}
        self.nofollow_references: dict[str, None] = {}
        self.unclicked: set[str] = set()
        self.noscript_references: set[str] = set()
        self.feeds: dict[str, None] = {}
        self.alternates: dict[str, None] = {}
        self.n_scripted = 0  # links that run a script
        self.signs = new_signs()  # that scripts make the page
        self.noscript_text = ""  # at the end of the text, where it is a part of it
        self.anchors: dict[tuple[str, str], None] = {}  # references and their texts
        self.headings: list[str] = []
        self.title = self.text = self.description = self.language = ""
        self.base: str | None = None
        self.canonical: str | None = None
        self.refresh: StatedRefresh | None = None
        self.base_of_refresh: str | None = None  # the one before it: a later one does not count
        self.robots: dict[str, None] = {}  # what the page tells them
        self.n_left_out = 0  # references beyond the limit
        self.is_understood = True  # all of its tags; else there may be more or fewer links
        self._with_text = with_text
        self._robot = robot
        self._parts: list[str] = []  # of the text; places in it are where something begins
        self._anchor: int | None = None
        self._anchor_reference = self._anchor_image = ""
        self._permalink: int | None = None
        self._heading: int | None = None
        self._title: int | None = None
        self._is_titled = False
        self._unseen: tuple[str, int] | None = None
        self._noscript: list[str] = []  # text
        self._noscript_headings: list[str] = []
        self.handle_data = self._parts.append

    def begin(self, light: Light) -> None:
        """The tokens of this page are about to be reported."""
        self.is_understood = light.is_understood

    # Called for nothing: a built-in takes half the time of a function that passes.
    handle_comment = handle_decl = handle_pi = bool

    def handle_starttag(self, tag: str, attributes: _Attributes) -> None:
        start = STARTS.get(tag)
        if start is not None:
            start(self, dict(attributes))
        elif tag in BLOCKS:
            self._parts.append(BLOCK_MARK)

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._end_a()
            return
        if tag in _HEADINGS:
            self._end_heading()
        elif tag == "title":
            self._end_title()
        elif self._unseen is not None and tag == self._unseen[0]:
            self._show()
        if tag in BLOCKS:
            self._parts.append(BLOCK_MARK)

    def finish(self) -> None:
        """All tokens were reported: end what is open, and make the text."""
        self._end_title()
        if self._unseen is not None:
            self._show()
        self._end_a()
        self._end_heading()
        if self._with_text:
            self._make_text()
            if self._noscript:
                self._read_noscript()

    def _make_text(self) -> None:
        self.text = lines("".join(self._parts))

    def _read_noscript(self) -> None:
        """What stands in `noscript` is on the page where there is little else."""
        text = lines("".join(self._noscript))
        if reads_noscript(len(self.text.split()), len(text.split())):
            self.noscript_text = text
            self.text = f"{self.text}\n{text}".strip()
            self.headings += self._noscript_headings[: MAX_HEADINGS - len(self.headings)]

    def _text_from(self, start: int) -> str:
        return "".join(self._parts[start:]).replace("\0", "")

    def _take_out(self, start: int) -> None:
        """The parts of the text from here on are not seen."""
        del self._parts[start:]

    # Text that is not seen where it stands: taken out again at the end of its element.

    def _hide(self, element: str) -> None:
        if self._unseen is None:
            self._unseen = element, len(self._parts)

    def _show(self) -> None:
        assert self._unseen is not None
        element, start = self._unseen
        if element == NOSCRIPT and self._with_text:
            self._noscript += (*self._parts[start:], BLOCK_MARK)
        self._take_out(start)
        self._unseen = None
        if self._permalink is not None:
            self._permalink = min(self._permalink, start)
        if self._anchor is not None:
            self._anchor = min(self._anchor, start)
        if self._heading is not None:
            self._heading = min(self._heading, start)

    # Links

    def _add(self, reference: str | None) -> None:
        if reference is not None:
            reference = reference.partition("#")[0]
            if reference not in self.references:
                self.unclicked.add(reference)
            self._keep(reference, self.references)

    def _keep(self, reference: str, references: dict[str, None]) -> None:
        if len(references) < MAX_REFERENCES or reference in references:
            references[reference] = None
        else:
            self.n_left_out += 1

    def _start_a(self, attributes: dict[str, str]) -> None:
        self._end_a()
        reference = attributes.get("href")
        if reference is None:
            return
        if reference[:1] == "#":
            self._permalink = len(self._parts)
        reference = reference.partition("#")[0]
        if self._unseen is not None or self.unclicked or self.noscript_references:
            self._note_click(reference)
        if not reference or reference[:11].lower() == "javascript:":
            self.n_scripted += "onclick" in attributes if not reference else _LEADS_NOWHERE.search(reference) is None
        if "rel" in attributes and _is_nofollow(attributes):
            self._keep(reference, self.nofollow_references)
            return
        self._keep(reference, self.references)
        if reference and self._with_text:  # a link within the page says nothing about another
            self._anchor, self._anchor_reference, self._anchor_image = len(self._parts), reference, ""

    def _note_click(self, reference: str) -> None:
        if self._unseen is None:
            self.unclicked.discard(reference)
            self.noscript_references.discard(reference)
        elif self._unseen[0] == NOSCRIPT and reference not in self.references:
            self.noscript_references.add(reference)

    def _start_drawn_link(self, attributes: dict[str, str]) -> None:
        if "href" not in attributes and "xlink:href" in attributes:
            attributes["href"] = attributes["xlink:href"]
        self._start_a(attributes)

    def _end_a(self) -> None:
        if self._permalink is not None:
            if self._text_from(self._permalink).strip(" \n") in _PERMALINKS:
                self._take_out(self._permalink)
            self._permalink = None
        if self._anchor is not None:
            text = _collapsed(self._text_from(self._anchor), MAX_ANCHOR_CHARS) or self._anchor_image
            if text and len(self.anchors) < MAX_REFERENCES:
                self.anchors[self._anchor_reference, text] = None
            self._anchor = None

    def _start_img(self, attributes: dict[str, str]) -> None:
        if self._anchor is not None and not self._anchor_image:
            self._anchor_image = _collapsed(attributes.get("alt", ""), MAX_ANCHOR_CHARS)

    def _start_area(self, attributes: dict[str, str]) -> None:
        self._start_a(attributes)
        self._start_img(attributes)
        self._end_a()

    def _start_frame(self, attributes: dict[str, str]) -> None:
        self._add(attributes.get("src"))

    def _start_iframe(self, attributes: dict[str, str]) -> None:
        self._add(attributes.get("src"))
        self._hide("iframe")

    def _start_link(self, attributes: dict[str, str]) -> None:
        relations = attributes.get("rel", "").lower().split()
        if _FOLLOWED_RELATIONS.isdisjoint(relations):
            if "alternate" in relations:
                self._note_alternate(attributes)
            return
        if "nofollow" not in relations:
            self._add(attributes.get("href"))
        if "canonical" in relations:
            self.canonical = self.canonical or attributes.get("href")

    def _note_alternate(self, attributes: dict[str, str]) -> None:
        reference = attributes.get("href", "").partition("#")[0]
        if attributes.get("type", "").partition(";")[0].strip().lower() in _FEED_TYPES:
            found = self.feeds
        elif "hreflang" in attributes:
            found = self.alternates
        else:
            return
        if reference and len(found) < MAX_ALTERNATES:
            found[reference] = None

    def _start_base(self, attributes: dict[str, str]) -> None:
        if self.base is None:
            self.base = attributes.get("href")

    # Everything else

    def _start_meta(self, attributes: dict[str, str]) -> None:
        content = attributes.get("content", "")
        name = attributes.get("name", "").strip().lower()
        if name == ANYBODY or name == self._robot:
            if len(self.robots) < _MAX_RULES:
                self.robots[content] = None
        elif name == "description":
            self.description = self.description or _collapsed(content, MAX_TITLE_CHARS)
        elif "http-equiv" in attributes:
            header = attributes["http-equiv"].strip().lower()
            if header == "refresh" and self.refresh is None:
                self.refresh, self.base_of_refresh = stated_refresh(content), self.base
            elif header == "content-language":
                self.language = self.language or primary_language(content)

    def _start_html(self, attributes: dict[str, str]) -> None:
        declared = attributes.get("lang") or attributes.get("xml:lang") or ""
        self.language = self.language or primary_language(declared)

    def _start_noscript(self, attributes: dict[str, str]) -> None:
        self._hide(NOSCRIPT)  # it says again what a script would, or that there should be one

    def _start_body(self, attributes: dict[str, str]) -> None:
        if self._unseen is not None and self._unseen[0] == NOSCRIPT:
            self._show()  # it was left open in the head

    def _start_title(self, attributes: dict[str, str]) -> None:
        self._title = len(self._parts)

    def _end_title(self) -> None:
        if self._title is not None:
            if not self._is_titled:
                self.title = _collapsed(self._text_from(self._title), MAX_TITLE_CHARS)
                self._is_titled = True
            self._take_out(self._title)
            self._title = None

    def _start_heading(self, attributes: dict[str, str]) -> None:
        self._end_heading()
        self._parts.append(BLOCK_MARK)
        if self._with_text and (self._unseen is None or self._unseen[0] == NOSCRIPT):
            self._heading = len(self._parts)

    def _end_heading(self) -> None:
        if self._heading is not None:
            heading = _collapsed(self._text_from(self._heading), MAX_TITLE_CHARS)
            headings = self.headings if self._unseen is None else self._noscript_headings
            if heading and len(headings) < MAX_HEADINGS:
                headings.append(heading)
            self._heading = None


_HEADINGS = ("h1", "h2", "h3")
STARTS: dict[str, Callable[[PageReader, dict[str, str]], None]] = {
    "a": PageReader._start_a,
    "area": PageReader._start_area,
    "base": PageReader._start_base,
    "body": PageReader._start_body,
    "frame": PageReader._start_frame,
    "h1": PageReader._start_heading,
    "h2": PageReader._start_heading,
    "h3": PageReader._start_heading,
    "html": PageReader._start_html,
    "iframe": PageReader._start_iframe,
    "img": PageReader._start_img,
    "link": PageReader._start_link,
    "meta": PageReader._start_meta,
    "title": PageReader._start_title,
    DRAWN_LINK: PageReader._start_drawn_link,
    NOSCRIPT: PageReader._start_noscript,
}


def _is_nofollow(attributes: dict[str, str]) -> bool:
    return "nofollow" in attributes["rel"].lower().split()


def _collapsed(text: str, max_chars: int) -> str:
    """Text with its white space collapsed, of bounded length."""
    text = " ".join(text.split())
    return text if len(text) <= max_chars else text[:max_chars].rstrip()
