"""Rendering: its settings, and the input and output of the browser, which can be sent between processes.

A rendered page is a `RenderedPage` (`responses/rendered`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from orienteer.errors import InputError
from orienteer.settings import check, setting

if TYPE_CHECKING:
    from orienteer.responses.response import Response  # the settings are imported for the help of commands

_MODES = ("auto", "never", "always")


@dataclass(frozen=True)
class RenderSettings:
    """Which pages are rendered in a browser, and how. Limits of time do not count the wait for assets."""

    mode: str = setting(
        "auto",
        "Pages to render in a browser: auto (those that scripts build), never, always, or a URL pattern such as "
        "https://example.org/app/*.",
        option="--render", metavar="auto|never|always|PATTERN", group="Network", basic=True,
    )  # fmt: skip
    scrolls: int = setting(
        2, "Scroll a page, or press its button for more, up to this often while it loads more.", least=0, most=1_000
    )
    screenshots: bool = setting(False, "Store a screenshot of each rendered page.")
    max_share: float = setting(0.5, "With auto: the largest share of pages to render.", least=0, most=1)
    max_pages: int = setting(100_000, "Maximum number of pages to render.", least=0)
    time_s: float = setting(10.0, "Seconds for a page.", least=0.1, most=600)
    cpu_s: float = setting(20.0, "Seconds of computing for a page.", least=0.1, most=600)
    max_requests: int = setting(200, "Maximum number of requests of a page.", least=0)
    max_bytes: int = setting(50 << 20, "Maximum size of their responses together, in bytes.", least=0)

    def __post_init__(self) -> None:
        if self.mode not in _MODES and "/" not in self.mode:
            raise InputError(f"render mode is {self.mode!r}; write auto, never, always, or a pattern with a * in a URL")
        check(self)


class RenderJob(NamedTuple):
    """A page to render: the response with its main document.

    `number` is unique within a renderer. Without `pictures` requests for images, fonts and media are refused without
    asking the owner: links do not depend on them. The page has `wall_s` of real time, without the time that the owner
    takes for responses; `time_s` of the settings is virtual time, which passes as fast as the page can run.
    """

    number: int
    response: Response
    settings: RenderSettings = RenderSettings()
    user_agent: str = ""
    pictures: bool = False
    wall_s: float = 60.0

    @property
    def url(self) -> str:
        return self.response.request.url

    @property
    def page(self) -> int:
        from orienteer.responses.response import PageRequest

        request = self.response.request
        assert isinstance(request, PageRequest)
        return request.page

    @property
    def with_credentials(self) -> bool:
        """The document was fetched with credentials, so requests of its own origin may carry them, too."""
        return self.response.request.secrets is not None


class BrowserRequest(NamedTuple):
    """A request of a page that is being rendered; `number` is unique within a renderer.

    The first of each page has an empty URL: it reports that the page was fetched and will be rendered. `kind` is
    script, style, fetch, frame, image, font, media, preflight or other. `method` is GET, or OPTIONS for a preflight.
    `headers` are the CORS request headers. `with_credentials`: the request certainly comes from the page's own origin
    and may carry its credentials.
    """

    page: int
    number: int
    url: str
    kind: str
    with_credentials: bool = False
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()


class BrowserResponse(NamedTuple):
    """The response to a BrowserRequest, or why there is none: then the request fails in the page. Redirects are not
    followed."""

    page: int
    number: int
    response: Response | None
    refused: str = ""

    @property
    def refusal(self) -> str:
        """Why the page gets no response; "" if it gets one."""
        if self.response is None:
            return self.refused or "no response"
        return self.refused or ("" if self.response.status else self.response.reason)
