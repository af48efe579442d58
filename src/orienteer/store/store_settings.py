"""The settings of the archive: `[store]` of crawl.toml."""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.settings import check, setting
from orienteer.store.object_store import StoreLocation, expect_obstore, parse_location
from orienteer.wording import plain


@dataclass(frozen=True)
class StoreSettings:
    """Where the files of the archive are stored. Credentials come from the environment or the files of AWS."""

    archive_to: str | None = setting(
        None,
        "Upload complete files to an object store, such as s3://bucket/prefix (extra: storage), or a folder such as "
        "file:///path. Each crawl needs its own prefix.",
        option="--archive-to", metavar="URL", group="Stored",
    )  # fmt: skip
    endpoint: str | None = setting(None, "Endpoint of an S3-compatible store; default: AWS_ENDPOINT_URL.")
    region: str | None = setting(None, "Its region; default: AWS_REGION.")
    drop_local: bool = setting(False, "Delete local files once their upload is confirmed; they are then read remotely.")
    max_file_mb: float = setting(1024.0, "A file of this size is complete, and a new one begins.", least=1e-6, most=1e6)

    def __post_init__(self) -> None:
        object.__setattr__(self, "archive_to", self.archive_to or None)
        check(self)
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
