"""The code blocks of a document, and what is to be done with each.

    sh        run by a shell, in the folder of the page
    python    run in order, all of a page in one namespace
    text      what the block before it prints: these lines, in this order; `…` matches anything, and what commands
              print may have other numbers (times, and pages by the order in which answers come)
    (none)    no code: a formula, a drawing

Comments before a block say what is out of the ordinary:

    <!-- file: NAME -->       the block is a file that the reader saves under this name
    <!-- not run: WHY -->     it cannot be run here
    <!-- given: NAME -->      (anywhere) the page begins with something that an earlier page has made
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt

RUN = ("sh", "python")
SHOWN = "text"
_NUMBER = re.compile(r"\d(?:[\d,]|\\\.)*(?<=\d)")  # in an escaped text
_MARK = re.compile(r"^<!-- (file|not run|given): (.+?) -->\s*$")


@dataclass
class Block:
    kind: str
    code: str
    line: int
    file: str | None = None
    why_not_run: str | None = None
    expected: list[str] = field(default_factory=list)


@dataclass
class Document:
    path: Path
    blocks: list[Block]
    given: list[str]


def document(path: Path) -> Document:
    blocks: list[Block] = []
    given: list[str] = []
    marks: dict[str, str] = {}
    for token in MarkdownIt().parse(path.read_text(encoding="utf-8")):
        if token.type == "html_block":
            for line in token.content.splitlines():
                if (found := _MARK.match(line)) and found[1] == "given":
                    given.append(found[2])
                elif found:
                    marks[found[1]] = found[2]
        elif token.type in ("fence", "code_block"):
            kind = token.info.strip() if token.type == "fence" else "indented"
            line = token.map[0] + 1 if token.map else 0
            _add(blocks, Block(kind, token.content, line, marks.pop("file", None), marks.pop("not run", None)))
        elif token.type == "inline":
            assert not marks, f"{path}: {marks} is not followed by a block"
    return Document(path, blocks, given)


def _add(blocks: list[Block], block: Block) -> None:
    if block.kind == SHOWN and block.file is None and block.why_not_run is None:
        last = next((earlier for earlier in reversed(blocks) if earlier.kind in RUN and earlier.file is None), None)
        if last is not None:
            last.expected += block.code.splitlines()
            return
    blocks.append(block)


def missing_line(expected: list[str], output: str, any_numbers: bool = False) -> str | None:
    """The first line that was not printed, behind those before it; None if all were. Spaces do not count."""
    printed = [" ".join(line.split()) for line in output.splitlines()]
    at = 0
    for line in expected:
        words = " ".join(line.split())
        if words in ("", "…"):
            continue
        text = ".*".join(re.escape(part) for part in re.split(r"\s*…\s*", words))
        if any_numbers:
            text = re.sub(r"\bMB\b", "[kM]B", _NUMBER.sub(lambda _: r"[\d,.]*\d", text))
        pattern = re.compile(text)
        found = next((k for k in range(at, len(printed)) if pattern.fullmatch(printed[k])), None)
        if found is None:
            return line
        at = found + 1
    return None
