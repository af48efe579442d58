"""Sites made to deceive a certificate, and the truth about them, computed densely from what the site is made of.

The truth is that of the surfer of docs/theory/responses.md: a page is what a browser renders at a URL. A redirect is a
name of the page at its end, however long the chain is; links out of the scope do not exist; pages that a server refuses
to crawlers, that robots.txt forbids, or that are behind a nofollow page exist; a single link marked nofollow does not.
Only 404 and 410 say that there is no page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urljoin

import numpy as np

ERROR_RESPONSES = (400, 401, 402, 403, 405, 406, 409, 411, 412, 418, 421, 423, 426, 428, 431, 451)
HTML_TYPES = ("text/html", "text/html", "application/xhtml+xml", None, "unknown/unknown", "application/unknown", "*/*")
KINDS = ["page"] * 18 + ["redirect"] * 4
KINDS += ["no page", "refusal", "error", "timeout", "large", "image", "xml", "robots"]
_WORDS = " ".join(f"word{k} and so on" for k in range(120))

Numbers = np.random.Generator


@dataclass
class Place:
    """The content of a URL.

    `kind` is how it answers: page, redirect, no page, refusal, error, timeout, large, image, xml, robots. `hrefs` are
    its links as written, those in `nofollow` marked so; a redirect has one. `refresh` is a link in a header.
    """

    kind: str = "page"
    hrefs: list[str] = field(default_factory=list)
    nofollow: set[int] = field(default_factory=set)
    rules: str = ""  # nofollow in a meta element, or in a header
    refresh: str | None = None
    text: str = ""
    status: int = 200
    content_type: str | None = "text/html"

    def all_links(self) -> list[str]:
        vouched_for = [href for k, href in enumerate(self.hrefs) if k not in self.nofollow]
        return [*vouched_for, *([self.refresh] if self.refresh else [])]

    def html(self, session: str = "") -> bytes:
        head = "<meta name=robots content=nofollow>" if self.rules == "meta" else ""
        links = "".join(
            f'<a href="{href}{session if "/visit/" in href else ""}"{" rel=nofollow" if k in self.nofollow else ""}>'
            f"{k}</a> "
            for k, href in enumerate(self.hrefs)
        )
        return f"<html><head><title>T</title>{head}</head><body><p>{self.text}</p>{links}</body></html>".encode()


@dataclass
class AdversarialSite:
    """All places by URL; anything else is a 404. `sessions` are paths whose links all carry the visitor's session."""

    places: dict[str, Place]
    seeds: list[str]
    settings: dict[str, dict[str, object]]
    max_links: int
    n_sessions: int = 0
    now: float = 1e9  # Unix time of its answers

    def place(self, url: str) -> Place:
        return self.places.get(self.name(url), _NOTHING)

    def name(self, url: str) -> str:
        """The page of a URL, without a visitor's session."""
        path, _, session = url.partition("?visit&sid=")
        return path if "/visit/" in path and session else url

    def html(self, url: str) -> bytes:
        place = self.place(url)
        if "/visit/" not in url:
            return place.html()
        session = url.partition("&sid=")[2]
        if not session:
            self.n_sessions += 1
            session = f"{self.n_sessions:020d}a"
        return place.html(f"?visit&sid={session}")


_NOTHING = Place("no page", status=404)


def random_site(rng: Numbers) -> AdversarialSite:
    """Hosts a and b, w that a seed may lead to, and x outside; up to some 50 places of every kind."""
    hosts = ["http://a.test", "http://a.test", "http://b.test", "http://w.test", "http://x.test"]
    urls = [f"{_one_of(rng, hosts)}/{_one_of(rng, ['', 'd/', 'deny/'])}p{k}" for k in range(rng.integers(3, 30))]
    urls += [f"http://a.test/thing?session={_hex(rng)}" for _ in range(rng.integers(0, 4))]
    urls += [f"http://a.test/long/{'y' * 2100}{k}" for k in range(rng.integers(0, 3))]
    seeds = [f"http://{_one_of(rng, ['a', 'b', 'a'])}.test/seed{k}" for k in range(rng.integers(1, 4))]
    visits = [f"http://a.test/visit/{k}" for k in range(rng.integers(2, 5))] if rng.random() < 0.3 else []
    everything = [*urls, *seeds, *visits[:1]]
    places = {url: _random_place(rng, everything) for url in [*urls, *seeds]}
    for visit in visits:
        others = [url for url in visits if url != visit]  # a link to itself would be one under another name
        places[visit] = Place(text=f"visit {visit}", hrefs=_some(rng, others, 1, 3))
    _add_chain(rng, places, everything)
    _add_copies(rng, places, everything)
    for seed in seeds:  # mostly a page, or a way to another host
        if rng.random() < 0.7:
            places[seed] = Place(hrefs=_some(rng, everything, 1, 6))
        elif rng.random() < 0.7:
            places[seed] = Place("redirect", ["http://w.test/p0"], status=302)
    scope = {"kind": _one_of(rng, ["host", "host", "site", "web"]), "deny": ["/deny/"] if rng.random() < 0.3 else []}
    crawl = {
        "policy": _one_of(rng, ["certified", "breadth-first", "fractional", "rankmass"]),
        "duplicates": _one_of(rng, ["merge", "report", "off"]),
        "near_duplicates": _one_of(rng, ["merge", "report", "off", "off"]),
    }
    fetch = {"max_redirects": int(rng.integers(1, 6))}
    return AdversarialSite(
        places, seeds, {"scope": scope, "crawl": crawl, "fetch": fetch}, int(_one_of(rng, [4, 10_000, 10_000]))
    )


def _random_place(rng: Numbers, urls: Sequence[str]) -> Place:
    kind = _one_of(rng, KINDS)
    place = Place(kind, _some(rng, urls, 0, 7), text=f"text {rng.integers(1 << 60)}")
    if kind == "redirect":
        place.hrefs = _some(rng, urls, 1, 1) if rng.random() < 0.9 else ["mailto:a@a.test"]
        place.status = int(_one_of(rng, [301, 302, 303, 307, 308]))
    elif kind == "no page":
        place.status, place.hrefs = int(_one_of(rng, [404, 410])), []
    elif kind == "refusal":
        place.status = int(_one_of(rng, ERROR_RESPONSES))
    elif kind == "error":
        place.status = int(_one_of(rng, [500, 502, 503, 206]))
    elif kind == "image":
        place.content_type, place.hrefs = "image/png", []
    elif kind == "xml":
        place.content_type = _one_of(rng, ["text/xml", "application/xml", "image/svg+xml"])
    else:
        place.content_type = _one_of(rng, HTML_TYPES)
        place.nofollow = {k for k in range(len(place.hrefs)) if rng.random() < 0.1}
        place.rules = _one_of(rng, [""] * 15 + ["meta", "header"])
        place.refresh = _one_of(rng, urls) if rng.random() < 0.1 else None
        if rng.random() < 0.2:
            place.text = f"{_WORDS} {rng.integers(1 << 20)}"  # much like others
    return place


def _add_chain(rng: Numbers, places: dict[str, Place], urls: list[str]) -> None:
    """Redirects in a row, longer than a crawler follows; the end is a page that no other page may link to."""
    if rng.random() < 0.5:
        return
    n = int(rng.integers(1, 12))
    for k in range(n):
        places[f"http://a.test/chain/{k}"] = Place("redirect", [f"/chain/{k + 1}"], status=302)
    places[f"http://a.test/chain/{n}"] = Place(hrefs=_some(rng, urls, 0, 4))
    for place in _chosen(rng, places, 3):
        place.hrefs.append("http://a.test/chain/0")


def _add_copies(rng: Numbers, places: dict[str, Place], urls: list[str]) -> None:
    """The same bytes in several folders, with links that lead to different pages."""
    if rng.random() < 0.5:
        return
    hrefs = ["one", "two/", "copy", *_some(rng, urls, 0, 2)]
    for k in range(int(rng.integers(2, 8))):
        places[f"http://a.test/copies/{k}/copy"] = Place(hrefs=list(hrefs), text="a copy")
        places[f"http://a.test/copies/{k}/one"] = Place(hrefs=_some(rng, urls, 0, 3), text=f"one of {k}")
        for place in _chosen(rng, places, 2):
            place.hrefs.append(f"http://a.test/copies/{k}/copy")


def _chosen(rng: Numbers, places: dict[str, Place], n: int) -> list[Place]:
    pages = [place for url, place in places.items() if place.kind == "page" and "/copy" not in url]
    return [pages[k] for k in rng.integers(len(pages), size=n)] if pages else []


def _some(rng: Numbers, urls: Sequence[str], low: int, high: int) -> list[str]:
    return [_one_of(rng, urls) for _ in range(int(rng.integers(low, high + 1)))]


def _one_of(rng: Numbers, things: Sequence[str]) -> str:
    return things[int(rng.integers(len(things)))]


def _hex(rng: Numbers) -> str:
    return "".join("0123456789abcdef"[k] for k in rng.integers(16, size=23)) + "7"


def change(rng: Numbers, site: AdversarialSite) -> None:
    """A day later some pages have other texts and links."""
    site.now += 86_400.0
    urls = [url for url in site.places if "/visit/" not in url and "/copies/" not in url]
    for url in urls:
        place = site.places[url]
        if place.kind == "page" and rng.random() < 0.3:
            place.hrefs, place.nofollow = _some(rng, urls, 0, 6), set()
            place.text = f"text {rng.integers(1 << 60)}"


# -- the truth ------------------------------------------------------------------------------------------------------


def true_coverage(
    site: AdversarialSite, covered: set[str], is_inside: Callable[[str], bool], damping: float = 0.85,
    seed_trust: Sequence[float] = (),
) -> float:  # fmt: skip
    """The share of a surfer's time on pages that were fetched; `covered` are the URLs that count as fetched."""
    names = [site.name(seed) for seed in site.seeds]
    nodes: dict[str, int] = {}
    links: list[list[int]] = []
    waiting = [_end_of(site, name, is_inside) or name for name in names]
    while waiting:
        name = waiting.pop()
        if name in nodes:
            continue
        nodes[name] = len(nodes)
        targets = _targets(site, name, is_inside)
        links.append(targets)  # type: ignore[arg-type]
        waiting += targets
    rows = [[nodes[target] for target in targets] for targets in links]  # type: ignore[index]
    n = len(nodes)
    trust = np.zeros(n)
    for name, share in zip(names, seed_trust or [1 / len(names)] * len(names), strict=True):
        trust[nodes[_end_of(site, name, is_inside) or name]] += share
    step = np.zeros((n, n))
    for source, row in enumerate(rows):
        if not row:
            step[source] = trust
        for target in row:
            step[source, target] += 1 / len(row)
    rank = np.linalg.solve(np.eye(n) - damping * step.T, (1 - damping) * trust)
    return float(sum(rank[node] for name, node in nodes.items() if name in covered))


def _targets(site: AdversarialSite, name: str, is_inside: Callable[[str], bool]) -> list[str]:
    """The nodes that a page's links lead to, once for each URL; none for what is no page."""
    place = site.place(name)
    if place.kind in ("no page", "image", "redirect"):
        return []
    urls = dict.fromkeys(urljoin(name, href) for href in place.all_links())
    ends = [_end_of(site, url, is_inside) for url in urls if url != name and is_inside(url)]
    return [end for end in ends if end is not None]


def _end_of(site: AdversarialSite, url: str, is_inside: Callable[[str], bool]) -> str | None:
    """Where redirects end; None outside the scope. Those in a circle are a page of their own, without links."""
    seen = []
    while (place := site.place(url)).kind == "redirect":
        if url in seen:
            return min(seen[seen.index(url) :])
        seen.append(url)
        url = urljoin(url, place.hrefs[0])
        if not url.startswith("http"):
            return None
    return url if is_inside(url) else None
