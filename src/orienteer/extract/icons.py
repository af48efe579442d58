"""Find the icons of a page, as URLs; the best one for a small size first."""

from __future__ import annotations

from turbohtml import Tokenizer

from orienteer.extract.charset import decoded
from orienteer.url import canonical_url

_MAX_BYTES = 256 << 10  # icons are named in the head
_MAX_ICONS = 20
_RELATIONS = {"icon": 0, "apple-touch-icon": 1, "apple-touch-icon-precomposed": 1}


def icon_urls(content: bytes, url: str, charset: str | None = None) -> list[str]:
    """Return the canonical URLs of the icons, and of /favicon.ico, which browsers request by default.

    >>> icon_urls(b'<link rel="shortcut icon" href="a.png">', "http://x.test/b/")
    ['http://x.test/b/a.png', 'http://x.test/favicon.ico']
    """
    reader = _IconLinks()
    tokenizer = Tokenizer()
    tokenizer.feed(decoded(content[:_MAX_BYTES], charset))
    tokenizer.close()
    tokenizer.dispatch(reader)
    base = (canonical_url(reader.base, url) if reader.base else None) or url
    named = [reference for _, reference in sorted(reader.icons, key=lambda icon: icon[0])]
    found = [canonical_url(reference.strip(), base) for reference in named]
    return list(dict.fromkeys(icon for icon in (*found, canonical_url("/favicon.ico", url)) if icon is not None))


class _IconLinks:
    """The handler of the tokenizer."""

    handle_comment = handle_decl = handle_pi = handle_data = handle_endtag = bool

    def __init__(self) -> None:
        self.base = ""
        self.icons: list[tuple[int, str]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in ("link", "base"):
            return
        values = {name: value or "" for name, value in reversed(attributes)}  # of repeated attributes the first counts
        if tag == "base":
            self.base = self.base or values.get("href", "")
            return
        kinds = [_RELATIONS[word] for word in values.get("rel", "").lower().split() if word in _RELATIONS]
        if kinds and values.get("href") and len(self.icons) < _MAX_ICONS:
            self.icons.append((min(kinds), values["href"]))

    handle_startendtag = handle_starttag
