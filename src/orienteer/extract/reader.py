"""Read a page from its tokens, without building a tree.

A tree takes up to thousands of times the memory of the page if formatting elements are left open (the standard reopens
them in every paragraph), and quadratic time if `<html>` is repeated. `markup` applies the rules of the tree
before, in linear time, and leaves only content that is on the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from orienteer.extract import parser
from orienteer.extract.language import primary_language
from orienteer.extract.markup import DRAWN_LINK, NOSCRIPT, FilteredPage, MarkupFilter
from orienteer.extract.page_fields import FoundFields
from orienteer.extract.refresh import StatedRefresh, stated_refresh
from orienteer.extract.robot_rules import ALL_ROBOTS, OUR_NAME
from orienteer.extract.script_signs import new_signs, reads_noscript
from orienteer.extract.whitespace import BLOCK_MARK, lines

MAX_TITLE_CHARS = 1_000  # also of a heading and of the description
MAX_ANCHOR_CHARS = 200
MAX_REFERENCES = 50_000  # of a page; also of anchors
MAX_HEADINGS = 10_000
MAX_ALTERNATES = 500  # of a page; also of feeds
_MAX_RULES = 1_000

# Elements that begin a new line, or are at least separated from adjacent words.
BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "br", "button", "caption", "center", "dd", "details", "dialog",
    "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "h1", "h2", "h3", "h4",
    "h5", "h6", "header", "hgroup", "hr", "legend", "li", "listing", "main", "menu", "nav", "ol", "optgroup",
    "option", "p", "plaintext", "pre", "search", "section", "select", "summary", "table", "tbody", "td", "textarea",
    "tfoot", "th", "thead", "tr", "ul", "xmp",
))  # fmt: skip

# Those of them that contain lines.
BLOCK_NODES = BLOCKS.difference(("br", "frameset", "hr", "plaintext", "textarea", "xmp"))
LINE_NODES = BLOCK_NODES | {"a"}  # elements recorded for lines

_READ = ("a", "area", "base", "body", "frame", "html", "iframe", "link", "meta", "title")
READ_WITH_TEXT = (*_READ, "h1", "h2", "h3", "img")
_LINKS_ONLY = MarkupFilter(_READ, (), with_text=False)
_WITH_TEXT = MarkupFilter(READ_WITH_TEXT, BLOCKS, with_text=True)
_LINKS_AND_FIELDS, _TEXT_AND_FIELDS = _LINKS_ONLY.with_fields(), _WITH_TEXT.with_fields()

_PERMALINKS = frozenset("¶#§🔗")  # texts of links of headings to themselves, which are dropped
_FOLLOWED_RELATIONS = frozenset(("canonical", "next", "prev"))

_LEADS_NOWHERE = re.compile(r"history|print\(|close\(")  # in `javascript:` links that open no page
_FEED_TYPES = frozenset(("application/rss+xml", "application/atom+xml"))

_Attributes = list[tuple[str, str]]


def read(html: bytes, with_text: bool = True, robot: str = OUR_NAME, with_fields: bool = False) -> PageReader:
    """Read a page in UTF-8, and the rules for a robot of this name; without text, only its links and its head."""
    reader = PageReader(with_text, robot, with_fields)
    if with_fields:
        markup = _TEXT_AND_FIELDS if with_text else _LINKS_AND_FIELDS
    else:
        markup = _WITH_TEXT if with_text else _LINKS_ONLY
    dispatch(markup.apply(html, reader.signs), reader)
    return reader


def dispatch(filtered: FilteredPage, reader: PageReader) -> None:
    """Tokenize a page, and pass the tokens to a reader."""
    reader.begin(filtered)
    parser.dispatch(filtered.page, reader)
    reader.finish()


class PageReader:
    """The handler of the tokenizer. References are stored as written, without their fragments.

    `nofollow_references` are those of links marked nofollow. `unclicked` are links that users cannot click: of `link`
    and `iframe` elements; `noscript_references` are those in a `noscript`. `feeds` are feeds of the page, `alternates`
    its versions in other languages.
    """

    def __init__(self, with_text: bool, robot: str = OUR_NAME, with_fields: bool = False) -> None:
        self.references: dict[str, None] = {}
        self.nofollow_references: dict[str, None] = {}
        self.unclicked: set[str] = set()
        self.noscript_references: set[str] = set()
        self.feeds: dict[str, None] = {}
        self.alternates: dict[str, None] = {}
        self.n_scripted = 0  # links that run a script
        self.signs = new_signs()  # counts for `script_signs`
        self.noscript_text = ""  # the end of the text, if it includes text of `noscript`
        self.anchors: dict[tuple[str, str], None] = {}  # references and their texts
        self.headings: list[str] = []
        self.title = self.text = self.description = self.language = ""
        self.base: str | None = None
        self.canonical: str | None = None
        self.refresh: StatedRefresh | None = None
        self.base_of_refresh: str | None = None  # the base before the refresh: a later one does not count
        self.robots: dict[str, None] = {}  # rules for robots, as stated
        self.n_left_out = 0  # references beyond the limit
        self.fields = FoundFields() if with_fields else None
        self.is_understood = True  # whether all tags were understood; else there may be more or fewer links
        self._with_text = with_text
        self._robot = robot
        self._pieces: list[str] = []  # of the text; the indices below are positions in it
        self._anchor: int | None = None
        self._anchor_reference = self._anchor_image = ""
        self._permalink: int | None = None
        self._heading: int | None = None
        self._title: int | None = None
        self._is_titled = False
        self._script: int | None = None
        self._hidden: tuple[str, int] | None = None
        self._noscript: list[str] = []  # text
        self._noscript_headings: list[str] = []
        self.handle_data = self._pieces.append

    def begin(self, filtered: FilteredPage) -> None:
        """Prepare for the tokens of this page."""
        self.is_understood = filtered.is_understood

    # Ignored tokens: calling a built-in takes half the time of an empty function.
    handle_comment = handle_decl = handle_pi = bool

    def handle_starttag(self, tag: str, attributes: _Attributes) -> None:
        start = STARTS.get(tag)
        if start is not None:
            start(self, dict(attributes))
        elif tag in BLOCKS:
            self._pieces.append(BLOCK_MARK)

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._end_a()
            return
        if tag in _HEADINGS:
            self._end_heading()
        elif tag == "title":
            self._end_title()
        elif tag == "script":
            self._end_script()
        elif self._hidden is not None and tag == self._hidden[0]:
            self._end_hidden()
        if tag in BLOCKS:
            self._pieces.append(BLOCK_MARK)

    def finish(self) -> None:
        """End open elements after the last token, and build the text."""
        self._end_title()
        self._end_script()
        if self._hidden is not None:
            self._end_hidden()
        self._end_a()
        self._end_heading()
        if self._with_text:
            self._make_text()
            if self._noscript:
                self._read_noscript()

    def _make_text(self) -> None:
        self.text = lines("".join(self._pieces))

    def _read_noscript(self) -> None:
        """Append the text of `noscript` if the page has little other text."""
        text = lines("".join(self._noscript))
        if reads_noscript(len(self.text.split()), len(text.split())):
            self.noscript_text = text
            self.text = f"{self.text}\n{text}".strip()
            self.headings += self._noscript_headings[: MAX_HEADINGS - len(self.headings)]

    def _text_from(self, start: int) -> str:
        return "".join(self._pieces[start:]).replace("\0", "")

    def _discard_from(self, start: int) -> None:
        """Discard the pieces of the text from here on."""
        del self._pieces[start:]

    # Hidden text is discarded at the end of its element.

    def _hide(self, element: str) -> None:
        if self._hidden is None:
            self._hidden = element, len(self._pieces)

    def _end_hidden(self) -> None:
        assert self._hidden is not None
        element, start = self._hidden
        if element == NOSCRIPT and self._with_text:
            self._noscript += (*self._pieces[start:], BLOCK_MARK)
        self._discard_from(start)
        self._hidden = None
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
            self._add_reference(reference, self.references)

    def _add_reference(self, reference: str, references: dict[str, None]) -> None:
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
            self._permalink = len(self._pieces)
        reference = reference.partition("#")[0]
        if self._hidden is not None or self.unclicked or self.noscript_references:
            self._note_click(reference)
        if not reference or reference[:11].lower() == "javascript:":
            self.n_scripted += "onclick" in attributes if not reference else _LEADS_NOWHERE.search(reference) is None
        if "rel" in attributes and _is_nofollow(attributes):
            self._add_reference(reference, self.nofollow_references)
            return
        self._add_reference(reference, self.references)
        if reference and self._with_text:  # links within the page are no anchors
            self._anchor, self._anchor_reference, self._anchor_image = len(self._pieces), reference, ""

    def _note_click(self, reference: str) -> None:
        if self._hidden is None:
            self.unclicked.discard(reference)
            self.noscript_references.discard(reference)
        elif self._hidden[0] == NOSCRIPT and reference not in self.references:
            self.noscript_references.add(reference)

    def _start_drawn_link(self, attributes: dict[str, str]) -> None:
        if "href" not in attributes and "xlink:href" in attributes:
            attributes["href"] = attributes["xlink:href"]
        self._start_a(attributes)

    def _end_a(self) -> None:
        if self._permalink is not None:
            if self._text_from(self._permalink).strip(" \n") in _PERMALINKS:
                self._discard_from(self._permalink)
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
        if self.fields is not None:
            self.fields.add_link(attributes)
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
        if self.fields is not None:
            self.fields.add_meta(attributes)
        content = attributes.get("content", "")
        name = attributes.get("name", "").strip().lower()
        if name == ALL_ROBOTS or name == self._robot:
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
        self._hide(NOSCRIPT)  # an alternative to a script, or a notice that scripts are needed

    def _start_body(self, attributes: dict[str, str]) -> None:
        if self._hidden is not None and self._hidden[0] == NOSCRIPT:
            self._end_hidden()  # left open in the head

    def _start_title(self, attributes: dict[str, str]) -> None:
        self._title = len(self._pieces)

    def _end_title(self) -> None:
        if self._title is not None:
            if not self._is_titled:
                self.title = _collapsed(self._text_from(self._title), MAX_TITLE_CHARS)
                self._is_titled = True
            self._discard_from(self._title)
            self._title = None

    def _start_time(self, attributes: dict[str, str]) -> None:
        if self.fields is not None:
            self.fields.add_time(attributes)

    def _start_script(self, attributes: dict[str, str]) -> None:
        self._end_script()
        self._script = len(self._pieces)

    def _end_script(self) -> None:
        if self._script is not None and self.fields is not None:
            self.fields.add_script(self._text_from(self._script))
            self._discard_from(self._script)
            self._script = None

    def _start_heading(self, attributes: dict[str, str]) -> None:
        self._end_heading()
        self._pieces.append(BLOCK_MARK)
        if self._with_text and (self._hidden is None or self._hidden[0] == NOSCRIPT):
            self._heading = len(self._pieces)

    def _end_heading(self) -> None:
        if self._heading is not None:
            heading = _collapsed(self._text_from(self._heading), MAX_TITLE_CHARS)
            headings = self.headings if self._hidden is None else self._noscript_headings
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
    "script": PageReader._start_script,
    "time": PageReader._start_time,
    "title": PageReader._start_title,
    DRAWN_LINK: PageReader._start_drawn_link,
    NOSCRIPT: PageReader._start_noscript,
}


def _is_nofollow(attributes: dict[str, str]) -> bool:
    return "nofollow" in attributes["rel"].lower().split()


def _collapsed(text: str, max_chars: int) -> str:
    """Return a text with collapsed white space, of bounded length."""
    text = " ".join(text.split())
    return text if len(text) <= max_chars else text[:max_chars].rstrip()
