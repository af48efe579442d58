"""The example.org of the documents: the town of the demo under another name.

`example.org` is its town hall, `library.example.org` its library, and so on; other hosts have their own names.
"""

from __future__ import annotations

from dataclasses import replace

from orienteer.fake_web.page import SiteResponse
from orienteer.fake_web.site import TownSite
from orienteer.fake_web.town import TOWN, host_name

NAME = "example.org"
HALL = host_name("www")


class ExampleSite:
    def __init__(self, town: TownSite) -> None:
        self._town = town

    def response(self, host: str, target: str) -> SiteResponse:
        name = HALL if host == NAME else host.replace(NAME, TOWN)
        response = self._town.response(name, target)
        named = tuple((key, _renamed(value)) for key, value in response.headers)
        is_text = response.content_type.startswith("text/")
        return replace(
            response, body=_renamed(response.body.decode()).encode() if is_text else response.body, headers=named
        )


def _renamed(text: str) -> str:
    return text.replace(HALL, NAME).replace(TOWN, NAME)
