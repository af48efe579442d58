"""crawl4ai over four applications, each at a port of loopback: run by a Python that has it.

Reads the applications from stdin (see `benchmarks/rendering`), and prints its `Cost` as JSON. It fetches from a server
of its own, as it has no other way; its cache is off.
"""

from __future__ import annotations

import asyncio
import http.server
import json
import sys
import threading
from typing import Any

from benchmarks.process_costs import Meter

N_WARM = 4


def server(settings: dict[str, Any], name: str) -> int:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, body, status = "text/html", settings["files"][f"{name}/index.html"], 200
            if self.path == "/api/items.json":
                kind, body = "application/json", json.dumps(settings["items"])
            elif self.path == "/app.js":
                kind, body = "text/javascript", settings["files"][f"{name}/app.js"]
            elif "." in self.path:
                status, body = 404, ""
            self.send_response(status)
            self.send_header("content-type", kind)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None:
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    return int(listening.server_port)


async def crawl(settings: dict[str, Any]) -> Any:
    from crawl4ai import AsyncWebCrawler, BrowserConfig, CacheMode, CrawlerRunConfig
    from playwright.async_api import BrowserType

    launch = BrowserType.launch
    BrowserType.launch = lambda self, **options: launch(self, **options, executable_path=settings["browser"])  # type: ignore
    ports = [server(settings, name) for name in settings["names"]]
    places = [(f"http://127.0.0.1:{port}/" + (f"item/{i}" if i else ""), i) for i in range(13) for port in ports]
    how = CrawlerRunConfig(
        cache_mode=CacheMode.BYPASS, wait_until="networkidle", flatten_shadow_dom=True, exclude_all_images=True,
        verbose=False,
    )  # fmt: skip
    async with AsyncWebCrawler(config=BrowserConfig(headless=True, verbose=False)) as crawler:

        async def rendered(urls: list[tuple[str, int]]) -> int:
            n_right = 0
            for url, item in urls:
                html = (await crawler.arun(url, config=how)).html
                n_right += f"The words of number {item} are here" in html if item else "item/12" in html
            return n_right

        await rendered(places[:N_WARM])
        meter = Meter()
        return meter.cost(await rendered(places), len(places))


def main() -> None:
    print(json.dumps(asyncio.run(crawl(json.load(sys.stdin)))))


if __name__ == "__main__":
    main()
