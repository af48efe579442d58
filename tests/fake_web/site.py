"""The sites of a fake web: a response for every host and target.

A *target* is the path and query of the request line, such as `/a/b?c`. `https` and `http` are not distinguished, since
a fake web has no certificates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from orienteer.errors import InputError
from orienteer.url import canonical_url
from tests.fake_web.fake_response import NOT_FOUND, FakeResponse

ANY_HOST = "*"


class RequestHeaders:
    """The headers of a request, parsed only when accessed."""

    __slots__ = ("_head",)

    def __init__(self, head: bytes) -> None:
        self._head = head

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the value of the first header of that name, case-insensitively."""
        name_bytes = name.lower().encode()
        for line in self._head.split(b"\r\n")[1:]:
            key, colon, value = line.partition(b":")
            if colon and key.strip().lower() == name_bytes:
                return value.strip().decode("latin-1")
        return default


class Site(ABC):
    """Returns a response for every host and target. Called in the server's thread, one request at a time."""

    @abstractmethod
    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse: ...


class SiteWithRobots(Site):
    """A site whose hosts may have a robots.txt: text per host, `"*"` for all others; 404 where there is none."""

    def __init__(self, robots: Mapping[str, str | bytes] | None = None) -> None:
        self.robots = dict(robots or {})

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        if target == "/robots.txt" and self.robots:
            text = self.robots.get(host, self.robots.get(ANY_HOST))
            if text is not None:
                return FakeResponse(text, content_type="text/plain")
        return self.page_response(host, target, headers)

    @abstractmethod
    def page_response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        """Return the response to any request except for a given robots.txt."""


Made = FakeResponse | str | bytes | Callable[[str, str, RequestHeaders], FakeResponse]


class MadeSite(SiteWithRobots):
    """A handmade site: a response for each URL, as HTML, FakeResponse, or function (host, target, headers).

    >>> site = MadeSite({"http://a.test/": "<a href=/b>b</a>", "http://a.test/b": FakeResponse(status=500)})
    >>> site.response("a.test", "/b", RequestHeaders(b"")).status
    500
    """

    def __init__(
        self,
        pages: Mapping[str, Made],
        robots: Mapping[str, str | bytes] | None = None,
        default: FakeResponse = NOT_FOUND,
    ) -> None:
        super().__init__(robots)
        self.default = default
        self._pages: dict[tuple[str, str], Made] = {host_and_target(url): made for url, made in pages.items()}

    def page_response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        made = self._pages.get((host, target), self.default)
        if isinstance(made, FakeResponse):
            return made
        return FakeResponse(made) if isinstance(made, (str, bytes)) else made(host, target, headers)


def host_and_target(url: str) -> tuple[str, str]:
    """Return host and target of a URL.

    >>> host_and_target("http://A.test?x#y"), host_and_target("https://a.test:8080/b")
    (('a.test', '/?x'), ('a.test:8080', '/b'))
    """
    canonical = canonical_url(url)
    if canonical is None:
        raise InputError(f"{url[:100]!r} is not a URL that can be fetched")
    _, _, host, path = canonical.split("/", 3)
    return host, "/" + path
