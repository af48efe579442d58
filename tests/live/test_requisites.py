"""Crawls that keep what pages are shown with: everything once, politely, and without any effect on the crawl itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orienteer.fake_web.answers import Answer
from orienteer.fake_web.server import FakeWeb
from orienteer.fake_web.site import MadeSite
from orienteer.store.folder_view import FolderView
from orienteer.store.shown_tables import PartRow
from tests.live.live_crawls import crawled

HOME = "http://a.test/"
PNG = b"\x89PNG\r\n\x1a\n"


def png(name: str) -> Answer:
    return Answer(PNG + name.encode() * 30, content_type="image/png")


def css(text: str) -> Answer:
    return Answer(text, content_type="text/css")


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
<img src=http://b.test/forbidden/x.png><img src=/same.png><img src=/huge.png><a href=/next>next</a>
<a href=http://b.test/>b</a>"""
PAGES: dict[str, Any] = {
    HOME: HEAD + BODY,
    "http://a.test/next": HEAD + "<img src=/a.png><img src=/only-next.png><a href=/quiet>quiet</a>",
    "http://a.test/quiet": "<meta name=robots content=noarchive><img src=/unseen.png>",
    "http://b.test/": "<img src=http://a.test/a.png><a href=http://a.test/>a</a>",
    "http://f.test/frame": "<link rel=stylesheet href=frame.css><iframe src=frame2></iframe>",
    "http://f.test/frame2": "<img src=deep.png><iframe src=frame3></iframe>",
    "http://f.test/frame3": "<img src=deeper.png><iframe src=frame4></iframe>",
    "http://f.test/frame4": "<img src=deepest.png>",
    "http://f.test/frame.css": css("b { background: url(of-frame.png) }"),
    "http://a.test/style.css": css('@charset "utf-8"; a { background: url("of-style.png") } @font-face '
                                   "{ src: url(http://cdn.test/font.woff2) format('woff2') }"),
    "http://a.test/more.css": css("@import url(evenmore.css); /* url(never.png) */"),
    "http://a.test/evenmore.css": css("@import 'more.css'; i { cursor: url(of\\20 more.png) }"),
    "http://a.test/old.png": Answer(status=301, headers=(("Location", "/older.png"),)),
    "http://a.test/older.png": Answer(status=302, headers=(("Location", "http://cdn.test/oldest.png"),)),
    "http://a.test/same.png": png("/a.png"),
    "http://a.test/huge.png": Answer(PNG + bytes(3_000), content_type="image/png"),
}  # fmt: skip
PICTURES = [
    f"http://a.test/{name}"
    for name in [
        "icon.png",
        "touch.png",
        "in-style.png",
        "body.png",
        "a.png",
        "a2.png",
        "late.png",
        "p1.png",
        "p2.png",
        "poster.png",
        "film.mp4",
        "film.vtt",
        "sound.ogg",
        "button.png",
        "thing.swf",
        "thing.svg",
        "drawn.png",
        "signs.svg",
        "set1.png",
        "set2.png",
        "only-next.png",
        "of-style.png",
        "of%20more.png",
        "module.js",
        "app.webmanifest",
    ]
]
PICTURES += [f"http://cdn.test/{name}" for name in ["early.woff", "lib.js", "a3.png", "font.woff2", "oldest.png"]]
PICTURES += [f"http://f.test/{name}" for name in ["of-frame.png", "deep.png", "deeper.png"]]
KEPT = {*PICTURES, "http://a.test/same.png", "http://a.test/style.css", "http://a.test/more.css",
        "http://a.test/evenmore.css", "http://f.test/frame", "http://f.test/frame2", "http://f.test/frame3",
        "http://f.test/frame4", "http://f.test/frame.css", "http://a.test/old.png", "http://a.test/older.png",
        "http://a.test/gone.png"}  # fmt: skip
ROBOTS = {"b.test": "User-agent: *\nDisallow: /forbidden"}


def site() -> MadeSite:
    pictures = {url: png("/" + url.rpartition("/")[2]) for url in PICTURES}
    return MadeSite({**pictures, **PAGES}, ROBOTS)


def rows_of(folder: Path) -> dict[str, PartRow]:
    with FolderView.open(folder) as view:
        rows = list(view.database.parts())
    assert len({row.url for row in rows}) == len(rows)
    return {row.url: row for row in rows}


def settings(**crawl: Any) -> dict[str, dict[str, Any]]:
    return {
        "crawl": {"robots": True, "workers": 1, "requisites": True, **crawl},
        "politeness": {"connections": 1},
        "fetch": {"max_part_bytes": 2_000},
    }


def test_everything_is_kept_once(tmp_path: Path) -> None:
    with FakeWeb(site()) as web:
        crawled(web, [HOME, "http://b.test/"], tmp_path / "crawl", settings=settings(), scope="host")
    rows = rows_of(tmp_path / "crawl")
    print({u: r.outcome for u, r in rows.items()})
    assert {url for url, row in rows.items() if row.archived is not None} == KEPT
