"""Uploads the archive of a crawl folder to object storage, without crawling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from orienteer.errors import InputError
from orienteer.ledger.permission import remember_allowed
from orienteer.live.session import plan_of_folder
from orienteer.settings import stated
from orienteer.store.folder import CrawlFolder


@dataclass(frozen=True)
class UploadReport:
    """The result of an upload: of `n_files` archive files `n_stored` are in object storage, `n_uploaded` by this call.

    `problem` says in one line why `n_waiting` files are not.
    """

    folder: Path
    archive_to: str
    n_files: int
    n_stored: int
    n_uploaded: int
    n_waiting: int
    problem: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"folder": str(self.folder)}


def upload(
    folder: str | Path,
    *,
    archive_to: str | None = None,
    drop_local: bool | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    notify: Callable[[str], None] | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> UploadReport:
    """Upload the whole archive of a crawl folder to the object store of its settings, or to `archive_to`.

    The arguments are stored in crawl.toml. Files that are uploaded already are skipped. `notify` receives messages.
    """
    path = Path(folder)
    named = {"store": stated(archive_to=archive_to, drop_local=drop_local)}
    plan = plan_of_folder(path, settings or {}, named)
    if plan.store.archive_to is None:
        raise InputError(f"{path}: its settings name no object store; pass --archive-to s3://bucket/prefix")
    plan.store.expect_usable()
    with CrawlFolder.open(path) as crawl:
        crawl.write_settings(plan.to_toml())
        remember_allowed(path, plan)
        crawl.archive.seal()
        crawl.configure_archive(plan.store)
        assert crawl.uploads is not None
        crawl.uploads.report = notify or crawl.uploads.report
        crawl.uploads.finish(is_stopped)
        stored = crawl.archive.stored
        return UploadReport(
            folder=path,
            archive_to=plan.store.archive_to,
            n_files=len(crawl.archive.numbers()),
            n_stored=len(stored.files),
            n_uploaded=crawl.uploads.n_uploaded,
            n_waiting=crawl.uploads.n_waiting,
            problem=stored.problem if crawl.uploads.n_waiting else "",
        )
