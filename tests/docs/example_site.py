"""example.org as the documents have it: the town of the demo under another name.

`example.org` is its town hall, `library.example.org` its library, and so on; other hosts keep their names.
"""

from __future__ import annotations

from dataclasses import replace

from orienteer.fake_web.answers import Answer
from orienteer.fake_web.community.addresses import HALL, TOWN
from orienteer.fake_web.community.site import CommunitySite
from orienteer.fake_web.site import RequestHeaders, Site

NAME = "example.org"


class ExampleSite(Site):
    def __init__(self, town: CommunitySite) -> None:
        self._town = town

    def answer(self, host: str, target: str, headers: RequestHeaders) -> Answer:
        name = HALL if host == NAME else host.replace(NAME, TOWN)
        answer = self._town.answer(name, target, headers)
        named = tuple((key, _renamed(value)) for key, value in answer.headers)
        is_text = (answer.content_type or "").startswith("text/")
        return replace(answer, body=_renamed(answer.body) if is_text else answer.body, headers=named)


def _renamed(text: str | bytes) -> str:
    return (text.decode() if isinstance(text, bytes) else text).replace(HALL, NAME).replace(TOWN, NAME)
