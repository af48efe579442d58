"""Where the archive of a crawl is kept, as `[store]` of crawl.toml has it."""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.errors import InputError
from orienteer.store.object_store import Place, checked_place, expect_obstore
from orienteer.wording import plain

_MAX_FILE_MB = 1e6


@dataclass(frozen=True)
class StoreSettings:
    """Where the files of the archive are kept.

    `archive_to`: an object store to which they are uploaded once they are complete, such as `s3://bucket/prefix`;
    `file:///path` is a folder that stands in for one. Each crawl needs a prefix of its own. `endpoint` and `region` are
    those of an S3-compatible store; without, they come from the usual variables (AWS_ENDPOINT_URL, AWS_REGION).
    Credentials come from the environment or the files of AWS, and are never kept in the folder. `drop_local`: a file is
    deleted here once its upload is confirmed, and read from there. `max_file_mb`: a file that has reached this size is
    complete, and followed by a new one.
    """

    archive_to: str | None = None
    endpoint: str | None = None
    region: str | None = None
    drop_local: bool = False
    max_file_mb: float = 1024.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "archive_to", self.archive_to or None)
        if not 0 < self.max_file_mb <= _MAX_FILE_MB:
            raise InputError(f"max_file_mb is {self.max_file_mb}; it must be above 0 and at most {_MAX_FILE_MB:,.0f}")
        self.place()

    @property
    def max_file_bytes(self) -> int:
        return max(1, int(self.max_file_mb * (1 << 20)))

    def expect_usable(self) -> None:
        """Say in one line what is missing to keep the archive elsewhere, if that is wanted."""
        if self.archive_to is not None:
            expect_obstore(f"an archive at {plain(self.archive_to, 200)}")

    def place(self) -> Place | None:
        """Where complete files go; None where they stay here alone."""
        return None if self.archive_to is None else checked_place(self.archive_to, self.endpoint, self.region)
