"""Hooks for tests: a small shop, hook files for its pages, and an installed plug-in."""

from __future__ import annotations

from pathlib import Path

import orienteer as ori
from orienteer.pages.added import Additions
from orienteer.responses.headers import Headers
from orienteer.store.database import Database

HOME, APPLE, PEAR, CELLAR = (f"http://shop.test/{name}" for name in ("", "apple", "pear", "cellar?box=1"))
SHOP = {
    HOME: "<title>Shop</title><p>Fruit. <a href=/apple>apple</a> <a href=/pear>pear</a>",
    APPLE: "<title>Apple</title><p>Fresh. <b data-price=12.5>12.50</b> <i data-cellar='cellar?box=1&utm_source=x'>",
    PEAR: "<title>Pear</title><p>Soft. <b data-price=3>3.00</b>",
    CELLAR: "<title>Cellar</title><p>No page links here.",
}

PRICES = """
import re

import orienteer as ori


def on_page(page):
    price = re.search(r"data-price=([0-9.]+)", page.html)
    cellar = re.search(r"data-cellar='([^']*)'", page.html)
    if price is None:
        return None
    fields = {"price": float(price[1]), "names": [page.title, "Fruit No. 1"]}
    return ori.Added(links=[cellar[1]] if cellar else [], fields=fields, tags=["goods"])
"""
RAISES_ON_PEARS = """
def on_page(page):
    if page.title == "Pear":
        raise KeyError("no pears\\nplease")
"""


def hook_file(folder: Path, text: str = PRICES, name: str = "prices.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def installed_plug_in(folder: Path, text: str, name: str = "shop") -> Path:
    """A folder that makes this hook an installed one when it is on sys.path."""
    site = folder / "site"
    info = site / "shop_hooks-1.0.dist-info"
    info.mkdir(parents=True)
    (site / f"{name}_hooks.py").write_text(text)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop-hooks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[orienteer.page_hooks]\n{name} = {name}_hooks:on_page\n")
    return site


def added_in(folder: Path) -> dict[str, Additions]:
    """The stored additions by URL."""
    with Database.open(folder / "crawl.db", read_only=True) as database:
        found = {database.urls.of(page): database.details.added(page) for page in range(database.urls.count())}
    return {url: added for url, added in found.items() if added is not None}


def hook_page(url: str = "http://a.test/b/", html: str = "") -> ori.HookPage:
    return ori.HookPage(url, 200, Headers(), html.encode(), "text/html", "utf-8", "", "", "", "", (), ())
