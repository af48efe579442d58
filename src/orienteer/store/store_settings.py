"""The settings of the archive: `[store]` of crawl.toml."""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.errors import InputError
from orienteer.store.object_store import StoreLocation, expect_obstore, parse_location
from orienteer.wording import plain

_MAX_FILE_MB = 1e6


@dataclass(frozen=True)
class StoreSettings:
    """Where the files of the archive are stored.

    `archive_to`: an object store to which complete files are uploaded, such as `s3://bucket/prefix`, or a folder such
    as `file:///path`. Each crawl needs its own prefix. `endpoint` and `region` are those of an S3-compatible store;
    their defaults come from the usual variables (AWS_ENDPOINT_URL, AWS_REGION). Credentials come from the environment
    or the files of AWS, and are never stored in the crawl folder. `drop_local`: a file is deleted here once its upload
    is confirmed, and then read from the object store. `max_file_mb`: a file that has reached this size is complete, and
    a new one begins.
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
        self.location()

    @property
    def max_file_bytes(self) -> int:
        return max(1, int(self.max_file_mb * (1 << 20)))

    def expect_usable(self) -> None:
        """Raise MissingExtraError if the settings name an object store and obstore is not installed."""
        if self.archive_to is not None:
            expect_obstore(f"an archive at {plain(self.archive_to, 200)}")

    def location(self) -> StoreLocation | None:
        """Return the object store for complete files; None if files stay local."""
        return None if self.archive_to is None else parse_location(self.archive_to, self.endpoint, self.region)
