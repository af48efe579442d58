"""Uploads what an archive has complete, without crawling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from orienteer.errors import InputError
from orienteer.ledger.permission import remember_allowed
from orienteer.live.session import plan_of_folder
from orienteer.store.folder import CrawlFolder


@dataclass(frozen=True)
class UploadReport:
    """What came of it: `n_files` has the archive, `n_stored` of them are in object storage, `n_uploaded` since now.

    `trouble` says in one line why `n_waiting` are not there.
    """

    folder: Path
    archive_to: str
    n_files: int
    n_stored: int
    n_uploaded: int
    n_waiting: int
    trouble: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"folder": str(self.folder)}


def upload(
    folder: str | Path,
    *,
    archive_to: str | None = None,
    drop_local: bool | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    tell: Callable[[str], None] | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> UploadReport:
    """Send the archive of a crawl folder, all of it, to the object store that its settings name, or that is named here.

    What is named is kept in crawl.toml. Files that are there already are not sent again.
    """
    path = Path(folder)
    named = {"store": {"archive_to": archive_to, "drop_local": drop_local}}
    plan = plan_of_folder(path, settings or {}, named)
    if plan.store.archive_to is None:
        raise InputError(f"{path}: where to? Its settings name no object store; say --archive-to s3://bucket/prefix")
    plan.store.expect_usable()
    with CrawlFolder.open(path) as crawl:
        crawl.write_settings(plan.to_toml())
        remember_allowed(path, plan)
        crawl.archive.seal()
        crawl.keep_archive(plan.store)
        assert crawl.uploads is not None
        crawl.uploads.tell = tell or crawl.uploads.tell
        crawl.uploads.finish(is_stopped)
        stored = crawl.archive.stored
        return UploadReport(
            folder=path,
            archive_to=plan.store.archive_to,
            n_files=len(crawl.archive.numbers()),
            n_stored=len(stored.files),
            n_uploaded=crawl.uploads.n_uploaded,
            n_waiting=crawl.uploads.n_waiting,
            trouble=stored.trouble if crawl.uploads.n_waiting else "",
        )
