"""Read a page: one walk over its tree for links and everything in the head, and then its text (`page_text`).

A tree can take thousands of times the memory of its page. Pages that `guard` refuses for this reason are read from
their tokens: they have links, and perhaps not all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice

from orienteer.extract.block_reader import read_blocks
from orienteer.extract.blocks import Block, blocks_of_text
from orienteer.extract.formulas import may_have_formulas, write_formulas, write_raised, write_stated
from orienteer.extract.guard import refusal
from orienteer.extract.language import primary_language
from orienteer.extract.page_fields import FoundFields
from orienteer.extract.page_text import BLOCKS, PageText, collapsed
from orienteer.extract.parser import Document, Namespace, Tag, TokenType, TreeElement, parsed, tokens
from orienteer.extract.refresh import StatedRefresh, stated_refresh
from orienteer.extract.robot_rules import ALL_ROBOTS, OUR_NAME
from orienteer.extract.script_signs import ScriptKind, ScriptSigns, count_words, kind_of_script, reads_noscript

MAX_TITLE_CHARS = 1_000  # also of a heading and of the description
MAX_ANCHOR_CHARS = 200
MAX_REFERENCES = 50_000  # of a page; also of anchors
MAX_HEADINGS = 10_000
MAX_ALTERNATES = 500  # of a page; also of feeds
_MAX_RULES = 1_000

_FOLLOWED_RELATIONS = frozenset(("canonical", "next", "prev"))
_LEADS_NOWHERE = re.compile(r"history|print\(|close\(")  # in `javascript:` links that open no page
_FEED_TYPES = frozenset(("application/rss+xml", "application/atom+xml"))

_HIDDEN = ("noembed", "noframes", "style", "template")  # elements whose text is not on the page
_HIDDEN_DRAWN = ("desc", "metadata", "script", "style", "title")  # the same of SVG
_INLINE = "span,b,code,em"  # most inline elements of most pages
_PERMALINKS = frozenset(("", *"¶#§🔗"))  # texts of links within the page that are dropped, which headings have
_BLANK = " \n\u200b\u200c\u200d\u2060\ufeff"
_AS_WRITTEN = ("plaintext", "xmp")  # elements whose text the library does not escape
_IN_NOSCRIPT = ("a", "area", "noscript")
_NOT_IN_SHADOW = ("base", "link", "meta", "title")
_SHADOW_HOSTS = frozenset((
    "article", "aside", "blockquote", "body", "div", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "main",
    "nav", "p", "section", "span",
))  # fmt: skip


def read(
    html: bytes,
    decoded: str | None = None,
    with_text: bool = True,
    robot: str = OUR_NAME,
    with_fields: bool = False,
    with_blocks: bool = False,
    with_nodes: bool = False,
) -> PageReader:
    """Read a page in UTF-8, and the rules for a robot of this name; without text, only its links and its head.

    `decoded` is the page as text, if the caller has it. With nodes, the text has the elements of its lines.
    """
    reader = PageReader(robot, with_fields)
    if refusal(html) is not None:
        reader.read_tokens(html.decode() if decoded is None else decoded, with_text)
        reader.blocks = blocks_of_text(reader.text) if with_blocks else []
        return reader
    reader.may_have_formulas = may_have_formulas(html)
    reader.read_tree(parsed(html if decoded is None else decoded))
    if with_text:
        reader.read_text(with_nodes, with_inline=with_blocks)
        if with_blocks:
            reader.read_blocks()
    return reader


# A tag with its reference, the number of an `a` or one of the two below, and its `rel`.
_Link = tuple[Tag, str, int, str | None]
_AREA, _UNCLICKED = -1, -2


class PageReader:
    """Reads a page. References are stored as written, without their fragments.

    `nofollow_references` are those of links marked nofollow. `unclicked` are links that users cannot click: of `link`
    and `iframe` elements; `noscript_references` are those in a `noscript`. `feeds` are feeds of the page, `alternates`
    its versions in other languages.
    """

    def __init__(self, robot: str = OUR_NAME, with_fields: bool = False) -> None:
        self.references: dict[str, None] = {}
        self.nofollow_references: dict[str, None] = {}
        self.unclicked: set[str] = set()
        self.noscript_references: set[str] = set()
        self.feeds: dict[str, None] = {}
        self.alternates: dict[str, None] = {}
        self.signs = ScriptSigns()
        self.text = self.title = self.description = self.language = ""
        self.noscript_text = ""  # the end of the text, if it includes text of `noscript`
        self.lines: PageText | None = None  # the text without that of `noscript`
        self.anchors: list[tuple[str, str]] = []  # references and their texts
        self.headings: list[str] = []
        self.blocks: list[Block] = []
        self.base: str | None = None
        self.canonical: str | None = None
        self.refresh: StatedRefresh | None = None
        self.base_of_refresh: str | None = None  # the base before the refresh: a later one does not count
        self.robots: dict[str, None] = {}  # rules for robots, as stated
        self.n_left_out = 0  # references beyond the limit
        self.fields = FoundFields() if with_fields else None
        self.is_understood = True  # whether the tree was read; else there may be more or fewer links
        self._robot = robot
        self._is_titled = False
        self._body: TreeElement | None = None
        self._hidden: list[TreeElement] = []  # in the body; to be removed
        self._skipped: set[TreeElement] = set()  # elements in templates
        self._shadows: dict[TreeElement, TreeElement] = {}  # templates of shadow trees by their hosts
        self._noscripts: list[TreeElement] = []
        self._in_noscript: set[TreeElement] = set()
        self.may_have_formulas = False
        self._maths: list[TreeElement] = []
        self._tex_scripts: list[TreeElement] = []
        self._raised: list[TreeElement] = []  # superscripts and subscripts
        self._is_mixed = False  # whether there are drawings or formulas
        self._links: list[_Link] = []
        self._within: list[TreeElement] = []  # links within the page
        self._nofollow: set[Tag] = set()
        self._n_links = [0, 0]  # `a` elements on the page, and in `noscript`

    # The tree

    def read_tree(self, tree: Document) -> None:
        """Read the links and the head from a tree."""
        names = _NAMES if self.fields is None else _NAMES_WITH_TIME
        skipped, links, within, n_links = self._skipped, self._links, self._within, self._n_links
        for element in tree.iter_elements(names):
            if skipped and element in skipped:
                continue
            tag = element.tag
            if tag == "a" and not self._noscripts:
                reference = element.attr("href")
                if self._is_mixed and element.namespace is not Namespace.HTML:
                    reference = _drawn_reference(element)
                if reference is not None:
                    if reference[:1] == "#":
                        within.append(element)
                    links.append((element, reference.partition("#")[0], n_links[0], element.attr("rel")))
                n_links[0] += 1
            elif self._is_mixed and element.namespace is not Namespace.HTML:
                self._read_drawn(element)
            else:
                _READERS[tag](self, element)
        self._add_links()

    def _read_drawn(self, element: TreeElement) -> None:
        if element.tag == "a":
            self._read_link(element)
        elif element.tag == "math":
            self._maths.append(element)
        elif element.tag in _HIDDEN_DRAWN and element.namespace is Namespace.SVG:
            self._hidden.append(element)

    def _read_link(self, element: TreeElement) -> None:
        """Read a link where some are in `noscript`."""
        is_hidden = element in self._in_noscript
        reference = element.attr("href") if element.namespace is Namespace.HTML else _drawn_reference(element)
        if reference is not None:
            if reference[:1] == "#":
                self._within.append(element)
            number = self._n_links[is_hidden]
            self._links.append((element, reference.partition("#")[0], number, element.attr("rel")))
        self._n_links[is_hidden] += 1

    def _read_area(self, element: TreeElement) -> None:
        reference = element.attr("href")
        if reference is not None:
            self._links.append((element, reference.partition("#")[0], _AREA, element.attr("rel")))

    def _hide(self, element: TreeElement) -> None:
        if self._body is not None:
            self._hidden.append(element)

    def _read_iframe(self, element: TreeElement) -> None:
        self._hide(element)
        self._read_frame(element)

    def _read_frame(self, tag: Tag) -> None:
        self._note_unclicked(tag, tag.attr("src"))

    def _read_body(self, element: TreeElement) -> None:
        self._body = self._body or element

    def _read_template(self, element: TreeElement) -> None:
        host = element.parent
        may_be_shadow = (element.attr("shadowrootmode") or "").lower() in ("open", "closed")
        if may_be_shadow and isinstance(host, TreeElement) and host not in self._shadows and _may_host_shadow(host):
            self._shadows[host] = element
            self._skipped.update(element.iter_elements(_NOT_IN_SHADOW))
        else:
            self._skipped.update(element.iter_elements(_NAMES_WITH_TIME))
            self._hide(element)

    def _read_noscript(self, element: TreeElement) -> None:
        if self._body is not None and element not in self._in_noscript:
            self._noscripts.append(element)
            self._in_noscript.update(element.iter_elements(_IN_NOSCRIPT))

    def _read_drawing(self, element: TreeElement) -> None:
        self._is_mixed = True

    def _read_math(self, element: TreeElement) -> None:
        self._is_mixed = True
        self._maths.append(element)

    def _read_raised(self, element: TreeElement) -> None:
        if self._body is not None:
            self._raised.append(element)

    def _read_as_written(self, element: TreeElement) -> None:
        element.tag = "div"

    def _read_script(self, element: TreeElement) -> None:
        kind = kind_of_script(element)
        if kind is ScriptKind.TEX and self._body is not None:
            self._tex_scripts.append(element)
            return
        self._hide(element)
        if kind is ScriptKind.CODE:
            self.signs.add_code(element, lambda: element.text)
        elif kind is ScriptKind.LINKED_DATA and self.fields is not None:
            self.fields.add_script(element.text)

    def _read_title(self, element: TreeElement) -> None:
        self._hide(element)
        self._add_title(element.text)

    # Links

    def _note_unclicked(self, tag: Tag, reference: str | None) -> None:
        if reference is not None:
            self._links.append((tag, reference.partition("#")[0], _UNCLICKED, None))

    def _add_links(self) -> None:
        """Add the links that were found, in document order."""
        links, hidden, references = self._links, self._in_noscript, self.references
        unclicked = {reference for _, reference, number, _ in links if number == _UNCLICKED}
        if hidden:
            self.noscript_references = {link[1] for link in links if link[0] in hidden}
        if unclicked or hidden:
            clicked = {link[1] for link in links if link[2] != _UNCLICKED and not (hidden and link[0] in hidden)}
            self.unclicked |= unclicked - clicked
            self.noscript_references -= clicked
        for tag, reference, _, relations in links:
            if relations is not None and "nofollow" in relations.lower().split():
                self._nofollow.add(tag)
                self._add_reference(reference, self.nofollow_references)
            elif len(references) < MAX_REFERENCES:
                references[reference] = None
            else:
                self._add_reference(reference, references)

    @property
    def n_scripted(self) -> int:
        """The number of links that run a script."""
        return sum(
            tag.attr("onclick") is not None
            if not reference
            else reference[:11].lower() == "javascript:" and _LEADS_NOWHERE.search(reference) is None
            for tag, reference, number, _ in self._links
            if number != _UNCLICKED
        )

    def _add_reference(self, reference: str, references: dict[str, None]) -> None:
        if len(references) < MAX_REFERENCES or reference in references:
            references[reference] = None
        else:
            self.n_left_out += 1

    def _read_relation(self, tag: Tag) -> None:
        if self.fields is not None:
            self.fields.add_link(tag)
        relations = (tag.attr("rel") or "").lower().split()
        if _FOLLOWED_RELATIONS.isdisjoint(relations):
            if "alternate" in relations:
                self._note_alternate(tag)
            return
        reference = tag.attr("href")
        if "nofollow" not in relations:
            self._note_unclicked(tag, reference)
        if "canonical" in relations:
            self.canonical = self.canonical or reference

    def _note_alternate(self, tag: Tag) -> None:
        reference = (tag.attr("href") or "").partition("#")[0]
        if (tag.attr("type") or "").partition(";")[0].strip().lower() in _FEED_TYPES:
            found = self.feeds
        elif tag.attr("hreflang") is not None:
            found = self.alternates
        else:
            return
        if reference and len(found) < MAX_ALTERNATES:
            found[reference] = None

    def _read_base(self, tag: Tag) -> None:
        if self.base is None:
            self.base = tag.attr("href")

    # Everything else in the head

    def _read_meta(self, tag: Tag) -> None:
        if self.fields is not None:
            self.fields.add_meta(tag)
        content = tag.attr("content") or ""
        name = (tag.attr("name") or "").strip().lower()
        if name == ALL_ROBOTS or name == self._robot:
            if len(self.robots) < _MAX_RULES:
                self.robots[content] = None
        elif name == "description":
            self.description = self.description or collapsed(content, MAX_TITLE_CHARS)
        elif (header := tag.attr("http-equiv")) is not None:
            header = header.strip().lower()
            if header == "refresh" and self.refresh is None:
                self.refresh, self.base_of_refresh = stated_refresh(content), self.base
            elif header == "content-language":
                self.language = self.language or primary_language(content)

    def _read_html(self, tag: Tag) -> None:
        self.language = self.language or primary_language(tag.attr("lang") or tag.attr("xml:lang") or "")

    def _add_title(self, title: str) -> None:
        if not self._is_titled:
            self.title, self._is_titled = collapsed(title, MAX_TITLE_CHARS), True

    def _read_time(self, tag: Tag) -> None:
        if self.fields is not None:
            self.fields.add_time(tag)

    # The text

    @cached_property
    def visible(self) -> tuple[TreeElement | None, list[TreeElement]]:
        """The body without what is hidden and without permalinks, and its `noscript` elements."""
        write_formulas(self._maths, self._tex_scripts)
        if self.may_have_formulas and self._body is not None:
            write_stated(self._body)
        write_raised(self._raised)
        for element in self._hidden:
            element.decompose()
        for element in self._within:
            if element.text.strip(_BLANK) in _PERMALINKS and next(element.iter_elements("img"), None) is None:
                element.clear()
        for template in self._shadows.values():
            template.insert_before(*(node for content in template.children for node in content.children))
            template.decompose()
        return self._body, [element.extract() for element in self._noscripts]

    @cached_property
    def n_words(self) -> tuple[int, int]:
        """Numbers of words of the page, and in `noscript`, up to a limit."""
        body, noscripts = self.visible
        return count_words(_texts(*(() if body is None else (body,)))), count_words(_texts(*noscripts))

    def read_text(self, with_nodes: bool, with_inline: bool) -> None:
        """Read the text with its headings and anchors. Inline elements are removed, unless they are needed later."""
        body, noscripts = self.visible
        if body is not None and not with_inline:
            body.strip_tags(_INLINE)
        self.lines = PageText(b"" if body is None else body.encode(), with_nodes)
        self.text = self.lines.text
        found = [self.lines]
        if noscripts and reads_noscript(*self.n_words):
            found.append(PageText(b"".join(element.encode() for element in noscripts)))
            self.noscript_text = found[1].text
            self.text = f"{self.text}\n{self.noscript_text}".strip()
        headings = (heading for each in found for heading in each.headings(MAX_TITLE_CHARS) if heading)
        self.headings = list(islice(headings, MAX_HEADINGS))
        self._read_anchors([each.links(MAX_ANCHOR_CHARS) for each in found])

    def _read_anchors(self, texts: list[list[str]]) -> None:
        """Read the anchors; `texts` are those of the `a` elements of the page, and of `noscript` if it is read."""
        of_page, of_noscript = texts[0], texts[1] if len(texts) == 2 else []
        is_known = len(of_page) == self._n_links[0]  # a link in the title of a drawing has no text
        hidden, nofollow, anchors = self._in_noscript, self._nofollow, self.anchors
        for tag, reference, number, relations in self._links[:MAX_REFERENCES]:
            if not reference or number == _UNCLICKED or (relations and tag in nofollow):
                continue
            of_links = of_noscript if hidden and tag in hidden else of_page
            text = of_links[number] if is_known and 0 <= number < len(of_links) else ""
            if text := text or _text_of_link(tag, with_text=not is_known and number != _AREA):
                anchors.append((reference, text))

    def read_blocks(self) -> None:
        """Read the text as blocks."""
        body, _ = self.visible
        self.blocks = [] if body is None else read_blocks(body)
        self.blocks += blocks_of_text(self.noscript_text)

    # Tokens

    def read_tokens(self, html: str, with_text: bool) -> None:
        """Read a page without its tree."""
        self.is_understood = False
        pieces: list[str] = []
        raw = ""  # the open element with raw text
        for token in tokens(html):
            if token.type is TokenType.TEXT:
                text = token.data or ""
                if raw == "title":
                    self._add_title(text)
                elif raw == "script":
                    self.signs.n_chars += len(text)
                elif not raw and with_text:
                    pieces.append(text)
                continue
            if token.type is TokenType.START_TAG:
                tag = token.tag or ""
                raw = tag if tag in _RAW else ""
                if tag in ("a", "area"):
                    if (reference := token.attr("href")) is not None:
                        self._links.append((token, reference.partition("#")[0], 0, token.attr("rel")))
                elif tag in ("frame", "iframe"):
                    self._read_frame(token)
                elif tag in _TAG_READERS:
                    _TAG_READERS[tag](self, token)
            if token.tag in BLOCKS:
                pieces.append("\n")
                if len(self._links) > 2 * MAX_REFERENCES:
                    self._add_links()
                    self._links.clear()
        self._add_links()
        self.text = "\n".join(_lines("".join(pieces)))


def _texts(*elements: TreeElement) -> Iterator[str]:
    return (text for element in elements for text in element.strings)


def _lines(text: str) -> Iterator[str]:
    return (words for line in text.split("\n") if (words := " ".join(line.replace("\0", "").split())))


def _may_host_shadow(host: TreeElement) -> bool:
    """Whether an element may have a shadow tree: one of a few, or one of a name that authors make up."""
    return host.namespace is Namespace.HTML and (host.tag in _SHADOW_HOSTS or "-" in host.tag)


def _drawn_reference(element: TreeElement) -> str | None:
    """Return the target of a link of SVG; MathML has none."""
    if element.namespace is not Namespace.SVG:
        return None
    reference = element.attr("href")
    return element.attr("xlink:href") if reference is None else reference


def _text_of_link(tag: Tag, with_text: bool) -> str:
    """Return the text of a link, its own alternative text, or that of the first image in it that has one."""
    assert isinstance(tag, TreeElement)
    text = collapsed(tag.text if with_text else tag.attr("alt") or "", MAX_ANCHOR_CHARS)
    images = tag.iter_elements("img")
    return text or next(
        (text for image in images if (text := collapsed(image.attr("alt") or "", MAX_ANCHOR_CHARS))), ""
    )


_RAW = frozenset(("iframe", "noembed", "noframes", "noscript", "script", "style", "title"))
_TAG_READERS: dict[str, Callable[[PageReader, Tag], None]] = {
    "base": PageReader._read_base,
    "html": PageReader._read_html,
    "link": PageReader._read_relation,
    "meta": PageReader._read_meta,
}
_READERS: dict[str, Callable[[PageReader, TreeElement], None]] = {
    **_TAG_READERS,
    **dict.fromkeys(_HIDDEN, PageReader._hide),
    **dict.fromkeys(_AS_WRITTEN, PageReader._read_as_written),
    "a": PageReader._read_link,
    "area": PageReader._read_area,
    "body": PageReader._read_body,
    "frame": PageReader._read_frame,
    "iframe": PageReader._read_iframe,
    "math": PageReader._read_math,
    "noscript": PageReader._read_noscript,
    "script": PageReader._read_script,
    "sub": PageReader._read_raised,
    "sup": PageReader._read_raised,
    "svg": PageReader._read_drawing,
    "template": PageReader._read_template,
    "title": PageReader._read_title,
    "desc": lambda reader, element: None,  # of HTML, they are unknown
    "metadata": lambda reader, element: None,
    "time": PageReader._read_time,
}
_NAMES_WITH_TIME = tuple(_READERS)
_NAMES = tuple(name for name in _READERS if name != "time")
