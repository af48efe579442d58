"""The argument of page hooks."""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.extract.page import Page
from orienteer.extract.parser import decoded
from orienteer.responses.headers import Headers
from orienteer.responses.response import Response


@dataclass(frozen=True, slots=True)
class HookPage:
    """A fetched and parsed page.

    `content` is the decoded body. The lookup of `headers` is case-insensitive: `page.headers.get("x-price")`. `links`
    are canonical; `headings` are of the first three levels; `language` is declared by the page, or ""; `charset` is
    from the Content-Type header.
    """

    url: str
    status: int
    headers: Headers
    content: bytes
    content_type: str
    charset: str | None
    title: str
    text: str
    language: str
    description: str
    links: tuple[str, ...]
    headings: tuple[str, ...]

    @classmethod
    def of(cls, response: Response, page: Page) -> HookPage:
        return cls(
            url=response.request.url,
            status=response.status,
            headers=response.headers,
            content=response.content,
            content_type=response.content_type,
            charset=response.charset,
            title=page.title,
            text=page.text,
            language=page.language,
            description=page.description,
            links=tuple(page.links),
            headings=tuple(page.headings),
        )

    @property
    def html(self) -> str:
        """The content as text."""
        return decoded(self.content, self.charset)
