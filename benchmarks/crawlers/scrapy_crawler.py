"""Scrapy, with all switched off that the task does not need.

What makes most of the difference: one item at a time (by default a hundred workers are started for every page), links
taken by lxml instead of its LinkExtractor, and no request made for a link that was seen before.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

import scrapy
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor

from benchmarks.crawlers.peer_work import NewLinks, PeerArchive
from benchmarks.crawlers.task import CONNECTIONS, CONNECTIONS_PER_HOST, Task, peak_mib

SETTINGS: dict[str, Any] = {
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "CONCURRENT_REQUESTS": CONNECTIONS,
    "CONCURRENT_REQUESTS_PER_DOMAIN": CONNECTIONS_PER_HOST,
    "CONCURRENT_ITEMS": 1,
    "DOWNLOAD_DELAY": 0,
    "AUTOTHROTTLE_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "COOKIES_ENABLED": False,
    "METAREFRESH_ENABLED": False,
    "REFERER_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "RETRY_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "ERROR",
    "DOWNLOADER_STATS": False,
    "STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector",
    "EXTENSIONS": {
        "scrapy.extensions.corestats.CoreStats": None,
        "scrapy.extensions.logcount.LogCount": None,
        "scrapy.extensions.logstats.LogStats": None,
        "scrapy.extensions.memusage.MemoryUsage": None,
    },
    "SPIDER_MIDDLEWARES": {
        "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
        "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,
    },
    "DOWNLOADER_MIDDLEWARES": {
        "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": None,
        "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,
        "benchmarks.crawlers.scrapy_crawler.Archiving": 1000,
    },
}
# Scrapy's own HTTP client, and one that it calls experimental.
TWISTED = "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"
AIOHTTP = "scrapy.core.downloader.handlers._aiohttp.AiohttpDownloadHandler"
# Whatever a page links to, nothing but the proxy is to be asked.
_WITHOUT_HANDLER = dict.fromkeys(("data", "file", "ftp", "s3"))


class Archiving:
    """Next to the network: every answer goes into the archive as it came."""

    def __init__(self, archive: PeerArchive) -> None:
        self._archive = archive

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Archiving:
        return cls(crawler.spider.archive)

    def process_response(self, request: scrapy.Request, response: Response) -> Response:
        headers = [(name, value) for name, values in response.headers.items() for value in values]
        self._archive.append(response.url, time.time(), response.status, headers, response.body)
        return response


class QuickSpider(scrapy.Spider):
    """Follows each link once."""

    name = "quick"

    def __init__(self, task: Task, archive: PeerArchive) -> None:
        super().__init__()
        self.task = task
        self.archive = archive
        self.new_links = NewLinks(task.hosts)

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for request in self.requests(self.task.seeds):
            yield request

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        if isinstance(response, HtmlResponse):
            yield from self.requests(self.links(response))

    def links(self, response: HtmlResponse) -> Iterable[str]:
        return self.new_links.of_page(response.body, response.url)

    def requests(self, urls: Iterable[str]) -> Iterator[scrapy.Request]:
        return (scrapy.Request(url, meta={"proxy": self.task.proxy}) for url in urls)


class ExtractorSpider(QuickSpider):
    """As the documentation has it: links by LinkExtractor, and repeated ones are left to Scrapy's filter."""

    name = "extractor"

    def __init__(self, task: Task, archive: PeerArchive) -> None:
        super().__init__(task, archive)
        tags, attributes = ("a", "area", "frame", "iframe"), ("href", "src")
        self.extractor = LinkExtractor(allow_domains=task.hosts, tags=tags, attrs=attributes, deny_extensions=())

    def links(self, response: HtmlResponse) -> Iterable[str]:
        links = self.extractor.extract_links(response)
        return [link.url for link in links if not link.nofollow and link.url.startswith(("http://", "https://"))]


def prepare(
    task: Task, spider: type[QuickSpider] = QuickSpider, handler: str = TWISTED, on_disk: bool = True
) -> Callable[[], float]:
    """`on_disk`: the queue and what was seen are in a JOBDIR."""
    settings = SETTINGS | {"DOWNLOAD_HANDLERS": _WITHOUT_HANDLER | {"http": handler, "https": handler}}
    if on_disk:
        settings["JOBDIR"] = str(task.folder / "job")
    process = AsyncCrawlerProcess(settings)

    def run() -> float:
        with PeerArchive(task.folder) as archive:
            process.crawl(spider, task=task, archive=archive)
            process.start()
        return peak_mib()

    return run
