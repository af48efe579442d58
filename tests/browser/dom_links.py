"""The links that Chromium finds in documents: what its parser makes of them, with scripts off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser


_PER_CALL = 500
_LINKS_OF = """
documents => {
  const found = [];
  function look(root) {
    for (const element of root.querySelectorAll('*')) {
      const isHtml = element.namespaceURI === 'http://www.w3.org/1999/xhtml';
      if (element.matches(':any-link') && ['a', 'area'].includes(element.localName)) {
        found.push(element.getAttribute('href') ?? element.getAttribute('xlink:href'));
      } else if (isHtml && ['iframe', 'frame'].includes(element.localName) && element.hasAttribute('src')) {
        found.push(element.getAttribute('src'));
      }
      if (element.shadowRoot) look(element.shadowRoot);
    }
  }
  return documents.map(html => {
    found.length = 0;
    look(Document.parseHTMLUnsafe(html));
    return [...found];
  });
}
"""


def dom_links(browser: Browser, documents: Sequence[str]) -> list[list[str]]:
    """The targets of the links of each document, as they are written."""
    page = browser.new_page()
    try:
        found: list[list[str]] = []
        for start in range(0, len(documents), _PER_CALL):
            found += page.evaluate(_LINKS_OF, list(documents[start : start + _PER_CALL]))
        return found
    finally:
        page.close()
