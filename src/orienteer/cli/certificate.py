"""`orienteer certificate` and `orienteer verify`: state the coverage of a crawl on a page to share, and check it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from orienteer.cli import display
from orienteer.cli.command import QUALITY, command
from orienteer.cli.graph_options import check_place
from orienteer.errors import InputError
from orienteer.wording import counted, is_link

_SUFFIXES = (".html", ".htm", ".json", "")
_HAS_DIFFERENCES = 3


@command(QUALITY)
def certificate(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    out: Path | None = typer.Option(
        None,
        "-o",
        "--output",
        metavar="FILE",
        help="File to write: .html, or .json for the data alone. Default: DIR.certificate.html",
    ),
    read_stored: bool = typer.Option(
        False, "--read-remote", help="Read archive files in object storage again, to compute their digests."
    ),
    json: bool = typer.Option(False, "--json", help="Print the certificate as JSON; write no page."),
) -> None:
    """Write a certificate of a crawl: one page to send, print or publish.

    It states what was crawled and when, which coverage is proved and measured, what is blocked, unknown, skipped and
    failed, and the SHA-256 of every archive file. All figures are recomputed first; if they do not follow from the
    pages in the folder, no certificate is written. To check it against the folder: [bold]orienteer verify[/bold].

    Example: [bold]orienteer certificate example.org-crawl -o example.org.html[/bold]
    """
    import json as as_json

    from orienteer.certificates.certificate_text import headline
    from orienteer.certificates.gathering import facts_of_folder
    from orienteer.certificates.page import certificate_page
    from orienteer.files.plain import replaced

    check_place(out)
    if out is not None and out.suffix.lower() not in _SUFFIXES:
        raise InputError(
            f"-o {out}: a certificate is written as .html or .json; for a PDF, print the page from a browser"
        )
    with display.progress_bar() as progress:
        facts = facts_of_folder(folder, read_stored, progress)
    if json and out is None:
        display.print_json(facts.as_json())
        return
    path = out or folder.resolve().with_name(f"{folder.resolve().name}.certificate.html")
    is_data = json or path.suffix.lower() == ".json"
    text = as_json.dumps(facts.as_json(), indent=1) + "\n" if is_data else certificate_page(facts)
    try:
        with replaced(path) as new:
            new.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    console = display.console()
    for line in (f"{path}: {headline(facts)}", f"SHA-256 of the facts: {facts.digest}"):
        console.print(line, soft_wrap=True, markup=False, highlight=False)


@command(QUALITY)
def verify(
    paths: list[Path] = typer.Argument(
        metavar="[CERTIFICATE] DIR", help="Crawl folder; before it, optionally, a certificate to compare with it."
    ),
    quick: bool = typer.Option(False, "--quick", help="Trust crawl.db; do not read the archived pages."),
    read_stored: bool = typer.Option(False, "--read-remote", help="Also read archive files in object storage."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Verify the coverage of a crawl from its folder: the proved bounds, and the random walks.

    Every archived page is read again and compared with crawl.db, and the coverage is recomputed from the pages and the
    random seed of the walks; nothing is fetched or written. If the archive does not confirm some fetched pages, the
    bounds without them come first. A certificate (orienteer certificate) is compared with the folder: its figures, the
    digests of the archive, and the text of the page with its data. If the crawl has continued since, it is checked for
    the time of the certificate.

    Exit code 0: verified; 3: there are differences, one line each; 2: the folder or the certificate cannot be read.

    Example: [bold]orienteer verify example.org.html example.org-crawl[/bold]
    """
    from orienteer.certificates.checking import CertificateCheck, check_certificate
    from orienteer.inspect.verify import Verification
    from orienteer.inspect.verify import verify as verified
    from orienteer.store.folder_view import FolderView
    from orienteer.store.wrong_digests import n_wrong_digests

    *certificates, folder = paths
    if len(certificates) > 1:
        raise InputError("verify takes a crawl folder, or a certificate and a crawl folder")
    if certificates and certificates[0].is_dir():
        raise InputError(f"{paths[0]} is a folder; the certificate comes first: orienteer verify CERTIFICATE DIR")
    if folder.is_file():
        raise InputError(f"{folder} is a file; to check a certificate, add the crawl folder")
    with display.progress_bar() as progress:
        found: CertificateCheck | Verification
        if certificates:
            found = check_certificate(certificates[0], folder, quick, read_stored, progress)
        else:
            found = verified(folder, progress, quick, read_stored)
    with FolderView.open(folder) as crawl:
        n_wrong = n_wrong_digests(crawl)
    notes = [*found.notes, *([_on_digests(n_wrong, folder)] if n_wrong else [])]
    lines = (*(found.problems or (str(found),)), *(f"note: {note}" for note in notes))
    display.print_result(found.as_dict() | {"n_wrong_digests": n_wrong}, json, lambda: _print(lines))
    if not found.holds:
        raise typer.Exit(_HAS_DIFFERENCES)


def _on_digests(n_wrong: int, folder: Path) -> str:
    """Describe records with a wrong digest, which do not affect the coverage."""
    records = counted(n_wrong, "WARC record states", "WARC records state")
    return (
        f"{records} the payload digest of the rendered page, as version 0.2.0 wrote them; `orienteer repair {folder}` "
        "corrects them"
    )


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        first = line[:1] if is_link(line) else line[:1].upper()
        text = first + line[1:].removesuffix(".") + "."
        display.console().print(text, soft_wrap=True, markup=False, highlight=False)
