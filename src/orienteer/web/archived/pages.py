"""What pages need to show archived ones: the other origin, and the views that are open; one for all crawls."""

from __future__ import annotations

import re

from starlette.requests import Request

from orienteer.errors import InputError
from orienteer.web.archived.origin import ArchivedOrigin
from orienteer.web.archived.views import Opening, View, Views, origin_of
from orienteer.web.security import is_loopback, name_of

_ORIGIN = re.compile(r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?/?")


class ArchivedPages:
    """`port` is that of the other origin, when the server listens; `at` is what browsers call it, if that differs."""

    def __init__(self, only_this_machine: bool, at: str | None = None) -> None:
        if at is not None and not _ORIGIN.fullmatch(at):
            raise InputError(f"--archived-at is {at!r}; an origin is expected, such as https://archive.example.org")
        self.views = Views()
        self.origin = ArchivedOrigin(self.views, only_this_machine)
        self.port: int | None = None
        self._at = None if at is None else at.rstrip("/")

    def begin_view(self, request: Request, archive: Opening) -> View:
        """Of whoever asks: the other origin has the name by which these pages are known there, and another port."""
        scheme, host = request.url.scheme, request.headers.get("host", "")
        named = "localhost" if host.startswith("[") and is_loopback(name_of(host)) else host
        pages, own = origin_of(scheme, host), self._at or origin_of(scheme, named, self.port)
        if pages is None or own is None or pages == own:
            raise InputError("Archived pages can only be shown where the server has a name and a second port.")
        if "[" in own:  # a content security policy cannot name such an address
            raise InputError("Archived pages cannot be shown at an IPv6 address: open these pages by a name.")
        return self.views.begin(pages, own, request.scope.get("root_path", ""), archive)


def archived_pages(request: Request) -> ArchivedPages:
    pages = request.app.state.archived
    assert isinstance(pages, ArchivedPages)
    return pages
