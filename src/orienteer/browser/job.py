"""Input and output of the browser: values that can be sent between processes.

A rendered page is a `RenderedPage` (`responses/rendered`).
"""

from __future__ import annotations

from typing import NamedTuple

from orienteer.browser.render_settings import RenderSettings
from orienteer.responses.response import PageRequest, Response


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
