"""The source page of each request, recorded in its meta and removed by the scheduler.

A request given to the engine has the number of its page in its meta. Requests that the downloader makes from it (a
redirect, a retry) have it, too, as copies. Requests that the spider yields from the response are marked as links from
that page, requests from `start()` as starts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

PAGE = "orienteer_page"
SOURCE = "orienteer_source"
START = -1  # used as source


class LinkNotes:
    """The spider middleware that marks requests; its position among other middlewares does not matter."""

    def __init__(self) -> None:
        self.start_has_ended = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls()

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        try:
            async for item in start:
                yield _marked(item, START)
        finally:
            self.start_has_ended = True

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        source = response.meta.get(PAGE)
        async for item in result:
            yield _marked(item, source)


def _marked(item: Any, source: int | None) -> Any:
    if isinstance(item, Request):
        item.meta.pop(PAGE, None)  # copied from the response
        item.meta[SOURCE] = START if source is None else source
    return item


def pop_marks(request: Request) -> tuple[int | None, int | None]:
    """Remove and return the marks of a request: its source (a page or START), and the page that it replaces."""
    return request.meta.pop(SOURCE, None), request.meta.pop(PAGE, None)
