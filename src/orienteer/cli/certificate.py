"""`orienteer certificate`: a page to share that states what a crawl has covered, and how to verify it."""

from __future__ import annotations

from pathlib import Path

import typer

from orienteer.cli import display
from orienteer.cli.order_file import check_place
from orienteer.errors import InputError

_SUFFIXES = (".html", ".htm", ".json", "")


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
