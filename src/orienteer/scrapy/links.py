"""Which request came from which page: notes in the meta of requests, taken off again by the scheduler.

A request that is handed out carries the number of its page. Whatever the downloader makes of it (a redirect, a retry)
carries it, too, since it is a copy. Whatever the spider yields from its response is noted as a link from that page;
whatever comes from `start()` as a start.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

PAGE = "orienteer_page"
SOURCE = "orienteer_source"
START = -1  # in place of a source


class LinkNotes:
    """A spider middleware; it does not matter where among the others it stands."""

    def __init__(self) -> None:
        self.start_is_over = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls()

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        try:
            async for made in start:
                yield _noted(made, START)
        finally:
            self.start_is_over = True

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        source = response.meta.get(PAGE)
        async for made in result:
            yield _noted(made, source)


def _noted(made: Any, source: int | None) -> Any:
    if isinstance(made, Request):
        made.meta.pop(PAGE, None)  # copied from the response
        made.meta[SOURCE] = START if source is None else source
    return made


def taken_off(request: Request) -> tuple[int | None, int | None]:
    """(the page or START it came from, the page it takes the place of), where they are noted."""
    return request.meta.pop(SOURCE, None), request.meta.pop(PAGE, None)
