"""A Scrapy project as its documentation has it, in a process of its own: `python -m benchmarks.crawlers.scrapy_project
FILE` crawls as the file says, and writes its costs, the order of its fetches and its items next to that file.

Nothing in the spider refers to Orienteer. Items go to the disk at once, so that they outlive a kill.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scrapy import Spider, signals
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

SETTINGS: dict[str, Any] = {
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "LOG_LEVEL": "CRITICAL",  # three links to ftp: cannot be followed
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    # Whatever a page links to, nothing but the proxy is to be asked.
    "DOWNLOAD_HANDLERS": dict.fromkeys(("data", "file", "ftp", "s3")),
    "ITEM_PIPELINES": {"benchmarks.crawlers.scrapy_project.ToFile": 300},
}


class ToFile:
    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ToFile:
        return cls(Path(crawler.settings["ITEMS"]))

    def process_item(self, item: dict[str, str]) -> dict[str, str]:
        os.write(self._file, f"{item['url']}\n".encode())
        return item


class Documentation(CrawlSpider):
    """The title of every page."""

    name = "documentation"
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def __init__(self, start_urls: list[str]) -> None:
        super().__init__()
        self.start_urls = start_urls
        self.allowed_domains = [url.split("/", 3)[2] for url in start_urls]

    def parse_page(self, response: Response) -> Iterator[dict[str, str]]:
        yield {"url": response.url, "title": response.css("title::text").get("")}


@dataclass
class Ran:
    """The record of a complete crawl; `cpu_s` is without the start."""

    cpu_s: float = 0.0
    start_cpu_s: float = 0.0
    wall_s: float = 0.0
    reason: str = ""
    order: list[str] = field(default_factory=list)  # the URLs of all answers
    stats: dict[str, Any] = field(default_factory=dict)


def main(path: Path) -> None:
    task = json.loads(path.read_text())
    process = CrawlerProcess(SETTINGS | {"ITEMS": str(path.with_name("items"))} | task["settings"])
    crawler = process.create_crawler(Documentation)
    ran = Ran()
    began = time.perf_counter()

    def opened() -> None:
        ran.start_cpu_s = time.process_time()

    def downloaded(response: Response) -> None:
        ran.order.append(response.url)

    def closed(spider: Spider, reason: str) -> None:
        ran.cpu_s = time.process_time() - ran.start_cpu_s
        ran.wall_s = time.perf_counter() - began
        ran.reason, ran.stats = reason, crawler.stats.get_stats()
        path.with_name("ran.json").write_text(json.dumps(asdict(ran), default=str))

    crawler.signals.connect(opened, signal=signals.spider_opened)
    crawler.signals.connect(downloaded, signal=signals.response_downloaded)
    crawler.signals.connect(closed, signal=signals.spider_closed)
    process.crawl(crawler, start_urls=task["start_urls"])
    process.start()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
