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
from enum import Enum

from url import URL, URLError

from orienteer.extract.assets import (
    MAX_DEPTH,
    SPACES,
    Content,
    PageBase,
    as_html,
    content_of,
    css_urls,
    element_style,
    srcset_candidates,
)
from orienteer.extract.parser import Token, TokenType, tokens
from orienteer.extract.refresh import stated_refresh

_MAX_CHARS = 16_384  # of a reference: longer than any URL that is fetched
_NAME = re.compile(r"[a-z][a-z0-9:_.-]*")
_ATTRIBUTE = re.compile(r"[^\s\"'<>/=\x00-\x1f\x7f-\x9f]+")
_TAG_IN_TEXT = re.compile(r"<(?=[a-zA-Z/!?])")

# The content of noscript stays without its tags: not all browsers display it if a sandbox forbids scripts.
_DROPPED = frozenset(("applet", "base", "fencedframe", "noscript", "portal", "script"))
_DROPPED_TEXT = frozenset(("iframe", "noembed", "noframes", "script"))  # their text is not displayed
_AS_TEXT = {"xmp": "pre", "plaintext": "pre", "listing": "pre"}
_DROPPED_ATTRIBUTES = frozenset(
    ("action", "allow", "archive", "attributionsrc", "browsingtopics", "charset", "classid", "codebase", "crossorigin",
     "csp", "download", "formaction", "formtarget", "http-equiv", "integrity", "is", "manifest", "method", "nonce",
     "ping", "profile", "referrerpolicy", "target")
)  # fmt: skip
_LINKS = frozenset(("stylesheet", "icon", "apple-touch-icon"))


class Use(Enum):
    """The use of a URL on a page: the target of a link, an asset, or a page in a frame."""

    PAGE = "page"
    ASSET = "asset"
    FRAME = "frame"


def static_page(
    html: str, base: str, target_of: Callable[[str, Use], str], scripts_have_run: bool = False, is_xml: bool = False
) -> str:
    """Return a static copy of a page at `base`, with its URLs mapped by `target_of` (see `UrlRewriter`).

    `scripts_have_run`: the page was rendered, so its content for browsers without scripts is dropped.
    """
    return _StaticWriter(UrlRewriter(base, target_of), scripts_have_run).written(as_html(html) if is_xml else html)


class UrlRewriter:
    """Rewrites the references of a page. `target_of` maps absolute http(s) URLs without fragments to new URLs."""

    def __init__(self, url: str, target_of: Callable[[str, Use], str]) -> None:
        self.base = PageBase(url)
        self._target_of = target_of

    def of_inner_page(self) -> UrlRewriter:
        """Return a rewriter for a page in an attribute, which may have a base of its own."""
        return UrlRewriter(self.base.url, self._target_of)

    def rewrite(self, reference: str, use: Use) -> str | None:
        """Return the new URL of a reference; None if it must be removed: a script, a file, or an invalid URL."""
        text = reference.strip(SPACES)
        if (text.startswith("#") and use is not Use.FRAME) or (not text and use is Use.PAGE):
            return text  # within the page
        if not text or (len(text) > _MAX_CHARS and text[:5].lower() != "data:"):
            return None
        try:
            found = URL.parse(self.base.url).join(text)
        except (URLError, UnicodeError, ValueError):
            return None
        if found.scheme in ("http", "https"):
            url, mark, fragment = str(found).partition("#")
            return self._target_of(url, use) + mark + fragment
        if found.scheme == "data" and use is Use.ASSET:
            return str(found)
        return "about:blank" if str(found) == "about:blank" and use is Use.FRAME else None

    def rewrite_srcset(self, srcset: str) -> str:
        """Rewrite the URLs of a `srcset`, with their descriptors."""
        rewritten: list[str] = []
        for reference, descriptors in srcset_candidates(srcset):
            url = self.rewrite(reference, Use.ASSET)
            if url is not None:
                url = url.removesuffix(",") + "%2C" if url.endswith(",") else url
                rewritten.append(f"{url} {descriptors}" if descriptors else url)
        return ", ".join(rewritten)

    def rewrite_css(self, css: str) -> str:
        """Rewrite the URLs of a style sheet; those that must be removed become ""."""
        rewritten: list[str] = []
        at = 0
        for found in css_urls(css):
            url = self.rewrite(found.reference, Use.ASSET) or ""
            url = re.sub(r'["\\\n\r\f]', lambda sign: f"\\{ord(sign[0]):x} ", url)
            rewritten += (css[at : found.start], f'"{url}"' if found.is_string else f'url("{url}")')
            at = found.end
        return "".join((*rewritten, css[at:]))


class _StaticWriter:
    """Writes a page, or a page inside of it."""

    def __init__(self, rewriter: UrlRewriter, scripts_have_run: bool, depth: int = 0) -> None:
        self._rewriter = rewriter
        self._scripts_have_run = scripts_have_run
        self._depth = depth

    def written(self, html: str) -> str:
        written: list[str] = []
        raw = ""  # the open element with raw text
        for token in tokens(html):
            if token.type is TokenType.TEXT:
                written.append(self._text(token.data or "", raw))
                continue
            raw = ""
            if token.type is TokenType.START_TAG:
                raw = token.tag or ""
                written.append(self._start(raw, dict(token.attrs or ()), token.self_closing))
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
            return _TAG_IN_TEXT.sub(r"\\3c ", self._rewriter.rewrite_css(element_style(text)))
        if raw == "noscript":
            return "" if self._scripts_have_run else self._inside(text, self._rewriter)
        return _escaped(text)

    def _inside(self, html: str, rewriter: UrlRewriter) -> str:
        if self._depth == MAX_DEPTH:
            return ""
        return _StaticWriter(rewriter, self._scripts_have_run, self._depth + 1).written(html)

    def _start(self, tag: str, attributes: dict[str, str], is_empty: bool) -> str:
        if tag == "base":
            self._rewriter.base.apply(attributes)
        if tag in _DROPPED or not _NAME.fullmatch(tag):
            return ""
        if tag == "meta":
            return self._meta(attributes)
        if tag == "link" and _LINKS.isdisjoint(attributes.get("rel", "").lower().split()):
            return ""
        animates_href = attributes.get("attributename", "").lower().endswith("href")
        written = [_AS_TEXT.get(tag, tag)]
        for name, value in attributes.items():
            if name in _DROPPED_ATTRIBUTES or name.startswith("on") or not _ATTRIBUTE.fullmatch(name):
                continue
            if animates_href and name in ("to", "from", "by", "values"):
                continue
            rewritten = self._value(tag, name, value)
            if rewritten is not None:
                written.append(f'{name}="{_escaped(rewritten)}"')
        return f"<{' '.join(written)}{' /' if is_empty else ''}>"

    def _value(self, tag: str, name: str, value: str) -> str | None:
        """Return the new value of an attribute; None if it must be removed."""
        content = content_of(tag, name)
        if content is Content.URL:
            return self._rewriter.rewrite(value, _use_of(tag, name))
        if content is Content.SRCSET:
            return self._rewriter.rewrite_srcset(value)
        if content is Content.CSS:
            return self._rewriter.rewrite_css(value)
        return value if content is None else self._inside(value, self._rewriter.of_inner_page())

    def _meta(self, attributes: dict[str, str]) -> str:
        """Write a viewport or a refresh; other `meta` elements are dropped."""
        if "http-equiv" not in attributes:
            values = [(name, attributes[name]) for name in ("name", "content") if name in attributes]
            written = " ".join(f'{name}="{_escaped(value)}"' for name, value in values)
            return f"<meta {written}>" if attributes.get("name", "").lower() == "viewport" else ""
        refresh = stated_refresh(attributes.get("content", ""))
        if attributes["http-equiv"].lower() != "refresh" or refresh is None or not refresh.reference:
            return ""
        url = self._rewriter.rewrite(refresh.reference, Use.PAGE)
        return f'<meta http-equiv="refresh" content="{refresh.delay_s};url={_escaped(url)}">' if url else ""


def _use_of(tag: str, name: str) -> Use:
    if tag in ("iframe", "frame") and name in ("src", "data-src"):
        return Use.FRAME
    return Use.PAGE if tag in ("a", "area") or name in ("longdesc", "cite") else Use.ASSET


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
