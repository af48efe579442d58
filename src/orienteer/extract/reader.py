"""Reading a page: from its tokens to what it says.

Only tokens are read, no tree is built: a tree costs up to thousands of times the memory of the page where formatting
elements are left open (the standard wants them reopened in every paragraph), and square time where `<html>` is
repeated. What stands where in the tree is settled before (`markup`), in linear time, and leaves only what is on the
page.
"""

from __future__ import annotations

from collections.abc import Callable

from turbohtml import Tokenizer

from orienteer.extract.language import primary_language
from orienteer.extract.markup import DRAWN_LINK, NOSCRIPT, Light, Lightener
from orienteer.extract.refresh import StatedRefresh, stated_refresh
from orienteer.extract.robot_rules import OUR_NAME
from orienteer.extract.whitespace import BLOCK_MARK, lines

MAX_TITLE_CHARS = 1_000  # also of a heading and of the description
MAX_ANCHOR_CHARS = 200
MAX_REFERENCES = 50_000  # that are kept of a page; also of anchors
MAX_HEADINGS = 10_000
_MAX_RULES = 1_000

# Elements that stand on lines of their own, or at least apart from the words beside them.
BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "br", "button", "caption", "center", "dd", "details", "dialog",
    "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "h1", "h2", "h3", "h4",
    "h5", "h6", "header", "hgroup", "hr", "legend", "li", "listing", "main", "menu", "nav", "ol", "optgroup",
    "option", "p", "plaintext", "pre", "search", "section", "select", "summary", "table", "tbody", "td", "textarea",
    "tfoot", "th", "thead", "tr", "ul", "xmp",
))  # fmt: skip

_READ = ("a", "area", "base", "body", "frame", "html", "iframe", "link", "meta", "title")
READ_WITH_TEXT = (*_READ, "h1", "h2", "h3", "img")
_LINKS_ONLY = Lightener(_READ, (), with_text=False)
_WITH_TEXT = Lightener(READ_WITH_TEXT, BLOCKS, with_text=True)

_PERMALINKS = frozenset("¶#§🔗")  # what the links of headings to themselves say, which no reader reads
_FOLLOWED_RELATIONS = frozenset(("canonical", "next", "prev"))

_Attributes = list[tuple[str, str]]


def read(html: bytes, with_text: bool = True) -> PageReader:
    """What a page in UTF-8 says; without text, its links and what its head says."""
    light = (_WITH_TEXT if with_text else _LINKS_ONLY).lightened(html)
    reader = PageReader(with_text)
    dispatch(light, reader)
    return reader


def dispatch(light: Light, reader: PageReader) -> None:
    """Report the tokens of a page."""
    reader.is_understood = light.is_understood
    tokenizer = Tokenizer()
    tokenizer.feed(light.page)
    tokenizer.close()
    tokenizer.dispatch(reader)
    reader.finish()


class PageReader:
    """What the tokenizer reports to. References are kept as written, but without their fragments.

    `nofollow_references` are those of links that ask not to be followed.
    """

    def __init__(self, with_text: bool) -> None:
        self.references: dict[str, None] = {}
        self.nofollow_references: dict[str, None] = {}
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
        self._parts: list[str] = []  # of the text; places in it are where something begins
        self._anchor: int | None = None
        self._anchor_reference = self._anchor_image = ""
        self._permalink: int | None = None
        self._heading: int | None = None
        self._title: int | None = None
        self._is_titled = False
        self._unseen: tuple[str, int] | None = None
        self.handle_data = self._parts.append

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

    def _make_text(self) -> None:
        self.text = lines(self._text_from(0))

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
        start = self._unseen[1]
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
            self._keep(reference.partition("#")[0], self.references)

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
        if "rel" in attributes and _is_nofollow(attributes):
            self._keep(reference, self.nofollow_references)
            return
        self._keep(reference, self.references)
        if reference and self._with_text:  # a link within the page says nothing about another
            self._anchor, self._anchor_reference, self._anchor_image = len(self._parts), reference, ""

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
            return
        if "nofollow" not in relations:
            self._add(attributes.get("href"))
        if "canonical" in relations:
            self.canonical = self.canonical or attributes.get("href")

    def _start_base(self, attributes: dict[str, str]) -> None:
        if self.base is None:
            self.base = attributes.get("href")

    # Everything else

    def _start_meta(self, attributes: dict[str, str]) -> None:
        content = attributes.get("content", "")
        name = attributes.get("name", "").strip().lower()
        if name == "robots" or name == OUR_NAME:
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
        if self._with_text and self._unseen is None:
            self._heading = len(self._parts)

    def _end_heading(self) -> None:
        if self._heading is not None:
            heading = _collapsed(self._text_from(self._heading), MAX_TITLE_CHARS)
            if heading and len(self.headings) < MAX_HEADINGS:
                self.headings.append(heading)
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
