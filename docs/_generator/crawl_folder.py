"""What is in a crawl folder, as the module says that makes it."""

from __future__ import annotations

import re
from inspect import cleandoc

from orienteer.store import folder

from .markdown import cell, table

HEAD = """# The crawl folder

All that is left of a crawl when its process is gone. Copy it, move it, keep it: no file names another place.

"""


def page() -> str:
    text = cleandoc(folder.__doc__ or "")
    rows = re.findall(r"^    (\S+) {2,}(.+)$", text, re.MULTILINE)
    truth = " ".join(text.split("\n\n")[-1].split())
    listed = table(["file", "what it holds"], ((f"`{name}`", cell(about)) for name, about in rows))
    return f"{HEAD}{listed}\n\n{truth}\n"
