"""The broken links of a site report, compared with those of an independent link checker, on real documentation.

The 36 hosts of the shared data are served on loopback, each crawled as a whole and checked by LinkChecker, which asks
the same server through its proxy setting. It is a program under the GPL that is run as a tool where it is installed
(`linkchecker` on the path); nothing of it is used here. It reports each broken address once, with one page that refers
to it and the words of the link. Compared are the addresses, whether the report names that page, too (it does not where
the address is that of a form or a style there, and is linked from another page), and the words.

What only LinkChecker reports is of three kinds. The element with the address is found in the page by html.parser:
LinkChecker also requests *assets* (pictures, styles, scripts, forms, `link` elements that are not for readers), which
are no links, and links marked *nofollow*, which the crawl does not follow. Some are on an *unlinked* page, which only
such an asset or nofollow link leads to, so that the crawl does not know it. LinkChecker waits a quarter of a second
before each request, on average, so that hosts are checked side by side: its times are no race. It reads pages of any
size here; by default it leaves out what is larger than 1 MiB.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urldefrag, urljoin, urlsplit

from benchmarks.measure import machine, table
from benchmarks.sizes import DATA, MissingError
from orienteer.live.session import live_crawl
from orienteer.report.finding import SiteReport
from orienteer.report.site_report import site_report
from orienteer.store.folder_view import FolderView
from orienteer.url import canonical_url
from tests.fake_web.page_site import PageSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import RequestHeaders

ARCHIVE = DATA / "dev-docs-web.tar.zst"
PROGRAM = "linkchecker"
_SETTINGS = "[checking]\nmaxrequestspersecond=1000\nmaxfilesizeparse=100000000\nmaxfilesizedownload=100000000\n"
_AT_ONCE = 8  # it waits a quarter of a second before each request, on average, whatever its settings say
_LINKING = ("a", "area", "frame", "iframe")
_RELATIONS = {"canonical", "next", "prev"}

Places = dict[str, str]  # the words of a link, by the page with the link


class Found(NamedTuple):
    """Broken addresses with where they are linked, and how long it took."""

    broken: dict[str, Places]
    wall_s: float


def run() -> str:
    if not ARCHIVE.exists():
        return f"The real pages are not here: {ARCHIVE.name}\n"
    if shutil.which(PROGRAM) is None:
        raise MissingError(f"{PROGRAM} on the path")
    site = PageSite(ARCHIVE)
    counted, times, unexplained = {}, {}, []
    with FakeWeb(site) as web, tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # LinkChecker switches to the user "nobody" if started by root
        sizes = Counter(urlsplit(url).netloc for url in site.urls())
        checked = _all_checked(web, [host for host, _ in sizes.most_common()], Path(folder))  # the slowest first
        for host, theirs in checked.items():
            report, ours = _reported(web, host, Path(folder))
            reasons = {
                url: _why_only_theirs(site, Path(folder) / host, url, theirs.broken[url])
                for url in theirs.broken.keys() - ours.broken
            }
            counted[host] = _numbers(report, ours, theirs, list(reasons.values()))
            times[host] = f"{ours.wall_s:.1f}", f"{theirs.wall_s:.1f}"
            unexplained += [f"only in the report: {url}" for url in sorted(ours.broken.keys() - theirs.broken)]
            unexplained += [f"only by LinkChecker: {url}" for url, why in sorted(reasons.items()) if not why]
    counted["all of them"], times["all of them"] = [sum(each) for each in zip(*counted.values(), strict=True)], ("", "")
    rows = [[host, *(f"{number:,}" for number in counted[host]), *times[host]] for host in counted]
    headings = ["host", "pages", "links checked", "report", "LinkChecker", "both", "same place", "same words",
                "only the report", "only LinkChecker", "of these assets", "of these nofollow", "of these unlinked",
                "unexplained", "report s", "LinkChecker s"]  # fmt: skip
    rest = "\n".join(["Unexplained, the first ones:\n", *(f"    {line}" for line in unexplained[:20]), ""])
    return f"{machine('turbohtml')}\n\n{table(headings, rows)}\n{rest if unexplained else 'Nothing is unexplained.'}\n"


def _numbers(report: SiteReport, ours: Found, theirs: Found, reasons: list[str]) -> list[int]:
    both = ours.broken.keys() & theirs.broken.keys()
    n_only_ours = len(ours.broken) - len(both)
    placed = [url for url in both if theirs.broken[url].keys() <= ours.broken[url].keys()]
    n_words = sum(_same_words(ours.broken[url], theirs.broken[url]) for url in placed)
    return [report.n_pages, report.n_checked, len(ours.broken), len(theirs.broken), len(both), len(placed), n_words,
            n_only_ours, len(reasons), reasons.count("asset"), reasons.count("nofollow"), reasons.count("unlinked"),
            reasons.count("") + n_only_ours]  # fmt: skip


def _same_words(ours: Places, theirs: Places) -> bool:
    """LinkChecker truncates long texts, and has none for a link on a picture; the report has the picture's."""
    for page, words in theirs.items():
        wanted = " ".join(words.split())[:40]
        if all(" ".join(text.split())[:40] != wanted for text in ours[page].split(" / ")):
            return False
    return True


def _reported(web: FakeWeb, host: str, folder: Path) -> tuple[SiteReport, Found]:
    began = time.monotonic()
    settings = {
        "crawl": {"robots": False, "workers": 8, "processes": 1},
        "politeness": {"delay_s": 0.0, "connections": 8},
        "fetch": {"connect_to": web.address},
        "render": {"mode": "never"},
    }
    live_crawl(f"http://{host}/", folder / host, scope="host", settings=settings)
    report = site_report(folder / host, max_places=None)
    broken = {
        finding.url: {place.url: place.words or "" for place in finding.places} for finding in report.findings["broken"]
    }
    return report, Found(broken, time.monotonic() - began)


def _all_checked(web: FakeWeb, hosts: Sequence[str], folder: Path) -> dict[str, Found]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(hosts, pool.map(lambda host: _checked(web, host, folder), hosts), strict=True))


def _checked(web: FakeWeb, host: str, folder: Path) -> Found:
    began = time.monotonic()
    settings = folder / f"{host}.linkcheckerrc"
    settings.write_text(_SETTINGS)
    command = [PROGRAM, "-f", str(settings), "--no-robots", "--no-status", "-o", "csv", "-t", "4", "--ignore-url",
               f"^(?!http://{host}/)", f"http://{host}/"]  # fmt: skip
    environment = os.environ | {"http_proxy": f"http://{web.address}", "no_proxy": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    lines = [line for line in done.stdout.splitlines(keepends=True) if not line.startswith("#")]
    broken: dict[str, Places] = {}
    for row in csv.DictReader(io.StringIO("".join(lines)), delimiter=";"):
        page = canonical_url(row["parentname"] or "")
        if row["valid"] == "False" and page is not None:
            url = canonical_url(row["urlname"], row["base"] or page)  # without its fragment, before any redirect
            if url is not None:
                broken.setdefault(url, {})[page] = row["name"] or ""
    return Found(broken, time.monotonic() - began)


def _why_only_theirs(site: PageSite, crawl: Path, wanted: str, sources: Places) -> str:
    """Return how the pages refer to an address: "asset", "nofollow", or "" for a link that should have been reported;
    "unlinked" if the crawl knows none of these pages."""
    reasons: set[str] = set()
    for page in sources:
        address = urlsplit(page)
        response = site.response(address.netloc, address.path or "/", RequestHeaders(b""))
        reader = _References(page)
        reader.feed(response.body if isinstance(response.body, str) else response.body.decode("utf-8", "replace"))
        reasons |= {why for url, why in reader.found if url == wanted}
    if "link" in reasons or not reasons:
        with FolderView.open(crawl) as folder:
            return "" if folder.database.urls.find_all(list(sources)) else "unlinked"
    return "nofollow" if "nofollow" in reasons else "asset"


class _References(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str | None, str]] = []
        self._page = page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        relations = set(values.get("rel", "").lower().split())
        is_link = tag in _LINKING or (tag == "link" and relations & _RELATIONS)
        why = "nofollow" if "nofollow" in relations else "link" if is_link else "asset"
        for name in ("href", "src", "data", "action", "cite", "longdesc", "background"):
            if name in values:
                self.found.append((canonical_url(urldefrag(urljoin(self._page, values[name])).url), why))
