"""A folder of crawl folders."""

from __future__ import annotations

from pathlib import Path

from orienteer.library.card import Card


def default_library() -> Path:
    """Where crawls are kept that were started without a word about a folder."""
    raise NotImplementedError


class Library:
    """A folder of crawl folders; it is made, for this user alone, when something is first written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        """The crawls in it, sorted. Hidden names, links and files are none."""
        raise NotImplementedError

    def path_of(self, name: str) -> Path:
        """The folder of a crawl; InputError where the name is not plain, NotInLibraryError where there is none."""
        raise NotImplementedError

    def name_for(self, url: str) -> str:
        """A free name for a crawl that begins at this URL: `example.org`, `example.org-2`."""
        raise NotImplementedError

    def cards(self) -> list[Card]:
        """What is shown of each crawl, damaged ones included, and of those that are about to begin."""
        raise NotImplementedError

    def card(self, name: str) -> Card:
        """The card of one crawl."""
        raise NotImplementedError

    def rename(self, name: str, new: str) -> None:
        """Give a crawl another name; refused while anything works on it."""
        raise NotImplementedError

    def delete(self, name: str) -> None:
        """Delete a crawl; refused while anything works on it. A kill leaves no half crawl under its name."""
        raise NotImplementedError
