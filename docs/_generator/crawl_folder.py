"""The reference of the files of a crawl folder, from the docstring of the module that defines them."""

from __future__ import annotations

import re
from inspect import cleandoc

from orienteer.store import folder
from orienteer.store import folder_view as folder_files

from .markdown import cell, table

HEAD = """# The crawl folder

A crawl is stored in one folder. You can copy and move it: no file in it refers to another location, unless
its archive is in an object store.

"""


def page() -> str:
    rows = re.findall(r"^    (\S+) {2,}(.+)$", cleandoc(folder_files.__doc__ or ""), re.MULTILINE)
    truth = " ".join(cleandoc(folder.__doc__ or "").split("\n\n")[-1].split())
    listed = table(["file", "what it holds"], ((f"`{name}`", cell(about)) for name, about in rows))
    return f"{HEAD}{listed}\n\n{truth}\n"
