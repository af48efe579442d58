"""Everything Orienteer raises on purpose.

    OrienteerError            one clear line for the user; the CLI prints it and exits with code 2
    ├── InputError            a value, name or option that cannot be used as given
    ├── GraphFileError        a file or folder that is not the graph it should be
    ├── CrawlFolderError      a crawl folder that cannot be opened or written: in use, read-only, full, damaged
    ├── SeedError             a crawl that could not fetch a single page: a wrong address, a closed port, no HTML
    ├── LoginError            a new crawl that could not log in where it should
    ├── ExportError           an export that cannot be written: a full disk, no access, something in its place
    ├── LibraryError          an operation on a library that is not possible now: a job is running, or too many are
    │   └── NotInLibraryError     there is no crawl or job of that name
    ├── ProcessError          no worker process can be started, or all of them crashed
    └── MissingExtraError     an optional package is not installed

    DamagedArchiveWarning     a Python warning: damaged records of an archive were skipped
    SkippedPageWarning        a Python warning: a page that killed the processes that read it was skipped

A message names the value and the choices. A 404 or a timeout is an outcome of a fetch, not an error.
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
    """Damaged records of a WARC archive were skipped."""


class SkippedPageWarning(UserWarning):
    """A page was skipped, since it killed the processes that read it, or is an unreadable document."""


class CrawlFolderError(OrienteerError):
    """A crawl folder that cannot be opened or written: in use, read-only, full, damaged, of another version."""


class SeedError(OrienteerError):
    """No page could be fetched, from any seed: a name without an address, a closed port, something that is no page."""


class LoginError(OrienteerError):
    """A new crawl that could not log in where it should: a wrong password, another form."""


class ExportError(OrienteerError):
    """An export that cannot be written: the disk is full, access is denied, something else is in its place."""


class LibraryError(OrienteerError):
    """An operation on a library that is not possible now: a job works on the crawl, or the name is taken."""


class NotInLibraryError(LibraryError):
    """There is no crawl, or no job, of this name in the library."""


class ProcessError(OrienteerError):
    """No worker process can be started, or all of them crashed."""


class MissingExtraError(OrienteerError):
    """An optional package is not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs {package}: pip install 'orienteer[{extra}]'")


def unknown_name(kind: str, name: str, choices: Iterable[str]) -> InputError:
    """Return an error such as `no format named 'parqet'; did you mean 'parquet'? (choices: ...)`."""
    known = sorted(choices)
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return InputError(f"no {kind} named {name!r}{hint} (choices: {', '.join(known)})")
