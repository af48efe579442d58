"""Which pages are shown in a browser: that takes seventy times as long as to read one, so not all are.

By `auto`, those are shown

- that look as if scripts make them (`extract/script_signs`);
- of every host a few others that have scripts, to see whether they gain links or words by it;
- and all pages like those that did. Pages are alike if their URLs are: of the same host, with other numbers and names
  in the path, and the same parameters.

What was learned follows from the rows of the pages that were shown, in whatever order they come; so a resumed crawl
knows what it knew.
"""

from __future__ import annotations

import fnmatch
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from orienteer.ledger.render_settings import RenderSettings
from orienteer.pages.render_reason import RenderReason
from orienteer.url import host_of

_SAMPLE_OF_TEMPLATE = 1  # pages that are shown to see whether those like them gain
_SAMPLE_OF_HOST = 2  # the same, while no page of the host has gained
_MORE_OF_HOST = 30  # once one has
_GAIN = 1.2  # as many words or links as before, at least
_FEW_LINKS, _FEW_WORDS = 3, 30  # and so many more
_FREE = 50  # pages that may be shown before a share counts
_MAX_NAME = 16  # characters of a part of a path that is not the name of a thing


@dataclass(slots=True)
class _Tally:
    """Pages that were shown, and those that gained; `n_asked` are requested as samples and not back."""

    n_shown: int = 0
    n_gained: int = 0
    n_asked: int = 0


class RenderChoice:
    """Decides for a URL whether its page may be shown; `n_fetched` tells how many pages the crawl has."""

    def __init__(self, settings: RenderSettings, n_fetched: Callable[[], int]) -> None:
        self._settings = settings
        self._n_fetched = n_fetched
        self._templates: defaultdict[str, _Tally] = defaultdict(_Tally)
        self._hosts: defaultdict[str, _Tally] = defaultdict(_Tally)
        self._n_shown = 0
        self._samples: set[str] = set()  # URLs that are requested as samples

    def reason(self, url: str) -> RenderReason:
        """For what reason the page at this URL may be shown."""
        mode = self._settings.mode
        if mode == "never" or self._n_shown >= self._settings.max_pages:
            return RenderReason.NONE
        if "#" in url:
            return RenderReason.ROUTE
        if mode != "auto":
            return RenderReason.ASKED if mode == "always" or fnmatch.fnmatchcase(url, mode) else RenderReason.NONE
        if self._is_enough():
            return RenderReason.SUSPECT
        alike = self._templates[template_of(url)]
        if alike.n_shown and 2 * alike.n_gained >= alike.n_shown:
            return RenderReason.LEARNED
        return RenderReason.SAMPLE if self._takes_sample(url, alike) else RenderReason.SUSPECT

    def came(self, url: str) -> None:
        """The page is back, shown or not."""
        if url in self._samples:
            self._samples.remove(url)
            for tally in (self._templates[template_of(url)], self._hosts[host_of(url)]):
                tally.n_asked -= 1

    def learn(self, url: str, n_words_sent: int, n_words: int, n_links_sent: int, n_links: int) -> None:
        """The page was shown, and this is what that found."""
        self._n_shown += 1
        gained = is_gain(n_words_sent, n_words, n_links_sent, n_links)
        for tally in (self._templates[template_of(url)], self._hosts[host_of(url)]):
            tally.n_shown += 1
            tally.n_gained += gained

    def _takes_sample(self, url: str, alike: _Tally) -> bool:
        host = self._hosts[host_of(url)]
        most = _MORE_OF_HOST if host.n_gained else _SAMPLE_OF_HOST
        if alike.n_shown + alike.n_asked >= _SAMPLE_OF_TEMPLATE or host.n_shown + host.n_asked >= most:
            return False
        self._samples.add(url)
        alike.n_asked += 1
        host.n_asked += 1
        return True

    def _is_enough(self) -> bool:
        return self._n_shown >= max(_FREE, self._settings.max_share * self._n_fetched())


def is_gain(n_words_sent: int, n_words: int, n_links_sent: int, n_links: int) -> bool:
    """Whether showing a page was worth it, by its words and links as it was sent and as it was shown."""
    more_links = n_links >= _GAIN * n_links_sent and n_links - n_links_sent >= _FEW_LINKS
    return more_links or (n_words >= _GAIN * n_words_sent and n_words - n_words_sent >= _FEW_WORDS)


def template_of(url: str) -> str:
    """What URLs of the same kind have in common.

    >>> template_of("https://example.org/items/17/a-blue-chair?page=2&sort=up")
    'example.org/items/9/*?page&sort'
    """
    path, _, query = url.partition("#")[0].partition("?")
    host, *parts = path.partition("://")[2].split("/")
    kinds = ["9" if any(map(str.isdigit, part)) else "*" if _is_name(part) else part for part in parts]
    names = sorted({pair.partition("=")[0] for pair in query.split("&")}) if query else []
    return "/".join((host, *kinds)) + ("?" + "&".join(names) if names else "")


def _is_name(part: str) -> bool:
    return len(part) > _MAX_NAME or "-" in part or "_" in part or "%" in part
