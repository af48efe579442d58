"""The folder of a page, for reports: its host, and the first folder of its path."""

from __future__ import annotations

from orienteer.url import host_of


def folder_of(url: str) -> str:
    """Return the host and the first folder of the path; pages in no folder are at the host's top.

    >>> folder_of("http://example.org/docs/en/intro.html")
    'example.org/docs/'
    >>> folder_of("http://example.org/docs?page=2")
    'example.org/'
    """
    path = url.partition("://")[2].partition("/")[2].partition("?")[0].partition("#")[0]
    first, slash, _ = path.partition("/")
    return f"{host_of(url)}/{first}/" if slash else f"{host_of(url)}/"
