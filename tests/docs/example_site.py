"""The example.org of the documents: the town of the demo under another name.

`example.org` is its town hall, `library.example.org` its library, and so on; other hosts have their own names.
"""

from __future__ import annotations

from orienteer.fake_web.site import TownSite
from orienteer.fake_web.town import TOWN, host_name
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.site import RequestHeaders, Site

NAME = "example.org"
HALL = host_name("www")


class ExampleSite(Site):
    def __init__(self, town: TownSite) -> None:
        self._town = town

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        name = HALL if host == NAME else host.replace(NAME, TOWN)
        response = self._town.response(name, target)
        is_text = response.content_type.startswith("text/")
        body = _renamed(response.body.decode()) if is_text else response.body
        named = tuple((key, _renamed(value)) for key, value in response.headers)
        return FakeResponse(body, response.status, named, response.content_type)


def _renamed(text: str) -> str:
    return text.replace(HALL, NAME).replace(TOWN, NAME)
