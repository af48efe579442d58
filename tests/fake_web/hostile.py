"""The corpus of hostile responses, and a site that serves them.

http://hostile.test/            links to every case
http://hostile.test/<name>      most cases
http://<name>.test/robots.txt   hostile robots.txt files and sitemaps have a host each, with a benign home page
http://hostile.test/found       target of the links in hostile pages
"""

from __future__ import annotations

import re

from tests.fake_web.fake_response import NOT_FOUND, FakeResponse, redirect_to
from tests.fake_web.hostile_case import HOST, OUTCOMES, HostileCase
from tests.fake_web.hostile_codings import CODINGS
from tests.fake_web.hostile_pages import PAGES
from tests.fake_web.hostile_places import PLACES
from tests.fake_web.hostile_wire import WIRE
from tests.fake_web.site import MadeSite, RequestHeaders, host_and_target

__all__ = ["HOME", "HOST", "HOSTILE", "OUTCOMES", "HostileCase", "hostile_site"]

HOSTILE: list[HostileCase] = [*PAGES, *CODINGS, *WIRE, *PLACES]

HOME = f"http://{HOST}/"
_HOP = re.compile(r"/redirect-chain/(\d+)")


def hostile_site() -> MadeSite:
    """Return a site with every case; responses are generated on request."""
    links = "".join(f'<li><a href="{case.url}">{case.name}</a>\n' for case in HOSTILE if not case.any_type)
    hosts = sorted({host_and_target(case.url)[0] for case in HOSTILE if case.any_type})
    links += "".join(f'<li><a href="http://{host}/">{host}</a>\n' for host in hosts)
    site = _HostileSite(
        {
            HOME: f"<!DOCTYPE html><title>Hostile answers</title><ul>{links}</ul>",
            f"http://{HOST}/found": "<!DOCTYPE html><title>Found</title>",
            **{f"http://{host}/": f"<!DOCTYPE html><title>{host}</title><a href=/x>x</a>" for host in hosts},
            **{case.url: lambda host, target, headers, case=case: case.response for case in HOSTILE},
        }
    )
    return site


class _HostileSite(MadeSite):
    """The handmade cases, and the hops of long redirect chains."""

    def page_response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        response = super().page_response(host, target, headers)
        if response is not NOT_FOUND or host != HOST:
            return response
        if match := _HOP.fullmatch(target):
            n_left = int(match[1]) - 1
            return redirect_to(f"/redirect-chain/{n_left}" if n_left else "/found")
        if target.startswith("/redirect-growing/"):
            return redirect_to(target + "x" * 30 + "/", 302)
        return response
