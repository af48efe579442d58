"""A page to be looked at, and nothing more: its URLs led elsewhere, without scripts and all that runs or sends.

The page is taken apart into tokens as browsers do it, and put together again from these alone: tags and attributes are
written anew, and text is escaped. So a browser finds those tags in it that were seen here, and no others, whatever the
page looked like before. It is a string that is to be sent as UTF-8.

What is left out: scripts and handlers of events, `base` (its URL counts), comments, forms' targets, links that only
make the browser connect somewhere, what `meta` says to it in place of headers, and where links want to be opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from turbohtml import Token, TokenType, tokenize

from orienteer.extract.led_urls import Leading, Use
from orienteer.extract.refresh import stated_refresh

_NAME = re.compile(r"[a-z][a-z0-9:_.-]*")
_ATTRIBUTE = re.compile(r"[^\s\"'<>/=\x00-\x1f\x7f-\x9f]+")
_TAG_IN_TEXT = re.compile(r"<(?=[a-zA-Z/!?])")
_AROUND_CSS = re.compile(r"<!\[CDATA\[|\]\]>|<!--|-->")
_EMPTY_TAG = re.compile(r"<([a-zA-Z][\w:-]*)([^<>]*)/>")
_MAX_DEPTH = 5  # of pages in attributes of pages

# Of noscript what stands in it stays: not all browsers show that where a sandbox forbids scripts.
_LEFT_OUT = frozenset(("applet", "base", "fencedframe", "noscript", "portal", "script"))
_TEXT_LEFT_OUT = frozenset(("iframe", "noembed", "noframes", "script"))  # nobody is shown what stands in them
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
_ATTRIBUTES_LEFT_OUT = frozenset(
    ("action", "allow", "archive", "attributionsrc", "browsingtopics", "charset", "classid", "codebase", "crossorigin",
     "csp", "download", "formaction", "formtarget", "http-equiv", "integrity", "is", "manifest", "method", "nonce",
     "ping", "profile", "referrerpolicy", "target")
)  # fmt: skip
_LINKS = frozenset(("stylesheet", "icon", "apple-touch-icon"))
_FRAMES = ("iframe", "frame")


def still_html(
    html: str, base: str, lead: Callable[[str, Use], str], was_run: bool = False, is_xml: bool = False
) -> str:
    """The page, from `base`, with its URLs as `lead` has them.

    `was_run` says that its scripts have run before, so that what stands in it for browsers without them is left out.
    """
    if is_xml:
        html = _EMPTY_TAG.sub(_in_two, html)
    return _Still(Leading(base, lead), was_run).written(html)


class _Still:
    """Writes one page, or one inside it."""

    def __init__(self, leading: Leading, was_run: bool, depth: int = 0) -> None:
        self._leading = leading
        self._was_run = was_run
        self._depth = depth
        self._has_base = False

    def written(self, html: str) -> str:
        written: list[str] = []
        raw = ""  # the element whose text is no markup
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
                if _NAME.fullmatch(tag) and tag not in _LEFT_OUT:
                    written.append(f"</{tag}>")
            elif token.type is TokenType.DOCTYPE:
                written.append(_doctype(token))
        return "".join(written)

    def _text(self, text: str, raw: str) -> str:
        if raw in _TEXT_LEFT_OUT:
            return ""
        if raw == "style":
            return _TAG_IN_TEXT.sub(r"\\3c ", self._leading.led_css(_AROUND_CSS.sub("", text)))
        if raw == "noscript":
            inside = not self._was_run and self._depth < _MAX_DEPTH
            return _Still(self._leading, False, self._depth + 1).written(text) if inside else ""
        return _escaped(text)

    def _start(self, tag: str, token: Token) -> str:
        attributes: dict[str, str] = {}
        for name, value in token.attrs or ():
            attributes.setdefault(name.lower(), value or "")
        if tag == "base" and "href" in attributes and not self._has_base:
            self._has_base = True
            self._leading.set_base(attributes["href"])
        if tag in _LEFT_OUT or not _NAME.fullmatch(tag):
            return ""
        if tag == "meta":
            return self._meta(attributes)
        if tag == "link" and not _LINKS & set(attributes.get("rel", "").lower().split()):
            return ""
        kept = [f'{name}="{_escaped(value)}"' for name, value in self._attributes(tag, attributes)]
        return f"<{' '.join((_AS_TEXT.get(tag, tag), *kept))}{' /' if token.self_closing else ''}>"

    def _attributes(self, tag: str, attributes: dict[str, str]) -> list[tuple[str, str]]:
        kept = []
        moves = attributes.get("attributename", "").lower().endswith("href")  # an animation of where something leads
        for name, value in attributes.items():
            if name in _ATTRIBUTES_LEFT_OUT or name.startswith("on") or not _ATTRIBUTE.fullmatch(name):
                continue
            if name in _URLS and (name != "data" or tag == "object"):
                led = self._leading.led(value, _use_of(tag, name))
            elif name in _SETS:
                led = self._leading.led_srcset(value)
            elif name in _STYLES:
                led = self._leading.led_css(value)
            elif name == "srcdoc":
                led = self._inner(value)
            else:
                led = None if moves and name in ("to", "from", "by", "values") else value
            if led is not None:
                kept.append((name, led))
        return kept

    def _inner(self, html: str) -> str:
        return _Still(self._leading, self._was_run, self._depth + 1).written(html) if self._depth < _MAX_DEPTH else ""

    def _meta(self, attributes: dict[str, str]) -> str:
        """What is said of the page, and where it leads by itself."""
        if "http-equiv" not in attributes:
            kept = [(name, attributes[name]) for name in ("name", "content") if name in attributes]
            said = " ".join(f'{name}="{_escaped(value)}"' for name, value in kept)
            return f"<meta {said}>" if "name" in attributes and attributes["name"].lower() == "viewport" else ""
        refresh = stated_refresh(attributes.get("content", ""))
        if attributes["http-equiv"].lower() != "refresh" or refresh is None or not refresh.reference:
            return ""
        led = self._leading.led(refresh.reference, Use.PAGE)
        return f'<meta http-equiv="refresh" content="{refresh.delay_s};url={_escaped(led)}">' if led else ""


def _use_of(tag: str, name: str) -> Use:
    if tag in _FRAMES and name == "src":
        return Use.FRAME
    is_link = tag in ("a", "area") or name in ("longdesc", "cite")
    return Use.PAGE if is_link else Use.PART


def _escaped(text: str) -> str:
    text = text.replace("\x00", "\ufffd").replace("&", "&amp;")
    return text.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _doctype(token: Token) -> str:
    """Old ones have browsers show a page as old browsers did."""
    identifiers = [re.sub(r'["<>\x00]', "", said) for said in (token.public_id, token.system_id) if said is not None]
    if not _NAME.fullmatch(token.name or "") or not identifiers:
        return "<!DOCTYPE html>" if token.name == "html" and not token.force_quirks else ""
    word = "PUBLIC" if token.public_id is not None else "SYSTEM"
    return f"<!DOCTYPE {token.name} {word} " + " ".join(f'"{said}"' for said in identifiers) + ">"


def _in_two(found: re.Match[str]) -> str:
    """In XML any element may be empty; in HTML a script that looks so goes on to the end of the page."""
    return found[0] if found[1].lower() in _VOID else f"<{found[1]}{found[2]}></{found[1]}>"
