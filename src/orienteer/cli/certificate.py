"""`orienteer certificate`: a page one can share that says what a crawl has covered, and how to verify it."""

from __future__ import annotations

from pathlib import Path

import typer

from orienteer.cli import display
from orienteer.cli.order_file import check_place
from orienteer.errors import InputError


def certificate(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    out: Path | None = typer.Option(
        None,
        "-o",
        "--output",
        metavar="FILE",
        help="Write it here; .json for the data alone. Default: DIR.certificate.html",
    ),
    read_stored: bool = typer.Option(
        False, "--read-stored", help="Read what is in object storage again, for its digests."
    ),
    json: bool = typer.Option(False, "--json", help="Print the certificate as JSON, and write no page."),
) -> None:
    """Make a certificate of a crawl: one page, to be sent, printed or put on a web server.

    It says what was crawled, when, what is proved and measured, what is blocked, unknown, skipped and failed, with the
    SHA-256 of every file of the archive. All figures are recomputed first; where they do not follow from the pages of
    the folder, no certificate is made. Whoever has the folder checks it with [bold]orienteer verify[/bold].

    Example: [bold]orienteer certificate example.org-crawl -o example.org.html[/bold]
    """
    import json as as_json

    from orienteer.certificates.gathering import facts_of_folder
    from orienteer.certificates.in_words import headline
    from orienteer.certificates.page import certificate_page
    from orienteer.files.atomic import replaced

    check_place(out)
    with display.progress_bar() as progress:
        facts = facts_of_folder(folder, read_stored, progress)
    if json and out is None:
        display.print_json(facts.as_json())
        return
    path = out or folder.resolve().with_name(f"{folder.resolve().name}.certificate.html")
    is_data = json or path.suffix == ".json"
    text = as_json.dumps(facts.as_json(), indent=1) + "\n" if is_data else certificate_page(facts)
    try:
        with replaced(path) as new:
            new.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    out_of = display.console()
    for line in (f"{path}: {headline(facts)}", f"SHA-256 of the facts: {facts.digest}"):
        out_of.print(line, soft_wrap=True, markup=False, highlight=False)
