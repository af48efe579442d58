"""Crawlee for Python, with all switched off that the task does not need: no sessions, no cookies, no retries.

Its queue is in memory, its HTTP client is impit, and pages are parsed by lxml where they arrive; its own ParselCrawler
sends each of them to another thread. It knows no limit of connections to one host.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from crawlee import ConcurrencySettings
from crawlee.crawlers import HttpCrawler, HttpCrawlingContext
from crawlee.http_clients import ImpitHttpClient
from crawlee.storage_clients import MemoryStorageClient

from benchmarks.crawlers.peer_work import NewLinks, PeerArchive
from benchmarks.crawlers.task import CONNECTIONS, Task, peak_mib


def prepare(task: Task) -> Callable[[], float]:
    logging.disable(logging.WARNING)

    def run() -> float:
        with PeerArchive(task.folder) as archive:
            asyncio.run(_crawl(task, archive))
        return peak_mib()

    return run


async def _crawl(task: Task, archive: PeerArchive) -> None:
    new_links = NewLinks(task.hosts)

    async def handle(context: HttpCrawlingContext) -> None:
        url, answer = context.request.url, context.http_response
        headers, body = answer.headers, await answer.read()
        lines = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        archive.append(url, time.time(), answer.status_code, lines, body)
        links: list[str] = []
        if "location" in headers:
            links = new_links.of_references([headers["location"]], url)
        elif answer.status_code == 200 and "html" in headers.get("content-type", ""):
            links = new_links.of_page(body, url)
        if links:
            await context.add_requests(links)

    await _crawler(task, handle).run(list(task.seeds))


def _crawler(task: Task, handle: Callable[..., object]) -> HttpCrawler:
    # Redirects are followed by us, so that they are archived, too.
    client = ImpitHttpClient(proxy=task.proxy, browser=None, follow_redirects=False, persist_cookies_per_session=False)
    return HttpCrawler(
        request_handler=handle,
        http_client=client,
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(CONNECTIONS, CONNECTIONS, desired_concurrency=CONNECTIONS),
        use_session_pool=False,
        retry_on_blocked=False,
        max_request_retries=0,
        ignore_http_error_status_codes=[404],
        configure_logging=False,
    )
