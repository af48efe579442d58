"""Make a static copy of a page for safe display: URLs are rewritten, and active content is removed.

The page is tokenized as in browsers and serialized from the tokens alone: tags and attributes are written again, and
text is escaped. So a browser finds exactly the tags that were checked here, for any input. The result is a string to be
sent as UTF-8.

Removed are scripts and event handlers, `base` (after its URL is applied), comments, targets of forms, links that only
make the browser connect (preload, prefetch), `meta` elements that replace headers, and targets of windows.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from turbohtml import Token, TokenType, tokenize

from orienteer.extract.refresh import stated_refresh
from orienteer.extract.url_rewriting import UrlRewriter, Use

_NAME = re.compile(r"[a-z][a-z0-9:_.-]*")
_ATTRIBUTE = re.compile(r"[^\s\"'<>/=\x00-\x1f\x7f-\x9f]+")
_TAG_IN_TEXT = re.compile(r"<(?=[a-zA-Z/!?])")
_CSS_DELIMITERS = re.compile(r"<!\[CDATA\[|\]\]>|<!--|-->")
_EMPTY_TAG = re.compile(r"<([a-zA-Z][\w:-]*)([^<>]*)/>")
_MAX_DEPTH = 5  # of pages in attributes of pages

# The content of noscript stays without its tags: not all browsers display it if a sandbox forbids scripts.
_DROPPED = frozenset(("applet", "base", "fencedframe", "noscript", "portal", "script"))
_DROPPED_TEXT = frozenset(("iframe", "noembed", "noframes", "script"))  # their text is not displayed
_AS_TEXT = {"xmp": "pre", "plaintext": "pre", "listing": "pre"}
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param", "source", "track",
     "wbr")
)  # fmt: skip
_URLS = frozenset(("href", "xlink:href", "src", "poster", "background", "lowsrc", "dynsrc", "data", "longdesc", "cite"))
_SETS = frozenset(("srcset", "imagesrcset"))
_STYLES = frozenset(
    ("style", "fill", "stroke", "filter", "mask", "clip-path", "cursor", "marker", "marker-start", "marker-mid",
     "marker-end")
)  # fmt: skip
_DROPPED_ATTRIBUTES = frozenset(
    ("action", "allow", "archive", "attributionsrc", "browsingtopics", "charset", "classid", "codebase", "crossorigin",
     "csp", "download", "formaction", "formtarget", "http-equiv", "integrity", "is", "manifest", "method", "nonce",
     "ping", "profile", "referrerpolicy", "target")
)  # fmt: skip
_LINKS = frozenset(("stylesheet", "icon", "apple-touch-icon"))
_FRAMES = ("iframe", "frame")


def static_page(
    html: str, base: str, target_of: Callable[[str, Use], str], scripts_have_run: bool = False, is_xml: bool = False
) -> str:
    """Return a static copy of a page at `base`, with its URLs mapped by `target_of`.

    `scripts_have_run`: the page was rendered, so its content for browsers without scripts is dropped.
    """
    if is_xml:
        html = _EMPTY_TAG.sub(_in_two, html)
    return _StaticWriter(UrlRewriter(base, target_of), scripts_have_run).written(html)


class _StaticWriter:
    """Writes a page, or a page inside of it."""

    def __init__(self, rewriter: UrlRewriter, scripts_have_run: bool, depth: int = 0) -> None:
        self._rewriter = rewriter
        self._scripts_have_run = scripts_have_run
        self._depth = depth
        self._has_base = False

    def written(self, html: str) -> str:
        written: list[str] = []
        raw = ""  # the open element with raw text
        for token in tokenize(html):
            if token.type is TokenType.TEXT:
                written.append(self._text(token.data or "", raw))
                continue
            raw = ""
            if token.type is TokenType.START_TAG:
                tag = token.tag or ""
                written.append(self._start(tag, token))
                raw = tag
            elif token.type is TokenType.END_TAG:
                tag = _AS_TEXT.get(token.tag or "", token.tag or "")
                if _NAME.fullmatch(tag) and tag not in _DROPPED:
                    written.append(f"</{tag}>")
            elif token.type is TokenType.DOCTYPE:
                written.append(_doctype(token))
        return "".join(written)

    def _text(self, text: str, raw: str) -> str:
        if raw in _DROPPED_TEXT:
            return ""
        if raw == "style":
            return _TAG_IN_TEXT.sub(r"\\3c ", self._rewriter.rewrite_css(_CSS_DELIMITERS.sub("", text)))
        if raw == "noscript":
            inside = not self._scripts_have_run and self._depth < _MAX_DEPTH
            return _StaticWriter(self._rewriter, False, self._depth + 1).written(text) if inside else ""
        return _escaped(text)

    def _start(self, tag: str, token: Token) -> str:
        attributes: dict[str, str] = {}
        for name, value in token.attrs or ():
            attributes.setdefault(name.lower(), value or "")
        if tag == "base" and "href" in attributes and not self._has_base:
            self._has_base = True
            self._rewriter.set_base(attributes["href"])
        if tag in _DROPPED or not _NAME.fullmatch(tag):
            return ""
        if tag == "meta":
            return self._meta(attributes)
        if tag == "link" and not _LINKS & set(attributes.get("rel", "").lower().split()):
            return ""
        written = [f'{name}="{_escaped(value)}"' for name, value in self._attributes(tag, attributes)]
        return f"<{' '.join((_AS_TEXT.get(tag, tag), *written))}{' /' if token.self_closing else ''}>"

    def _attributes(self, tag: str, attributes: dict[str, str]) -> list[tuple[str, str]]:
        result = []
        animates_href = attributes.get("attributename", "").lower().endswith("href")
        for name, value in attributes.items():
            if name in _DROPPED_ATTRIBUTES or name.startswith("on") or not _ATTRIBUTE.fullmatch(name):
                continue
            if name in _URLS and (name != "data" or tag == "object"):
                rewritten = self._rewriter.rewrite(value, _use_of(tag, name))
            elif name in _SETS:
                rewritten = self._rewriter.rewrite_srcset(value)
            elif name in _STYLES:
                rewritten = self._rewriter.rewrite_css(value)
            elif name == "srcdoc":
                rewritten = self._inner(value)
            else:
                rewritten = None if animates_href and name in ("to", "from", "by", "values") else value
            if rewritten is not None:
                result.append((name, rewritten))
        return result

    def _inner(self, html: str) -> str:
        return (
            _StaticWriter(self._rewriter, self._scripts_have_run, self._depth + 1).written(html)
            if self._depth < _MAX_DEPTH
            else ""
        )

    def _meta(self, attributes: dict[str, str]) -> str:
        """Write a viewport or a refresh; other `meta` elements are dropped."""
        if "http-equiv" not in attributes:
            values = [(name, attributes[name]) for name in ("name", "content") if name in attributes]
            written = " ".join(f'{name}="{_escaped(value)}"' for name, value in values)
            return f"<meta {written}>" if "name" in attributes and attributes["name"].lower() == "viewport" else ""
        refresh = stated_refresh(attributes.get("content", ""))
        if attributes["http-equiv"].lower() != "refresh" or refresh is None or not refresh.reference:
            return ""
        url = self._rewriter.rewrite(refresh.reference, Use.PAGE)
        return f'<meta http-equiv="refresh" content="{refresh.delay_s};url={_escaped(url)}">' if url else ""


def _use_of(tag: str, name: str) -> Use:
    if tag in _FRAMES and name == "src":
        return Use.FRAME
    is_link = tag in ("a", "area") or name in ("longdesc", "cite")
    return Use.PAGE if is_link else Use.ASSET


def _escaped(text: str) -> str:
    text = text.replace("\x00", "\ufffd").replace("&", "&amp;")
    return text.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _doctype(token: Token) -> str:
    """Write a doctype: old ones switch browsers to quirks mode."""
    identifiers = [re.sub(r'["<>\x00]', "", text) for text in (token.public_id, token.system_id) if text is not None]
    if not _NAME.fullmatch(token.name or "") or not identifiers:
        return "<!DOCTYPE html>" if token.name == "html" and not token.force_quirks else ""
    word = "PUBLIC" if token.public_id is not None else "SYSTEM"
    return f"<!DOCTYPE {token.name} {word} " + " ".join(f'"{text}"' for text in identifiers) + ">"


def _in_two(found: re.Match[str]) -> str:
    """Split an empty tag of XML in two: in HTML, `<script/>` would extend to the end of the page."""
    return found[0] if found[1].lower() in _VOID else f"<{found[1]}{found[2]}></{found[1]}>"
