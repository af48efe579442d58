"""What a page hook is given."""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.answers.answer import Fetched
from orienteer.answers.headers import Headers
from orienteer.extract.charset import decoded
from orienteer.extract.page import Page


@dataclass(frozen=True, slots=True)
class HookPage:
    """A page that was fetched, and what was read of it.

    `content` is the body, unpacked. `headers` are looked up in any case: `page.headers.get("x-price")`. `links` are
    canonical; `headings` are those of the first three levels; `language` is the one that the page declares, or "";
    `charset` is what the Content-Type states.
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
    def of(cls, answer: Fetched, page: Page) -> HookPage:
        return cls(
            url=answer.request.url,
            status=answer.status,
            headers=answer.headers,
            content=answer.content,
            content_type=answer.content_type,
            charset=answer.charset,
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
