"""`python -m orienteer.fake_web PATH|--community [--port N]`: serve a graph, a folder or archive of pages, or the small
town of the demo, until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence

from orienteer.errors import OrienteerError
from orienteer.fake_web.community.addresses import HOME
from orienteer.fake_web.community.site import CommunitySite, url_at_port
from orienteer.fake_web.page_site import site_at
from orienteer.fake_web.server import FakeWeb, allow_many_connections


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m orienteer.fake_web", description="Serve a fake web on loopback.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "path", nargs="?", help="a link graph in any format, or a folder or .tar[.gz|.zst] of <host>/<path> files"
    )
    what.add_argument(
        "--community", action="store_true", help="the small town of the demo, which can be opened in a browser"
    )
    parser.add_argument("--port", type=int, default=0, help="port to listen on (default: any free one)")
    options = parser.parse_args(arguments)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    allow_many_connections()
    try:
        site = CommunitySite() if options.community else site_at(options.path)
        with FakeWeb(site, options.port, records_requests=False) as web:
            urls = site.urls()
            _print_commands(web.address, urls, HOME if options.community else urls[0] if urls else "")
            if options.community:
                print(f"In a browser: {url_at_port(HOME, web.port)}", flush=True)
            while not stopped.wait(0.5):  # a signal that arrives just before the call must not wait for long
                pass
    except OrienteerError as error:
        print(f"fake_web: {error}", file=sys.stderr)
        return 2
    return 0


def _print_commands(address: str, urls: list[str], start: str) -> None:
    if not urls:
        print(f"no pages at {address}", flush=True)
        return
    n_hosts = len({url.split("/", 3)[2] for url in urls})
    print(f"{len(urls):,} pages of {n_hosts:,} hosts at {address}; Ctrl-C ends it", flush=True)
    print("All connections must go there, whatever the host of the URL:")
    print(f"  orienteer crawl --connect-to {address} {start}")
    print(f"  curl --connect-to ::{address} {start}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
