"""Rewrite the URLs of a page, for example to those of an archive: single references, `srcset` lists, and CSS."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum

from url import URL, URLError

_MAX_CHARS = 16_384  # of a reference: longer than any URL that is fetched

_BARE = r"((?:[^\"'()\\\s]|\\[0-9a-fA-F]{1,6}\s?|\\.)*)"
_STRING = r'"((?:[^"\\]|\\.)*)"' + r"|'((?:[^'\\]|\\.)*)'"
_IN_CSS = re.compile(
    rf"@namespace\b[^;]{{0,500}};|url\(\s*(?:{_STRING}|{_BARE})\s*\)|@import\s+(?:{_STRING})"
    r"|image-set\((?:[^()]|\([^()]{0,500}\)){0,500}\)",  # bounded against catastrophic backtracking
    re.IGNORECASE | re.DOTALL,
)
_IN_IMAGE_SET = re.compile(rf"url\(\s*(?:{_STRING}|{_BARE})\s*\)|{_STRING}", re.IGNORECASE | re.DOTALL)
_TYPE = re.compile(r"type\(\s*$", re.IGNORECASE)
_ESCAPED = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(\n)|(.))", re.DOTALL)
_DESCRIPTORS = re.compile(r"[^,(]*(?:\([^)]*\)?[^,(]*)*")
_SPACE = "\t\n\f\r "


class Use(Enum):
    """The use of a URL on a page: the target of a link, an asset, or a page in a frame."""

    PAGE = "page"
    ASSET = "asset"
    FRAME = "frame"


class UrlRewriter:
    """Rewrites the references of a page. `target_of` maps absolute http(s) URLs without fragments to new URLs."""

    def __init__(self, base: str, target_of: Callable[[str, Use], str]) -> None:
        self._target_of = target_of
        self._base = URL.parse(base)

    def set_base(self, reference: str) -> None:
        """Apply the reference of a `base` element."""
        found = self._absolute(reference)
        if found is not None and found.scheme in ("http", "https"):
            self._base = found

    def rewrite(self, reference: str, use: Use) -> str | None:
        """Return the new URL of a reference; None if it must be removed: a script, a file, or an invalid URL."""
        text = reference.strip("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0b\x0e\x0f" + _SPACE)
        if (text.startswith("#") and use is not Use.FRAME) or (not text and use is Use.PAGE):
            return text  # within the page
        found = self._absolute(text) if text else None
        if found is None:
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
        at = 0
        while True:
            while at < len(srcset) and srcset[at] in _SPACE + ",":
                at += 1
            if at == len(srcset):
                return ", ".join(rewritten)
            end = at
            while end < len(srcset) and srcset[end] not in _SPACE:
                end += 1
            reference, at = srcset[at:end], end
            descriptors = ""
            if reference.endswith(","):
                reference = reference.rstrip(",")
            else:
                found = _DESCRIPTORS.match(srcset, at)
                descriptors, at = (found[0].strip(), found.end()) if found else ("", len(srcset))
            url = self.rewrite(reference, Use.ASSET)
            if url is not None:
                url = url.removesuffix(",") + "%2C" if url.endswith(",") else url
                rewritten.append(f"{url} {descriptors}" if descriptors else url)

    def rewrite_css(self, css: str) -> str:
        """Rewrite the URLs of CSS: `url()`, `@import`, and the images of `image-set()`."""
        return _IN_CSS.sub(self._rewrite_css_match, css)

    def _rewrite_css_match(self, found: re.Match[str]) -> str:
        word = found[0][:7].lower()
        if word.startswith("@n"):
            return found[0]
        if word.startswith("image-s"):
            return _IN_IMAGE_SET.sub(lambda inner: self._rewrite_in_set(found[0], inner), found[0])
        reference = next((group for group in found.groups() if group is not None), "")
        url = self._rewrite_asset(reference)
        return f'@import "{url}"' if word.startswith("@i") else f'url("{url}")'

    def _rewrite_in_set(self, whole: str, found: re.Match[str]) -> str:
        if _TYPE.search(whole, 0, found.start()):
            return found[0]
        reference = next((group for group in found.groups() if group is not None), "")
        return f'url("{self._rewrite_asset(reference)}")'

    def _rewrite_asset(self, reference: str) -> str:
        """Return the new URL escaped for a CSS string; "" if it must be removed."""
        url = self.rewrite(_ESCAPED.sub(_unescaped, reference), Use.ASSET) or ""
        return re.sub(r'["\\\n\r\f]', lambda sign: f"\\{ord(sign[0]):x} ", url)

    def _absolute(self, reference: str) -> URL | None:
        if len(reference) > _MAX_CHARS and reference[:5].lower() != "data:":
            return None
        try:
            return self._base.join(reference)
        except (URLError, UnicodeError, ValueError):
            return None


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        number = int(found[1], 16)
        return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
    return found[3] or ""
