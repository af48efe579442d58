"""A web of pages with all kinds of assets on several hosts, and the assets in crawl folders.

`a.test` and `b.test` are crawled. `f.test` is known, because frames are links; `cdn.test` is not a host of the crawl.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from orienteer.store.folder_view import FolderView
from orienteer.store.rendering_tables import AssetRow
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.site import MadeSite

HOME, OTHER = "http://a.test/", "http://b.test/"
PNG = b"\x89PNG\r\n\x1a\n"
MAX_ASSET_BYTES = 2_000


def png(name: str, **more: Any) -> FakeResponse:
    return FakeResponse(PNG + name.encode() * 30, content_type="image/png", **more)


def css(text: str) -> FakeResponse:
    return FakeResponse(text, content_type="text/css")


def moved(target: str) -> FakeResponse:
    return FakeResponse(status=302, headers=(("Location", target),))


HEAD = """<title>Home</title><link rel=stylesheet href=/style.css><link rel="shortcut icon" href=/icon.png>
<link rel=preload as=font href=http://cdn.test/early.woff><link rel=modulepreload href=/module.js>
<link rel=manifest href=/app.webmanifest><link rel=apple-touch-icon href=/touch.png>
<script src=http://cdn.test/lib.js></script><style>@import "/more.css"; p { background: url(/in-style.png) }</style>"""
BODY = """<body background=/body.png><img src=/a.png srcset="/a2.png 2x, http://cdn.test/a3.png 3x" data-src=/late.png>
<picture><source srcset="/p1.png, /p2.png 2x"></picture><video poster=/poster.png src=/film.mp4><track src=/film.vtt>
</video><audio><source src=/sound.ogg></audio><input type=image src=/button.png><embed src=/thing.swf>
<object data=/thing.svg></object><svg><image href=/drawn.png /><use xlink:href="/signs.svg#one"/></svg>
<iframe src=http://f.test/frame></iframe><img src=data:image/png;base64,AAAA><img src=blob:http://a.test/1>
<p style="background: image-set('/set1.png' 1x, url(/set2.png) 2x)"><img src=/old.png><img src=/gone.png>
<img src=http://b.test/forbidden/x.png><img src=/same.png><img src=/huge.png><img src=/loop1.png>
<img src=/hop0.png><img src=/shy.png><a href=/next>next</a> <a href=http://b.test/>b</a>"""
PAGES: dict[str, Any] = {
    HOME: HEAD + BODY,
    "http://a.test/next": HEAD + "<img src=/a.png><img src=/only-next.png><a href=/quiet>quiet</a>",
    "http://a.test/quiet": "<meta name=robots content=noarchive><img src=/excluded.png>",
    OTHER: "<img src=http://a.test/a.png><a href=http://a.test/>a</a>",
    "http://f.test/frame": "<link rel=stylesheet href=frame.css><iframe src=frame2></iframe>",
    "http://f.test/frame2": "<img src=deep.png><iframe src=frame3></iframe>",
    "http://f.test/frame3": "<img src=deeper.png><iframe src=frame4></iframe>",
    "http://f.test/frame4": "<img src=deepest.png>",
    "http://f.test/frame.css": css("b { background: url(of-frame.png) }"),
    "http://a.test/style.css": css('@charset "utf-8"; a { background: url("of-style.png") } @font-face '
                                   "{ src: url(http://cdn.test/font.woff2) format('woff2') }"),
    "http://a.test/more.css": css("@import url(evenmore.css); /* url(never.png) */"),
    "http://a.test/evenmore.css": css("@import 'more.css'; i { cursor: url(of\\20 more.png) }"),
    "http://a.test/old.png": moved("/older.png"),
    "http://a.test/older.png": moved("http://cdn.test/oldest.png"),
    "http://a.test/loop1.png": moved("/loop2.png"),
    "http://a.test/loop2.png": moved("/loop1.png"),
    **{f"http://a.test/hop{k}.png": moved(f"/hop{k + 1}.png") for k in range(10)},
    "http://a.test/same.png": png("/a.png"),
    "http://a.test/huge.png": FakeResponse(PNG + bytes(MAX_ASSET_BYTES), content_type="image/png"),
    "http://a.test/shy.png": png("shy", headers=(("X-Robots-Tag", "noarchive"),)),
}  # fmt: skip
NAMES = (
    "icon.png", "touch.png", "in-style.png", "body.png", "a.png", "a2.png", "late.png", "p1.png", "p2.png",
    "poster.png", "film.mp4", "film.vtt", "sound.ogg", "button.png", "thing.swf", "thing.svg", "drawn.png",
    "signs.svg", "set1.png", "set2.png", "only-next.png", "of-style.png", "of%20more.png", "module.js",
    "app.webmanifest",
)  # fmt: skip
PICTURES = (
    *(f"http://a.test/{name}" for name in NAMES),
    *(f"http://cdn.test/{name}" for name in ("early.woff", "lib.js", "a3.png", "font.woff2", "oldest.png")),
    *(f"http://f.test/{name}" for name in ("of-frame.png", "deep.png", "deeper.png")),
)
ARCHIVED = {
    *PICTURES, "http://a.test/same.png", "http://a.test/style.css", "http://a.test/more.css",
    "http://a.test/evenmore.css", "http://f.test/frame", "http://f.test/frame2", "http://f.test/frame3",
    "http://f.test/frame4", "http://f.test/frame.css", "http://a.test/old.png", "http://a.test/older.png",
    "http://a.test/gone.png", "http://a.test/loop1.png", "http://a.test/loop2.png",
    *(f"http://a.test/hop{k}.png" for k in range(6)),
}  # fmt: skip
REDIRECTS = {
    url for url, response in PAGES.items() if isinstance(response, FakeResponse) and response.status == 302
} & ARCHIVED
REFUSED = {
    "http://b.test/forbidden/x.png": "robots.txt",
    "http://a.test/huge.png": "too large",
}
ROBOTS = {"b.test": "User-agent: *\nDisallow: /forbidden"}


def site(**more: Any) -> MadeSite:
    """Return the site; `more` are other responses, by URL."""
    pictures = {url: png("/" + url.rpartition("/")[2]) for url in PICTURES}
    return MadeSite({**pictures, **PAGES, **more}, ROBOTS)


def settings(**crawl: Any) -> dict[str, dict[str, Any]]:
    """Return settings with one worker and one request per host at a time, for a deterministic order of pages."""
    return {
        "crawl": {"robots": True, "workers": 1, "assets": True, **crawl},
        "politeness": {"connections": 1},
        "fetch": {"max_asset_bytes": MAX_ASSET_BYTES},
    }


def assets_of(folder: Path) -> list[AssetRow]:
    with FolderView.open(folder) as view:
        return list(view.database.assets.all())


def bodies_of(folder: Path) -> dict[str, bytes]:
    """Return the archived body of each asset by its last request."""
    with FolderView.open(folder) as view:
        read = {row.url: view.database.assets.read(view.archive, row) for row in view.database.assets.all()}
    return {url: page.body for url, page in read.items() if page is not None}


def as_in_format_7(folder: Path) -> None:
    """Remove the columns of crawl.db that format 7 did not have."""
    columns = {
        "part": ("credentials",),
        "rendered": ("sent_digest", "rendered_digest"),
        "revisit": ("repeated", "missing_as", "former_digest"),
    }
    connection = sqlite3.connect(folder / "crawl.db")
    with connection:
        for table, names in columns.items():
            for name in names:
                connection.execute(f"ALTER TABLE {table} DROP COLUMN {name}")
        connection.execute("PRAGMA user_version = 7")
    connection.close()
