"""The process that reads documents: limited, replaced when it dies, and without effect on others."""

from __future__ import annotations

import importlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from orienteer.extract.documents import limited
from orienteer.extract.documents.document import Document, UnreadableDocumentError
from orienteer.extract.documents.kinds import READERS
from orienteer.extract.documents.limited import LimitedReader
from tests.documents.bombs import WHOLE, damaged, inflating_pdf
from tests.documents.makers import DOCX, ODT, PDF, docx, odt, pdf, zipped

TWO_PAGES = pdf([["First"], ["Second"]])


@pytest.fixture(scope="module")
def reader() -> Iterator[LimitedReader]:
    reader = LimitedReader()
    yield reader
    reader.close()


def pid_of(reader: LimitedReader) -> int:
    [pid] = reader.supervisor.pids
    return pid


def test_one_process_reads_one_document_after_the_other(reader: LimitedReader) -> None:
    first = reader.read(TWO_PAGES, PDF)
    pid = pid_of(reader)
    assert first.text == "\fFirst\n\fSecond"
    assert reader.read(odt("<text:p>words</text:p>"), ODT).text == "words"
    with pytest.raises(UnreadableDocumentError, match="^damaged: "):
        reader.read(b"%PDF-1.7 nothing", PDF)
    assert pid_of(reader) == pid


def test_this_process_loads_no_pdfium() -> None:
    code = (
        "import sys; from orienteer.extract.documents.limited import read_document, _reader;"
        "assert _reader.supervisor.n_started == 0;"
        "text = read_document(sys.stdin.buffer.read(), 'application/pdf').text;"
        "loaded = [name for name in sys.modules if 'pdfium' in name]; print([text, loaded])"
    )
    done = subprocess.run([sys.executable, "-c", code], input=TWO_PAGES, capture_output=True, check=True)
    assert done.stdout.decode().strip() == str(["\fFirst\n\fSecond", []])
    assert not done.stderr


def test_a_process_that_was_killed_is_replaced(reader: LimitedReader) -> None:
    reader.read(TWO_PAGES, PDF)
    os.kill(pid_of(reader), signal.SIGKILL)
    assert reader.read(TWO_PAGES, PDF).text


def test_a_closed_reader_reads_nothing() -> None:
    with closing(LimitedReader()) as reader:
        pass
    with pytest.raises(UnreadableDocumentError, match="was stopped"):
        reader.read(TWO_PAGES, PDF)


def test_no_bytecode_is_cut_off_at_the_limit_on_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries import some modules only when a document needs them, when files may not grow any more."""
    (tmp_path / "large_module.py").write_text(f"TEXT = {'a' * (2 << 20)!r}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(limited, "serve", imports_a_large_module)
    with closing(LimitedReader()) as reader:
        assert reader.read(b"", "a type").text == str(2 << 20)
    code = "import large_module; print(len(large_module.TEXT))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == (str(2 << 20), "")


def imports_a_large_module(channel, limits) -> None:  # type: ignore[no-untyped-def]
    def read(content: bytes) -> Document:
        return Document(text=str(len(importlib.import_module("large_module").TEXT)))

    sys.modules["orienteer.extract.documents.late"] = SimpleNamespace(read=read)  # type: ignore[assignment]
    READERS["a type"] = "late:read"
    limited.serve(channel, limits)


def test_limits_are_set(reader: LimitedReader) -> None:
    reader.read(TWO_PAGES, PDF)
    with open(f"/proc/{pid_of(reader)}/limits") as file:
        limits = {line[:25].strip(): line[26:47].strip() for line in file}
    with open(f"/proc/{pid_of(reader)}/statm") as file:
        address_space = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    given_back = 16 << 20  # since the limit was set, at most
    assert 0 < int(limits["Max address space"]) - address_space <= limited.LIMITS.memory_bytes + given_back
    assert 0 < int(limits["Max cpu time"]) < 1000
    assert limits["Max core file size"] == "0"


def test_a_document_that_takes_too_much_memory(reader: LimitedReader) -> None:
    reader.read(TWO_PAGES, PDF)
    n_before = reader.supervisor.n_started
    with pytest.raises(UnreadableDocumentError, match="died|memory"):
        reader.read(inflating_pdf(1500), PDF)
    assert reader.read(TWO_PAGES, PDF).text
    assert reader.supervisor.n_started == n_before + 2


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (zipped({"word/document.xml": b""}), "it has no main document"),
        (docx("<w:p>" * 300), "too many or too deep elements"),
        (docx("", more={"word/document.xml": b"<a>" + b" " * (3 << 20) + b"</a>"}), "too large when unpacked"),
        (docx("", more={"word/document.xml": '<!DOCTYPE x [<!ENTITY e "e">]><a>&e;</a>'}), "it declares entities"),
        (docx("", more={"word/document.xml": "<a>&undeclared;</b>"}), "mismatched tag"),
        (docx("")[:-30], "damaged"),
        (b"PK\x03\x04", "damaged"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_line(reader: LimitedReader, content: bytes, why: str) -> None:
    with pytest.raises(UnreadableDocumentError, match=why) as caught:
        reader.read(content, DOCX)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) <= 200


def test_damaged_documents(reader: LimitedReader) -> None:
    """A small form of `python -m benchmarks documents`."""
    print("rng 11")
    rng = random.Random(11)
    n_read = n_unreadable = 0
    for media_type, made in WHOLE.items():
        whole = made()
        for _ in range(25):
            try:
                reader.read(damaged(whole, rng), media_type)
                n_read += 1
            except UnreadableDocumentError as error:
                assert "\n" not in str(error)
                n_unreadable += 1
    assert n_read > 10
    assert n_unreadable > 10
    assert reader.read(TWO_PAGES, PDF).text == "\fFirst\n\fSecond"
