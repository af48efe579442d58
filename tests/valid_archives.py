"""What `warcio check` and `wacz validate` say of archives, and `warcio check` of every record that a test archives."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, BinaryIO

from warcio.archiveiterator import ArchiveIterator

from orienteer.store.archive import Archive, Position


def warc_problems(stream: BinaryIO) -> list[str]:
    """What `warcio check` finds wrong with a WARC file."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        records = ArchiveIterator(stream, check_digests=True)
        for record in records:
            content = record.content_stream()
            while content.read(1 << 20):
                pass
            headers = record.rec_headers
            name = f"{headers.get_header('WARC-Type')} {headers.get_header('WARC-Target-URI')}"
            found += [f"{name}: {problem}" for problem in record.digest_checker.problems]
            if record.rec_type in ("response", "resource") and record.digest_checker.passed is None:
                found.append(f"{name}: its digest was not checked")
        if records.err_count:
            found.append("a record is not followed by empty lines")
    return found


def unequal_revisits(stream: BinaryIO) -> list[str]:
    """The revisits whose payload digest is not that of the record that they refer to, and those that refer to none."""
    digests: dict[tuple[str, str], str] = {}
    revisits = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        for record in ArchiveIterator(stream):
            get = record.rec_headers.get_header
            if record.rec_type == "response":
                digests[get("WARC-Target-URI"), get("WARC-Date")] = get("WARC-Payload-Digest")
            elif record.rec_type == "revisit":
                refers_to = get("WARC-Refers-To-Target-URI"), get("WARC-Refers-To-Date")
                revisits.append((get("WARC-Target-URI"), refers_to, get("WARC-Payload-Digest")))
    return [url for url, refers_to, digest in revisits if digests.get(refers_to) != digest]


def folder_problems(folder: Path) -> list[str]:
    """The same for all files of a crawl's archive."""
    files = [path.read_bytes() for path in sorted((folder / "archive").glob("*.warc.gz"))]
    assert files
    return [problem for file in files for problem in warc_problems(io.BytesIO(file))] + unequal_revisits(
        io.BytesIO(b"".join(files))
    )


def validated(path: Path) -> str:
    """What `wacz validate` says."""
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()) as said:
        warnings.simplefilter("ignore")
        from wacz.main import main

        code = main(["validate", "-f", str(path)])
    return f"{code} {said.getvalue().splitlines()[-1]}"


@contextmanager
def every_record_checked() -> Iterator[None]:
    """Each record that this process archives goes through `warcio check`, wherever it was made."""
    append = Archive.append_member

    def checked(self: Archive, member: bytes) -> Position:
        problems = warc_problems(io.BytesIO(member))
        assert not problems, problems
        return append(self, member)

    Archive.append_member = checked  # type: ignore[method-assign]
    try:
        yield
    finally:
        Archive.append_member = append  # type: ignore[method-assign]


def records(path: Path) -> list[tuple[Any, ...]]:
    """Kind, URL, date and content of the records of a file."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                get = record.rec_headers.get_header
                found.append((record.rec_type, get("WARC-Target-URI"), get("WARC-Date"), record.raw_stream.read()))
    return found
