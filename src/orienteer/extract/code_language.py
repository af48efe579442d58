"""The language of a block of code, by the class names of common highlighters.

Sphinx writes `highlight-python`, most others `language-python` or `lang-python`, GitHub `highlight-source-python`,
highlight.js `hljs python`, Pandoc `sourceCode python`; some have an attribute for it.
"""

from __future__ import annotations

import re

_PREFIXED = re.compile(
    r"(?:^|\s)(?:highlight-source-|highlight-text-|highlight-|language-|lang-|brush:\s*|src-)([\w+#.-]+)"
)
_FOLLOWING = re.compile(r"(?:^|\s)(?:hljs|sourcecode|prettyprint|src)\s+([\w+#.-]+)")
# Words after these prefixes that are no languages.
_NO_LANGUAGES = frozenset((
    "default", "none", "notranslate", "text", "plaintext", "plain", "nohighlight", "literal", "block", "source",
    "wrapper", "container", "code", "html-basic", "numberlines", "linenums", "copy", "toolbar", "lines",
))  # fmt: skip
_SAME = {"pycon3": "pycon", "python3": "python", "shell-session": "console", "source-shell": "shell"}
_MAX_CHARS = 30


def language_of(class_words: str, attributes: dict[str, str]) -> str:
    """Return the language that an element names, in lower case, or "".

    >>> language_of("highlight-python notranslate", {}), language_of("hljs rust", {}), language_of("nav", {})
    ('python', 'rust', '')
    """
    for name in ("data-lang", "data-language"):
        if name in attributes:
            return _named(attributes[name].lower())
    found = _PREFIXED.search(class_words) or _FOLLOWING.search(class_words)
    return _named(found[1]) if found is not None else ""


def _named(word: str) -> str:
    word = _SAME.get(word, word)
    if word in _NO_LANGUAGES or len(word) > _MAX_CHARS or not re.fullmatch(r"[\w+#.-]+", word):
        return ""
    return word
