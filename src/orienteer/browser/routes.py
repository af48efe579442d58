"""Find out which fragments are pages of an application and which are anchors on a page, by visiting them.

The pages of a single-page application may differ only by the fragment of their URLs. On a page that listens to changes
of the fragment, two questions are decided by changing it and comparing the content:

    Is a field of a route an anchor?   A route such as `#/guide?id=install` or `#/guide#install` may be an anchor on the
        page `#/guide`. A field (`url.route_fields`) is an anchor if routes with up to MAX_SAMPLES different values of
        it have the same content as the routes without it. Otherwise, and if this cannot be decided, routes that differ
        in it are different pages.
    Are names routes?   A fragment such as `#about` that is the id of no element may be a page. Names are routes if most
        of up to MAX_SAMPLES names have different content than this page, and are not if all have the same content.

The results apply to all links of the page. They are valid only if the page does not change by itself and no request
failed. Anchors are decided only if some other route has different content: otherwise the page may read the fragment
only once, when it is loaded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from orienteer.url import route_fields, without_route_fields

MAX_SAMPLES = 3
_MAX_CONTROL_ROUTES = 3  # routes that are tried for different content
_MAX_FIELDS = 4  # examined on a page
_UNKNOWN_ROUTE = "orienteer-no-such-page"


class RouteContent(NamedTuple):
    """The content of a page: its text, and the targets of its links."""

    text: str
    links: frozenset[str]

    def without_field(self, field: str) -> RouteContent:
        """Remove this field from all links."""
        return RouteContent(self.text, frozenset(without_route_fields(link, (field,)) for link in self.links))


class FragmentUse(NamedTuple):
    """How a page uses fragments: the fields of routes that are anchors, and whether names are routes (None if that
    could not be decided)."""

    anchors: tuple[str, ...] = ()
    named_routes: bool | None = False


class RouteVisitor(Protocol):
    """Visit a URL of the document and return its content; None if that is uncertain. With `is_offline` requests
    fail."""

    async def __call__(self, url: str, is_offline: bool = False) -> RouteContent | None: ...


async def fragment_use(here: str, routes: Sequence[str], names: Sequence[str], visit: RouteVisitor) -> FragmentUse:
    """Determine how the page at `here` uses fragments; `routes` and `names` are its links to other fragments."""
    comparison = _RouteComparison(here, visit)
    return FragmentUse(await comparison.anchors(routes), await comparison.are_routes(names))


def bare_route(route: str) -> str:
    """Remove all fields from a route.

    >>> bare_route("https://example.org/#/guide?id=install&v=2#top")
    'https://example.org/#/guide'
    """
    return without_route_fields(route, route_fields(route))


def routed_links(links: Iterable[str], named_routes: Collection[str], has_hash_routes: bool) -> tuple[str, ...]:
    """Return the links of a page; a fragment is kept only if it is a route of an application.

    These are `named_routes`, and fragments that begin with `/` or `!` if the pages of the application have such ones.
    """

    def as_link(url: str) -> str:
        page, _, fragment = url.partition("#")
        is_route = url in named_routes or (has_hash_routes and fragment.startswith(("/", "!")))
        return url if is_route else page

    return tuple(dict.fromkeys(map(as_link, links)))


class _RouteComparison:
    """Visits URLs and caches their content. A URL is visited from a control route if one is known, because some
    applications do not react if only a field changes."""

    def __init__(self, here: str, visit: RouteVisitor) -> None:
        self._here = self._at = here
        self._visit = visit
        self._control = ""
        self._seen: dict[str, RouteContent | None] = {}

    async def anchors(self, routes: Sequence[str]) -> tuple[str, ...]:
        """Return the fields of these routes that are anchors."""
        by_field: dict[str, dict[str, str]] = {}  # and by value
        for route in routes:
            for field, value in route_fields(route).items():
                by_field.setdefault(field, {}).setdefault(value, route)
        if not by_field or not await self._reacts_to_fragment(routes):
            return ()
        results = []
        for field, samples in list(by_field.items())[:_MAX_FIELDS]:
            if await self._is_anchor(field, _sample(list(samples.values()))):
                results.append(field)
        return tuple(results)

    async def are_routes(self, names: Sequence[str]) -> bool | None:
        """Whether these names are pages, judged by a sample."""
        samples = _sample([name for name in names if name != self._here])
        if not samples:
            return False
        here = await self._stable_content()
        results = [await self._content(name) for name in samples] if here is not None else []
        n_different = sum(content is not None and here is not None and content.text != here.text for content in results)
        if here is None or None in results:
            return None
        return False if n_different == 0 else True if 2 * n_different > len(results) else None

    async def _is_anchor(self, field: str, samples: Sequence[str]) -> bool:
        for route in samples:
            without = await self._content(without_route_fields(route, (field,)))
            content = None if without is None else await self._content(route)
            if without is None or content is None or without.without_field(field) != content.without_field(field):
                return False
        return True

    async def _reacts_to_fragment(self, routes: Sequence[str]) -> bool:
        """Whether the page is stable, has different content at another route, and the same content after returning.
        Without a link to another route, an unknown route is visited with requests disabled."""
        here = await self._stable_content()
        if here is None:
            return False
        others = dict.fromkeys(map(bare_route, routes))
        others.pop(bare_route(self._here), None)
        document, _, fragment = routes[0].partition("#")
        unknown = f"{document}#{fragment[:1]}{_UNKNOWN_ROUTE}"
        for other in (*list(others)[:_MAX_CONTROL_ROUTES], unknown):
            content = await self._visit_url(other, is_offline=other == unknown)
            if content is not None and content.text != here.text:
                self._control = "" if other == unknown else other
                return await self._visit_url(self._here) == here
        return False

    async def _stable_content(self) -> RouteContent | None:
        """Return the content of this page; None if it changes by itself."""
        here = await self._content(self._here)
        return here if here is not None and await self._visit_url(self._here) == here else None

    async def _content(self, url: str) -> RouteContent | None:
        if url not in self._seen:
            if self._control and bare_route(url) == bare_route(self._at):
                await self._visit_url(self._control)
            self._seen[url] = await self._visit_url(url)
        return self._seen[url]

    async def _visit_url(self, url: str, is_offline: bool = False) -> RouteContent | None:
        self._at = url
        return await self._visit(url, is_offline)


def _sample(results: list[str]) -> list[str]:
    """Return up to MAX_SAMPLES items at equal distances, including the first and the last."""
    if len(results) <= MAX_SAMPLES:
        return results
    return [results[k * (len(results) - 1) // (MAX_SAMPLES - 1)] for k in range(MAX_SAMPLES)]
