"""Generate the reference pages of the documentation from the code.

One file is one page, with a function `page` that gives its Markdown.
"""

from __future__ import annotations

from pathlib import Path

from . import commands, crawl_folder, names, python_names, settings

PAGES = {
    "commands": commands.page,
    "settings": settings.page,
    "policies": names.policies_page,
    "seed-methods": names.seed_methods_page,
    "topics": names.topics_page,
    "estimates": names.estimates_page,
    "formats": names.formats_page,
    "python": python_names.page,
    "crawl-folder": crawl_folder.page,
}


def write_reference(folder: Path) -> None:
    """Write all pages; unchanged files are not written, so that Sphinx need not read them again."""
    folder.mkdir(exist_ok=True)
    for name, page in {**PAGES, "index": _index}.items():
        path, text = folder / f"{name}.md", page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _index() -> str:
    tree = "\n".join(PAGES)
    return (
        "# Reference\n\nThese pages are generated from the code when the documents are built, so they are "
        f"complete.\n\n```{{toctree}}\n:maxdepth: 1\n\n{tree}\n```\n"
    )
