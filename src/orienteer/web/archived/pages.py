"""The second origin, which serves archived pages, and its open views; one for all crawls."""

from __future__ import annotations

import re

from starlette.requests import Request

from orienteer.errors import InputError
from orienteer.web.archived.origin import ArchivedOrigin
from orienteer.web.archived.views import FrameView, Opening, Views, origin_of
from orienteer.web.security import is_loopback, name_of

_ORIGIN = re.compile(r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?/?")


class ArchivedPages:
    """The archived pages of a server. `port` is set when the server listens; `at` is the origin as browsers see it."""

    def __init__(self, only_this_machine: bool, at: str | None = None) -> None:
        if at is not None and not _ORIGIN.fullmatch(at):
            raise InputError(f"--archive-origin is {at!r}; an origin is expected, such as https://archive.example.org")
        self.views = Views()
        self.origin = ArchivedOrigin(self.views, only_this_machine)
        self.port: int | None = None
        self._at = None if at is None else at.rstrip("/")

    def begin_view(self, request: Request, archive: Opening) -> FrameView:
        """Open a view for a client. The second origin is the host of the request on another port, or `at`."""
        scheme, host = request.url.scheme, request.headers.get("host", "")
        named = "localhost" if host.startswith("[") and is_loopback(name_of(host)) else host
        pages, own = origin_of(scheme, host), self._at or origin_of(scheme, named, self.port)
        if pages is None or own is None or pages == own:
            raise InputError("Archived pages need a server with a host name and a second port.")
        if "[" in own:  # a content security policy cannot name such an address
            raise InputError("Archived pages cannot be displayed at an IPv6 address: open these pages by a host name.")
        return self.views.begin(pages, own, request.scope.get("root_path", ""), archive)


def archived_pages(request: Request) -> ArchivedPages:
    pages = request.app.state.archived
    assert isinstance(pages, ArchivedPages)
    return pages
