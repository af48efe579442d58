"""Markdown documents at random, and the elements of an HTML page as an independent parser sees them.

Documents hold headings, paragraphs, lists in lists, tables, code with languages, links, images, quotes and emphasis,
with text between that Markdown could take for something else.
"""

from __future__ import annotations

import random
from collections import Counter
from html.parser import HTMLParser
from typing import Any

_WORDS = [
    "river", "bridge", "archive", "quiet", "1984", "v2.0", "naïve", "Straße", "東京", "a_b", "snake_case_name",
    "C++", "x*y", "50%", "e.g.", "don't", '"quoted"', "(aside)", "[sic]", "#1", "-5", "+3", ">", "<", "&", "&amp;", "3",
    "4", "foo|bar", "~/bin", "c:\\temp", "\\n", "```tick", "`x`", "<b>", "<!--", "-->", "https://example.org/x", "1.",
    "2)", "-", "*", "_under_", "**stars**", "!bang!", "=", "==", "---", "***", "[x]:", "~~~", "![i](j)",
]  # fmt: skip
_LANGUAGES = ("python", "bash", "json", "c++", "rust", "html", "", "")
_CODE_LINES = (
    "def f(x):", "    return x + 1", "", "if a < b && c > d {", "\tindented()", "}", "# a comment", "* not a list",
    "print(\"<b>'&amp;'</b>\")", "```", "````python", "  two  spaces  ", "| a | b |", "[x](y)", "- item", "> quoted",
    "<script>alert(1)</script>", "日本語 = 'ä'",
)  # fmt: skip


class Writer:
    """Writes one document."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def document(self) -> str:
        rng = self._rng
        texts = [f"# {self._words(2, 5)}"]
        for _ in range(rng.randrange(4, 12)):
            kind = rng.random()
            if kind < 0.25:
                texts.append("#" * rng.randrange(2, 7) + " " + self.inline(1, 5, with_image=False))
            texts.append(self.block(0))
        return "\n\n".join(texts) + "\n"

    def block(self, depth: int) -> str:
        kind = self._rng.random()
        if kind < 0.35 or depth > 2:
            return self.inline(5, 30)
        if kind < 0.6:
            return self._list(depth)
        if kind < 0.75:
            return self._code()
        if kind < 0.87 and depth == 0:
            return self._table()
        return "\n".join(f"> {line}" for line in self.block(depth + 1).split("\n"))

    def _words(self, least: int, most: int) -> str:
        words = [self._rng.choice(_WORDS) for _ in range(self._rng.randrange(least, most + 1))]
        return "word " + escaped(" ".join(words)) + " end"

    def inline(self, least: int, most: int, with_image: bool = True) -> str:
        rng = self._rng
        texts = [self._words(least, most)]
        for _ in range(rng.randrange(4)):
            kind = rng.random()
            if kind < 0.4:
                texts.append(f"[{self._words(1, 2)}](https://example.org/{rng.randrange(99)}{rng.choice(_ENDINGS)})")
            elif kind < 0.6:
                texts.append(f"`{rng.choice(('x = 1', 'a|b', '<b>', '*p', 'f()', 'a_b_c')).replace('|', '/')}`")
            elif kind < 0.7 and with_image:
                texts.append(f"![{self._words(1, 2)}](/pictures/{rng.randrange(99)}.png)")
            elif kind < 0.85:
                texts.append(f"**{self._words(1, 2)}**")
            else:
                texts.append(f"*{self._words(1, 2)}*")
            texts.append(self._words(1, 4))
        return " ".join(texts)

    def _list(self, depth: int) -> str:
        rng = self._rng
        is_ordered, number = rng.random() < 0.4, rng.choice((1, 1, 1, 3, 10))
        is_loose = rng.random() < 0.2
        items = []
        for k in range(rng.randrange(1, 5)):
            mark = f"{number + k}. " if is_ordered else "- "
            text = mark + self.inline(1, 8)
            if rng.random() < 0.3 and depth < 3:
                inner = self._list(depth + 1) if rng.random() < 0.6 else self.block(depth + 1)
                text += "\n\n" + "\n".join(" " * len(mark) + line if line else "" for line in inner.split("\n"))
            items.append(text)
        return ("\n\n" if is_loose else "\n").join(items)

    def _code(self) -> str:
        lines = [self._rng.choice(_CODE_LINES) for _ in range(self._rng.randrange(1, 9))]
        return "`````" + self._rng.choice(_LANGUAGES) + "\n" + "\n".join(["begin", *lines, "end"]) + "\n`````"

    def _table(self) -> str:
        n_columns = self._rng.randrange(2, 5)
        rows = [[self._words(1, 3) for _ in range(n_columns)] for _ in range(self._rng.randrange(2, 6))]
        if self._rng.random() < 0.3:
            rows[-1][-1] = ""
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        return "\n".join([lines[0], "|" + " --- |" * n_columns, *lines[1:]])


_ENDINGS = ("", "/a_b", "?q=1&r=2", "#part", "/x(y)")


def escaped(text: str) -> str:
    """Each sign that Markdown might obey, escaped: by a rule that is not the exporter's."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>()#+-.!|~&=\"'" else char for char in text)


def documents(n: int, seed: int = 20260117) -> list[str]:
    rng = random.Random(seed)
    return [Writer(rng).document() for _ in range(n)]


class Seen(HTMLParser):
    """The elements of a page, counted by (kind, facts)."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: Counter[tuple[Any, ...]] = Counter()
        self._open: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._lists: list[list[Any]] = []
        self._rows: list[list[str]] = []
        self._n_quotes = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "img":
            self.found["images", values.get("alt"), _absolute(values.get("src"))] += 1
        elif tag in ("ul", "ol"):
            self._lists.append([tag, int(values.get("start") or 1)])
            self._end_texts()
        elif tag == "table":
            self._rows = []
        elif tag == "tr":
            self._rows.append([])
        elif tag == "blockquote":
            self._n_quotes += 1
        elif tag in _NOTED:
            self._open.append((tag, values, []))
        if tag in ("p", "pre", "blockquote", "table"):
            self._end_texts(but_last=tag == "pre")

    def _end_texts(self, but_last: bool = False) -> None:
        """The words of an item are those before its first nested element."""
        for tag, values, texts in self._open[: -1 if but_last else None]:
            if tag == "li" and "".join(texts).strip():
                values["ended"] = values.get("ended") or "".join(texts)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        elif tag == "blockquote":
            self._n_quotes -= 1
        elif tag == "table":
            self.found["tables", tuple(map(tuple, self._rows))] += 1
        elif tag in _NOTED:
            if tag == "p":
                self._end_texts()
            self._end(tag)

    def _end(self, tag: str) -> None:
        while self._open:
            name, values, texts = self._open.pop()
            if name == tag:
                self._count(tag, values, "".join(texts))
                return

    def _count(self, tag: str, values: dict[str, str | None], text: str) -> None:
        if tag[0] == "h":
            self.found["headings", tag, _collapsed(text)] += 1
        elif tag == "pre":
            self.found["code", values.get("language"), text.rstrip("\n")] += 1
        elif tag == "code" and self._open and self._open[-1][0] == "pre":
            self._open[-1][1]["language"] = values.get("class")
        elif tag == "code":
            self.found["inline code", text] += 1
        elif tag == "a":
            self.found["links", _collapsed(text), _absolute(values.get("href"))] += 1
        elif tag in ("em", "strong"):
            self.found["emphasis", tag, _collapsed(text)] += 1
        elif tag in ("td", "th") and self._rows:
            self._rows[-1].append(_collapsed(text))
        elif tag == "li" and self._lists:
            kind, number = self._lists[-1]
            self._lists[-1][1] += 1
            words = values.get("ended") or text
            where = (kind, number if kind == "ol" else 0, len(self._lists), self._n_quotes)
            self.found["lists", *where, _collapsed(words)] += 1
        elif tag == "p" and self._n_quotes and not self._lists:
            self.found["quotes", self._n_quotes, _collapsed(text)] += 1

    def handle_data(self, data: str) -> None:
        for _, _, texts in self._open:
            texts.append(data)


_NOTED = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "pre", "code", "a", "em", "strong", "td", "th", "li", "p"))


def _collapsed(text: str) -> str:
    return " ".join(text.split())


def _absolute(url: str | None) -> str:
    return (
        (url or "").replace("/pictures", "http://example.org/pictures").replace("http://example.orghttp://", "http://")
    )


def seen(html: str) -> Counter[tuple[Any, ...]]:
    parser = Seen()
    parser.feed(html)
    parser.close()
    return parser.found
