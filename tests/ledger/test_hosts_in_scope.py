"""The scope by numbers of hosts agrees with the scope by URLs."""

from __future__ import annotations

import numpy as np

from orienteer.crawl.seen import SeenUrls
from orienteer.ledger.scope import HostsInScope, Scope
from orienteer.ledger.settings import ScopeSettings
from tests.tables import over_rows

SEEDS = ["http://a.example.org/x/y", "https://b.test:81/"]


@over_rows("seed", range(3))
@over_rows(
    "settings",
    [
        ScopeSettings("host"),
        ScopeSettings("site"),
        ScopeSettings("web"),
        ScopeSettings("prefix"),
        ScopeSettings("site", deny=("/3",)),
        ScopeSettings("web", allow=("example",)),
    ],
    ids=str,
)
def test_it_contains_what_the_scope_contains(settings: ScopeSettings, seed: int) -> None:
    rng = np.random.default_rng(seed)
    hosts = ["a.example.org", "a.example.org:81", "z.example.org", "b.test:81", "b.test", "c.test", "example.com"]
    hosts += [f"h{k}.{site}" for k in range(60) for site in ("example.org", "example.net")]
    scope, seen = Scope(settings, SEEDS), SeenUrls(bytes(16))
    inside = HostsInScope(scope, seen)
    for step in range(60):
        schemes, paths = rng.choice(["http", "https"], 20), rng.choice(["", "x/y", "x/3", "3"], 20)
        names = rng.choice(hosts[: 5 + 2 * step], 20)
        urls = [f"{scheme}://{name}/{path}" for scheme, name, path in zip(schemes, names, paths, strict=True)]
        pages = seen.number(urls)[0]
        expected = scope.contains(urls)
        found = inside.divided(urls, pages)
        assert [part.tolist() for part in found] == [pages[expected].tolist(), pages[~expected].tolist()], (seed, step)
        if step % 20 == 10:
            scope.widen(urls[0])
