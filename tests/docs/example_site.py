"""The example.org of the documents: the town of the demo under another name.

`example.org` is its town hall, `library.example.org` its library, and so on; other hosts have their own names.
"""

from __future__ import annotations

from dataclasses import replace

from orienteer.fake_web.community.addresses import HALL, TOWN
from orienteer.fake_web.community.site import CommunitySite
from orienteer.fake_web.fake_response import FakeResponse
from orienteer.fake_web.site import RequestHeaders, Site

NAME = "example.org"


class ExampleSite(Site):
    def __init__(self, town: CommunitySite) -> None:
        self._town = town

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        name = HALL if host == NAME else host.replace(NAME, TOWN)
        response = self._town.response(name, target, headers)
        named = tuple((key, _renamed(value)) for key, value in response.headers)
        is_text = (response.content_type or "").startswith("text/")
        return replace(response, body=_renamed(response.body) if is_text else response.body, headers=named)


def _renamed(text: str | bytes) -> str:
    return (text.decode() if isinstance(text, bytes) else text).replace(HALL, NAME).replace(TOWN, NAME)
