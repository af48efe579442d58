"""Scrapy, tuned as well as we could."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import scrapy
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor

from benchmarks.crawlers.task import CONNECTIONS, CONNECTIONS_PER_HOST, PeerArchive, Task, peak_mib

_MIDDLEWARE = "scrapy.downloadermiddlewares."
_HANDLERS = {
    "twisted": "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler",
    "aiohttp": "scrapy.core.downloader.handlers._aiohttp.AiohttpDownloadHandler",
}
SETTINGS: dict[str, Any] = {
    "CONCURRENT_ITEMS": 1,
    "CONCURRENT_REQUESTS": CONNECTIONS,
    "CONCURRENT_REQUESTS_PER_DOMAIN": CONNECTIONS_PER_HOST,
    "DOWNLOAD_DELAY": 0,
    "AUTOTHROTTLE_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "LOG_LEVEL": "ERROR",
    "COOKIES_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "REFERER_ENABLED": False,
    "RETRY_ENABLED": False,
    "METAREFRESH_ENABLED": False,
    "DOWNLOADER_STATS": False,
    "STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector",
    "STATS_DUMP": False,
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "EXTENSIONS": {
        f"scrapy.extensions.{name}": None
        for name in ("corestats.CoreStats", "logcount.LogCount", "memusage.MemoryUsage", "logstats.LogStats")
    },
    "DOWNLOADER_MIDDLEWARES": {
        _MIDDLEWARE + "httpauth.HttpAuthMiddleware": None,
        _MIDDLEWARE + "offsite.OffsiteMiddleware": None,
        "benchmarks.crawlers.scrapy_crawler.Archiving": 1000,
    },
    "SPIDER_MIDDLEWARES": {
        f"scrapy.spidermiddlewares.{name}": None for name in ("urllength.UrlLengthMiddleware", "depth.DepthMiddleware")
    },
}


class Archiving:
    """Next to the network: every answer goes into the archive as it came."""

    def __init__(self, crawler: Any) -> None:
        self._spider = crawler.spider

    @classmethod
    def from_crawler(cls, crawler: Any) -> Archiving:
        return cls(crawler)

    def process_response(self, request: Any, response: Response) -> Response:
        headers = [(name, value) for name, values in response.headers.items() for value in values]
        self._spider.archive.append(response.url, time.time(), response.status, headers, response.body)
        return response


class AllPages(scrapy.Spider):
    name = "all-pages"

    async def start(self):
        for url in self.task.seeds:
            yield scrapy.Request(url, meta={"proxy": self.task.proxy})

    def parse(self, response):
        if not isinstance(response, HtmlResponse):
            return
        hosts = self.hosts
        proxy = self.task.proxy
        for link in self.links(response):
            if link.split("/", 3)[2] in hosts:
                yield scrapy.Request(link, meta={"proxy": proxy})


class Idiomatic(AllPages):
    extractor = LinkExtractor(deny_extensions=())

    def links(self, response):
        return [link.url for link in self.extractor.extract_links(response)]


class Quick(AllPages):
    def __init__(self, **k):
        super().__init__(**k)
        self.seen = set()

    def links(self, response):
        seen = self.seen
        base = response.url
        from scrapy.utils.response import get_base_url
        from urllib.parse import urljoin
        base = get_base_url(response)
        refs = response.selector.root.xpath("//a/@href | //area/@href | //frame/@src | //iframe/@src")
        here = set()
        for ref in refs:
            ref = ref.strip().partition("#")[0]
            if not ref or ref in here: continue
            here.add(ref)
            try: link = urljoin(base, ref)
            except ValueError: continue
            if link not in seen:
                seen.add(link)
                if link.startswith("http"):
                    yield link


def prepare(task: Task, kind: str = "Quick", handler: str = "twisted", durable: bool = True) -> Callable[[], float]:
    settings = SETTINGS | {"DOWNLOAD_HANDLERS": {"http": _HANDLERS[handler]}}
    if durable:
        settings["JOBDIR"] = str(task.folder / "job")
    process = AsyncCrawlerProcess(settings)

    def run() -> float:
        with PeerArchive(task.folder) as archive:
            process.crawl(globals()[kind], task=task, hosts=set(task.hosts), archive=archive)
            process.start()
        return peak_mib()

    return run
