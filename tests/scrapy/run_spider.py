"""`python -m tests.scrapy.run_spider FILE`: runs a spider as configured in FILE, and writes its stats next to it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from scrapy import Spider, signals
from scrapy.crawler import CrawlerProcess

from tests.scrapy.spiders import SPIDERS


def main(path: Path) -> None:
    task = json.loads(path.read_text())
    process = CrawlerProcess(task["settings"])
    crawler = process.create_crawler(SPIDERS[task["spider"]])

    def write(spider: Spider, reason: str) -> None:
        stats: dict[str, Any] = {"reason": reason} | crawler.stats.get_stats()
        path.with_name("stats.json").write_text(json.dumps(stats, default=str))

    crawler.signals.connect(write, signal=signals.spider_closed)
    process.crawl(crawler, **task["arguments"])
    process.start()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
