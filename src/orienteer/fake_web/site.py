"""What a fake web serves: something that answers for every host and target.

A *target* is what stands in the request line: path and query, such as `/a/b?c`. `https` and `http` are the same here;
a fake web has no certificates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from orienteer.errors import InputError
from orienteer.fake_web.answers import NOT_FOUND, Answer
from orienteer.url import canonical_url

ANY_HOST = "*"


class RequestHeaders:
    """The headers of a request; looked for only when somebody asks."""

    __slots__ = ("_head",)

    def __init__(self, head: bytes) -> None:
        self._head = head

    def get(self, name: str, default: str | None = None) -> str | None:
        """The value of the first header of that name, in whatever case."""
        wanted = name.lower().encode()
        for line in self._head.split(b"\r\n")[1:]:
            key, colon, value = line.partition(b":")
            if colon and key.strip().lower() == wanted:
                return value.strip().decode("latin-1")
        return default


class Site(ABC):
    """Answers for every host and target. Called in the server's thread, one request at a time."""

    @abstractmethod
    def answer(self, host: str, target: str, headers: RequestHeaders) -> Answer: ...


class SiteWithRobots(Site):
    """A site whose hosts may have a robots.txt: text per host, `"*"` for all others; 404 where there is none."""

    def __init__(self, robots: Mapping[str, str | bytes] | None = None) -> None:
        self.robots = dict(robots or {})

    def answer(self, host: str, target: str, headers: RequestHeaders) -> Answer:
        if target == "/robots.txt" and self.robots:
            text = self.robots.get(host, self.robots.get(ANY_HOST))
            if text is not None:
                return Answer(text, content_type="text/plain")
        return self.page_answer(host, target, headers)

    @abstractmethod
    def page_answer(self, host: str, target: str, headers: RequestHeaders) -> Answer:
        """The answer to anything but a robots.txt that was given."""


Made = Answer | str | bytes | Callable[[str, str, RequestHeaders], Answer]


class MadeSite(SiteWithRobots):
    """A site made by hand: what stands at each URL is an answer, HTML, or a function (host, target, headers) -> answer.

    >>> site = MadeSite({"http://a.test/": "<a href=/b>b</a>", "http://a.test/b": Answer(status=500)})
    >>> site.answer("a.test", "/b", RequestHeaders(b"")).status
    500
    """

    def __init__(
        self,
        pages: Mapping[str, Made],
        robots: Mapping[str, str | bytes] | None = None,
        default: Answer = NOT_FOUND,
    ) -> None:
        super().__init__(robots)
        self.default = default
        self._pages: dict[tuple[str, str], Made] = {place_of(url): made for url, made in pages.items()}

    def page_answer(self, host: str, target: str, headers: RequestHeaders) -> Answer:
        made = self._pages.get((host, target), self.default)
        if isinstance(made, Answer):
            return made
        return Answer(made) if isinstance(made, (str, bytes)) else made(host, target, headers)


def place_of(url: str) -> tuple[str, str]:
    """Host and target of a URL.

    >>> place_of("http://A.test?x#y"), place_of("https://a.test:8080/b")
    (('a.test', '/?x'), ('a.test:8080', '/b'))
    """
    canonical = canonical_url(url)
    if canonical is None:
        raise InputError(f"{url[:100]!r} is not a URL that could be fetched")
    _, _, host, path = canonical.split("/", 3)
    return host, "/" + path
