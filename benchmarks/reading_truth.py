"""What is the main text of pages of documentation, by the element in which each generator puts it.

It is found by lxml and by rules for each generator, independently of the reader that is measured. Sphinx marks it
(`role="main"`, or `div.body`), docutils has `div.document`, AsciiDoc and Tomcat `#content`. DocBook's pages are all
main text but for the navigation above and below. Wikipedia has `#bodyContent`, and its title above that.
"""

from __future__ import annotations

from typing import Any

_MARKED = (
    '//*[@role="main"]', '//div[contains(concat(" ", @class, " "), " body ")]', '//div[@id="bodyContent"]',
    '//div[contains(concat(" ", @class, " "), " document ")]', '//*[@id="content"]', '//div[@class="yui-b"]',
)  # fmt: skip
_TITLE = '//h1[@class="firstHeading"]'  # of Wikipedia: outside of what is marked
_REMOVED = (
    '//div[@class="navheader" or @class="navfooter"]', '//ul[@class="docnav" or @class="docnav top"]',
    '//p[@id="title"]', '//div[@class="nosearch"]', '//div[@id="footer"]', "//script", "//style", "//noscript",
    '//div[@id="hd" or @id="ft" or @id="sidebar" or @id="global-nav"]', '//div[@class="nav" or @class="sidemenu"]',
    '//a[@class="headerlink"]', '//div[@role="navigation"]', '//*[@class="linenos"]',
)  # fmt: skip
_BLOCKS = frozenset((
    "p", "div", "li", "td", "th", "tr", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "br", "table", "section",
    "blockquote", "ul", "ol", "dl", "caption", "form", "address", "hr", "article", "aside", "nav", "footer", "header",
))  # fmt: skip


def main_and_rest(html: bytes) -> tuple[str, str] | None:
    """The main text of a page and the rest of its text; None where no rule knows it."""
    tree = _tree(html)
    body = tree.find("body")
    marked = _marked(tree)
    if body is None or marked is None:
        return None
    removed = [element for path in _REMOVED for element in tree.xpath(path)]
    whole = _text(body, [element for element in removed if element.tag in ("script", "style", "noscript")])
    titles = [] if marked is body else tree.xpath(_TITLE)
    return "\n".join(_text(element, removed) for element in (*titles, marked)), whole


def with_main_of(html: bytes, other: bytes) -> bytes | None:
    """A page with the main text of another one in the place of its own; None where no rule knows either."""
    from lxml.html import tostring

    tree, other_tree = _tree(html), _tree(other)
    own, new = _marked(tree), _marked(other_tree)
    if own is None or new is None or "body" in (own.tag, new.tag):
        return None
    new.tail = own.tail
    own.getparent().replace(own, new)
    changed: bytes = tostring(tree, encoding="utf-8")
    return changed


def _tree(html: bytes) -> Any:
    from lxml.html import HTMLParser, document_fromstring

    return document_fromstring(html, parser=HTMLParser(encoding="utf-8"))


def _marked(tree: Any) -> Any:
    """The element that holds the main text; all of a page of DocBook, whose navigation is taken out."""
    if tree.xpath('//div[@class="navheader" or @class="navfooter"]|//ul[@class="docnav"]'):
        return tree.find("body")
    return next((found[0] for path in _MARKED if (found := tree.xpath(path))), None)


def _text(element: Any, without: list[Any]) -> str:
    texts: list[str] = []
    _collect(element, {id(one) for one in without}, texts)
    return "".join(texts)


def _collect(element: Any, without: set[int], texts: list[str]) -> None:
    if id(element) not in without and isinstance(element.tag, str):
        mark = "\n" if element.tag in _BLOCKS else ""
        texts.append(mark + (element.text or ""))
        for child in element:
            _collect(child, without, texts)
        texts.append(mark)
    texts.append(element.tail or "")
