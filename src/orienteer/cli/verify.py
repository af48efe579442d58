"""`orienteer verify`: whether what a crawl folder claims, or a certificate of it, follows from what it holds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from orienteer.cli import display

_DOES_NOT_HOLD = 3


def verify(
    paths: list[Path] = typer.Argument(
        metavar="[CERTIFICATE] DIR", help="A crawl folder; before it, a certificate to be compared with it."
    ),
    quick: bool = typer.Option(False, "--quick", help="With a certificate: do not read every archived page again."),
    read_stored: bool = typer.Option(
        False, "--read-stored", help="With a certificate: read what is in object storage again."
    ),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Check that the coverage a crawl claims follows from its folder: the certificate, and the survey's walks.

    Everything is recomputed from the pages and the seed of the walks; no page is fetched, and nothing is written. With
    a certificate that somebody made (orienteer certificate), that is compared with the folder: its figures, the digests
    of the archive, what the archived pages say, and whether the page shows what its data say. Where the crawl has gone
    on since, it is checked for the moment that it is of.

    Exit code 0: all is as it says; 3: it is not, and each difference is a line; 2: it cannot be read.

    Example: [bold]orienteer verify example.org.html example.org-crawl[/bold]
    """
    from orienteer.errors import InputError
    from orienteer.inspect.verify import verify as verified

    if len(paths) > 2:
        raise InputError("verify takes a crawl folder, or a certificate and a crawl folder")
    if len(paths) == 2:
        if paths[0].is_dir():
            raise InputError(f"{paths[0]} is a folder; the certificate comes first: orienteer verify CERTIFICATE DIR")
        return _verify_certificate(paths[0], paths[1], quick, read_stored, json)
    if paths[0].is_file():
        raise InputError(f"{paths[0]} is a file; to compare a certificate, name the crawl folder, too")
    if quick or read_stored:
        raise InputError("--quick and --read-stored are for comparing a certificate with a folder")
    with display.progress_bar() as progress:
        found = verified(paths[0], progress)
    if json:
        display.print_json(found.as_dict())
    else:
        _say(found.problems or (str(found),))
    if not found.holds:
        raise typer.Exit(_DOES_NOT_HOLD)


def _verify_certificate(certificate: Path, folder: Path, quick: bool, read_stored: bool, json: bool) -> None:
    from orienteer.certificates.checking import check_certificate

    with display.progress_bar() as progress:
        found = check_certificate(certificate, folder, quick, read_stored, progress)
    if json:
        display.print_json(found.as_dict())
    else:
        _say((*(found.problems or (str(found),)), *(f"note: {note}" for note in found.notes)))
    if not found.holds:
        raise typer.Exit(_DOES_NOT_HOLD)


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        text = line[:1].upper() + line[1:].removesuffix(".") + "."
        display.console().print(text, soft_wrap=True, markup=False, highlight=False)
