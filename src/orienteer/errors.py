"""Everything Orienteer raises on purpose.

    OrienteerError            one clear line for a person; the CLI prints it and exits with code 2
    ├── InputError            a value, name or option that cannot be used as given
    ├── GraphFileError        a file or folder that is not the graph it should be
    ├── CrawlFolderError      a crawl folder that cannot be opened or written: in use, read-only, full, damaged
    ├── SeedError             a crawl that could not fetch a single page: a wrong address, a closed port, no HTML
    ├── LoginError            a new crawl that could not log in where it should
    ├── ExportError           an export that cannot be written: a full disk, no access, something in its place
    ├── LibraryError          what cannot be done with a crawl of a library: something works on it, or on too many
    │   └── NotInLibraryError     there is no crawl or job of that name
    ├── ProcessError          no process can be started beside this one, or all of them died
    └── MissingExtraError     an optional package is not installed

    DamagedArchiveWarning     a Python warning: of a damaged archive what is whole was read, and the rest was skipped
    SkippedPageWarning        a Python warning: a page that no process survived to read was skipped

A message names the value and what would have been right. A 404 or a time-out is an outcome of a fetch, not an error.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class OrienteerError(Exception):
    """Base of all errors a user can cause; `str(error)` is one line."""


class InputError(OrienteerError, ValueError):
    """A value, name or option that cannot be used as given."""


class GraphFileError(OrienteerError):
    """A file or folder that is not the graph it should be: missing, truncated, corrupt, of another kind."""


class DamagedArchiveWarning(UserWarning):
    """Parts of a WARC archive are damaged and were skipped."""


class SkippedPageWarning(UserWarning):
    """The processes that read a page died of it, or it is a document that cannot be read, and it was skipped."""


class CrawlFolderError(OrienteerError):
    """A crawl folder that cannot be opened or written: in use, read-only, full, damaged, of another version."""


class SeedError(OrienteerError):
    """No page could be fetched, from any seed: a name without an address, a closed port, something that is no page."""


class LoginError(OrienteerError):
    """A new crawl that could not log in where it should: a wrong password, another form."""


class ExportError(OrienteerError):
    """An export that cannot be written: the disk is full, access is denied, something else is in its place."""


class LibraryError(OrienteerError):
    """A library of crawls cannot do this now: something works on the crawl, or the name is taken."""


class NotInLibraryError(LibraryError):
    """There is no crawl, or no job, of this name in the library."""


class ProcessError(OrienteerError):
    """No process can be started beside this one, or those that were died."""


class MissingExtraError(OrienteerError):
    """An optional package is not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs {package}: pip install 'orienteer[{extra}]'")


def unknown_name(kind: str, name: str, choices: Iterable[str]) -> InputError:
    """`no format named 'parqet'; did you mean 'parquet'? (choices: ...)`"""
    known = sorted(choices)
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return InputError(f"no {kind} named {name!r}{hint} (choices: {', '.join(known)})")
