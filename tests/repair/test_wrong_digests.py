"""Archives of version 0.2.0, where records of rendered pages state the digest of the rendered document.

golden/folders/crawl-0.2.0-rendered.tar.xz is the crawl of four pages, rendered with screenshots and assets, and a
refresh after one of them was edited.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from orienteer.exports.export import export
from orienteer.inspect.captures import Captures
from orienteer.repair.repair import repair
from orienteer.store import wrong_digests
from orienteer.store.archive_members import whole_members
from orienteer.store.folder import CrawlFolder
from orienteer.store.object_store import parse_location
from orienteer.store.stored_files import StoredFile, StoredFiles
from orienteer.store.wrong_digests import with_own_digest
from tests.cli.run import orienteer
from tests.valid_archives import folder_problems, records, validated, warc_problems

GOLDEN = Path(__file__).parents[1] / "golden" / "folders" / "crawl-0.2.0-rendered.tar.xz"
N_WRONG = 8
WARC = "archive/orienteer-00000.warc.gz"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    with tarfile.open(GOLDEN) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2 has none
        packed.extractall(tmp_path)
    return tmp_path / "crawl-0.2.0-rendered"


def test_verify_counts_wrong_digests(old: Path) -> None:
    done = orienteer("verify", old, code=0)
    assert "\nNote: 8 WARC records state the payload digest of the rendered page" in done.stdout
    assert f"`orienteer repair {old}` corrects them" in done.stdout
    assert json.loads(orienteer("verify", old, "--json", code=0).stdout)["n_wrong_digests"] == N_WRONG


def test_repair_corrects_only_wrong_digests(old: Path) -> None:
    CrawlFolder.open(old).close()  # brings crawl.db to the format of today
    before, size_bytes = records(old / WARC), (old / WARC).stat().st_size
    database = (old / "crawl.db").read_bytes()
    assert len(folder_problems(old)) == N_WRONG
    assert "8 records of rendered pages: the payload digest is corrected." in orienteer("repair", old, code=0).stdout
    assert folder_problems(old) == []
    assert records(old / WARC) == before
    assert (old / WARC).stat().st_size == size_bytes
    assert (old / "crawl.db").read_bytes() == database
    assert "Note:" not in orienteer("verify", old, code=0).stdout
    report = repair(old)
    assert (report.was_damaged, report.n_digests, report.n_digests_left) == (False, 0, 0)
    assert not list(old.glob("before-repair-*"))


def test_the_capture_table_is_rebuilt(old: Path) -> None:
    def digests() -> list[str]:
        with closing(Captures(old)) as captures:
            captures.update()
            return [time.capture.digest for time in captures.times_of("http://a.test/")]

    wrong = digests()
    repair(old)
    assert digests() != wrong


@pytest.mark.parametrize("step", range(6))
def test_a_repair_may_be_killed(step: int, old: Path) -> None:
    """At each step: the folder is unchanged or corrected, and the next repair completes."""
    before = records(old / WARC)
    process = os.fork()
    if process == 0:
        _die_at(step)
        wrong_digests.correct_file(old / WARC, [offset for _, offset in _wrong(old)])
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == (7 if step < 5 else 0)
    assert records(old / WARC) == before
    CrawlFolder.open(old).close()
    assert [path.name for path in (old / "archive").iterdir()] == [Path(WARC).name]
    repair(old)
    assert folder_problems(old) == []
    assert records(old / WARC) == before


def _wrong(folder: Path) -> list[tuple[int, int]]:
    looking = wrong_digests.WrongDigests()
    looking.scan_file(folder / WARC, 0)
    return looking.positions()


def _die_at(step: int) -> None:
    """Kill this process before a step: copying, correcting a record, syncing, renaming, syncing the folder."""
    steps = ((shutil, "copyfile"), (wrong_digests, "with_own_digest"), (os, "fsync"), (os, "replace"),
             (wrong_digests, "sync_folder"))  # fmt: skip
    if step < len(steps):
        module, name = steps[step]
        setattr(module, name, lambda *arguments: os._exit(7))


def test_a_changed_payload_is_not_corrected(old: Path) -> None:
    """Its wrong digest is not that of a rendered document: it shows that the payload was changed."""
    content = b""
    for member in whole_members(old / WARC):
        changed = member.content.replace(b"color: red", b"color: tan")
        content += member.packed if changed == member.content else gzip.compress(changed)
    (old / WARC).write_bytes(content)
    n_problems = len(folder_problems(old))
    assert n_problems > N_WRONG == len(_wrong(old))
    assert repair(old).n_digests == N_WRONG
    assert len(folder_problems(old)) == n_problems - N_WRONG


def test_files_in_object_storage_are_not_changed(old: Path) -> None:
    """The local copy must stay equal to the uploaded file."""
    stored = StoredFiles(old / "archive")
    content = (old / WARC).read_bytes()
    stored.add(0, StoredFile(parse_location("s3://bucket/crawl"), len(content), hashlib.sha256(content).hexdigest()))
    assert "8 records with a wrong payload digest left as before: in object storage" in orienteer("repair", old).stdout
    assert (old / WARC).read_bytes() == content


def test_exports_of_an_old_folder_state_right_digests(old: Path, tmp_path: Path) -> None:
    before = (old / WARC).read_bytes()
    export(old, "warc", tmp_path / "all.warc.gz")
    export(old, "wacz", tmp_path / "all.wacz")
    export(old, "cdxj", tmp_path / "all.cdxj")
    assert validated(tmp_path / "all.wacz").startswith("0 ")
    with zipfile.ZipFile(tmp_path / "all.wacz") as package:
        packed = package.read("archive/data.warc.gz")
    for content in (packed, (tmp_path / "all.warc.gz").read_bytes()):
        assert warc_problems(io.BytesIO(content)) == []
    for line in (tmp_path / "all.cdxj").read_text().splitlines():
        entry = json.loads(line.split(" ", 2)[2])
        start, end = int(entry["offset"]), int(entry["offset"]) + int(entry["length"])
        if not entry["url"].startswith("urn:") and entry["mime"] == "text/html":
            (record,) = ArchiveIterator(io.BytesIO(with_own_digest(before[start:end])))
            assert record.rec_headers.get_header("WARC-Payload-Digest") == entry["digest"]
    assert (old / WARC).read_bytes() == before
