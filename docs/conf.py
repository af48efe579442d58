"""How the documents are built: `make docs`, or sphinx-build docs build/docs.

Nothing is fetched: neither while they are built nor while they are read, also from file://.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from _generator import write_reference  # noqa: E402

from orienteer import __version__  # noqa: E402

project = "Orienteer"
author = copyright = "The Orienteer authors"
version = release = __version__

gc.disable()  # a build ends soon, and a third of its time would go into looking for garbage

extensions = ["myst_parser"]
myst_heading_anchors = 3
suppress_warnings: list[str] = []  # every warning is an error
exclude_patterns = ["_generator"]
nitpicky = True

html_theme = "furo"
html_title = "Orienteer"
html_static_path = ["_static"]
html_css_files = ["orienteer.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_show_search_summary = False  # summaries would be fetched, which file:// does not allow
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6e4f", "color-brand-content": "#0b6e4f"},
    "dark_css_variables": {"color-brand-primary": "#5ecfa2", "color-brand-content": "#5ecfa2"},
}
pygments_style = "default"
pygments_dark_style = "monokai"
highlight_language = "none"  # blocks without a name are formulas
smartquotes = False  # or --json becomes –json


def setup(app: Sphinx) -> None:
    """Write the reference from the code, before Sphinx reads any page."""
    app.connect("builder-inited", lambda app: write_reference(Path(app.srcdir) / "reference"))
