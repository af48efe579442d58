"""`python -m orienteer.fake_web PATH [--port N]`: serve a graph, or a folder or archive of pages, until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence

from orienteer.errors import OrienteerError
from orienteer.fake_web.opening import site_at
from orienteer.fake_web.process import allow_many_connections
from orienteer.fake_web.server import FakeWeb


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m orienteer.fake_web", description="Serve a whole web on loopback.")
    parser.add_argument("path", help="a link graph in any format, or a folder or .tar[.gz|.zst] of <host>/<path> files")
    parser.add_argument("--port", type=int, default=0, help="the port to listen on (default: any free one)")
    options = parser.parse_args(arguments)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    allow_many_connections()
    try:
        site = site_at(options.path)
        with FakeWeb(site, options.port, remembers_requests=False) as web:
            _tell(web.address, site.urls())
            stopped.wait()
    except OrienteerError as error:
        print(f"fake_web: {error}", file=sys.stderr)
        return 2
    return 0


def _tell(address: str, urls: list[str]) -> None:
    if not urls:
        print(f"no pages at all at {address}", flush=True)
        return
    n_hosts = len({url.split("/", 3)[2] for url in urls})
    print(f"{len(urls):,} pages of {n_hosts:,} hosts at {address}; Ctrl-C ends it", flush=True)
    print("All connections must go there, whatever the host of the URL:")
    print(f"  orienteer crawl --connect-to {address} {urls[0]}")
    print(f"  curl --connect-to ::{address} {urls[0]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
