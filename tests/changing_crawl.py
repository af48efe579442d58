"""A crawl of a small web that has changed since, and was refreshed three times: something is new, changed and gone."""

from __future__ import annotations

from pathlib import Path

from tests.fake_web.changing import ChangingSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.refreshes import Refreshed

HOME, EDITED, GONE, NEW = "http://a.test/", "http://a.test/x", "http://a.test/gone", "http://a.test/new"
MOVED = "http://a.test/moved"
RUDE = "http://a.test/?q=%3Cb%3E&a=1"
SITE = {
    HOME: f"<title>Home</title><a href=/x>x</a> <a href=/gone>g</a> <a href=/moved>m</a> <a href='{RUDE}'>r</a>",
    EDITED: "<title>X</title><p>The first line.<p>The second line.",
    GONE: "<title>Soon gone</title><p>Here today.",
    MOVED: "<title>Moves</title><p>Still here.",
    RUDE: '<title>]]>&lt;b> & "quoted" \x07</title><p>rude',
}


def changed_crawl(folder: Path) -> Path:
    """Epoch 1: EDITED has changed, NEW is new, GONE is missing. Epoch 2: nothing. Epoch 3: GONE is gone."""
    site = ChangingSite(MadeSite(SITE))
    with FakeWeb(site) as web:
        crawl = Refreshed(site, web, folder, seeds=HOME)
        site.edit(EDITED, "<title>X2</title><p>The first line.<p>Another <b>line</b> & more. <a href=/new>new</a>")
        site.add(NEW, "<title>New</title><p>Brand new.")
        site.delete(GONE)
        for _ in range(3):
            crawl.refresh()
    return folder
