"""The corpus of hostile answers, and a site that serves them all.

http://hostile.test/            links to every case
http://hostile.test/<name>      most cases
http://<name>.test/robots.txt   hostile robots.txt files and sitemaps have a host each; its home page is a kind one
http://hostile.test/found       what the links of hostile pages lead to
"""

from __future__ import annotations

import re

from orienteer.fake_web.answers import NOT_FOUND, Answer, redirect_to
from orienteer.fake_web.site import MadeSite, RequestHeaders, place_of
from tests.fake_web.hostile_case import HOST, OUTCOMES, HostileCase
from tests.fake_web.hostile_codings import CODINGS
from tests.fake_web.hostile_pages import PAGES
from tests.fake_web.hostile_places import PLACES
from tests.fake_web.hostile_wire import WIRE

__all__ = ["HOME", "HOST", "HOSTILE", "OUTCOMES", "HostileCase", "hostile_site"]

HOSTILE: list[HostileCase] = [*PAGES, *CODINGS, *WIRE, *PLACES]

HOME = f"http://{HOST}/"
_HOP = re.compile(r"/redirect-chain/(\d+)")


def hostile_site() -> MadeSite:
    """Every case at its place. Answers are made when they are asked for."""
    links = "".join(f'<li><a href="{case.url}">{case.name}</a>\n' for case in HOSTILE if not case.any_type)
    hosts = sorted({place_of(case.url)[0] for case in HOSTILE if case.any_type})
    links += "".join(f'<li><a href="http://{host}/">{host}</a>\n' for host in hosts)
    site = _HostileSite(
        {
            HOME: f"<!DOCTYPE html><title>Hostile answers</title><ul>{links}</ul>",
            f"http://{HOST}/found": "<!DOCTYPE html><title>Found</title>",
            **{f"http://{host}/": f"<!DOCTYPE html><title>{host}</title><a href=/x>x</a>" for host in hosts},
            **{case.url: lambda host, target, headers, case=case: case.answer for case in HOSTILE},
        }
    )
    return site


class _HostileSite(MadeSite):
    """What is made, and the hops of long redirects."""

    def page_answer(self, host: str, target: str, headers: RequestHeaders) -> Answer:
        answer = super().page_answer(host, target, headers)
        if answer is not NOT_FOUND or host != HOST:
            return answer
        if match := _HOP.fullmatch(target):
            n_left = int(match[1]) - 1
            return redirect_to(f"/redirect-chain/{n_left}" if n_left else "/found")
        if target.startswith("/redirect-growing/"):
            return redirect_to(target + "x" * 30 + "/", 302)
        return answer
