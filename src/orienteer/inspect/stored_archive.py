"""How much of an archive is in object storage."""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.store.archive import Archive
from orienteer.store.object_store import StoreSettings
from orienteer.wording import counted, plain


@dataclass(frozen=True)
class StoredArchive:
    """The archive has `n_files`; `n_stored` of them are in object storage, and `n_dropped` of these no longer here.

    `n_waiting` are to be uploaded; `problem` is the last error of that, in one line. `locations` are the object
    stores, that of the settings first.
    """

    locations: tuple[str, ...]
    n_files: int
    n_stored: int
    n_dropped: int
    n_waiting: int
    problem: str

    @classmethod
    def of(cls, archive: Archive, settings: StoreSettings) -> StoredArchive | None:
        """Count the files of an archive; None without object storage."""
        stored = archive.stored
        named = [] if settings.archive_to is None else [settings.archive_to.rstrip("/")]
        if not named and not stored.files:
            return None
        return cls(
            locations=tuple(dict.fromkeys([*named, *(file.location.url for file in stored.files.values())])),
            n_files=len(archive.numbers()),
            n_stored=len(stored.files),
            n_dropped=sum(not archive.path(number).exists() for number in stored.files),
            n_waiting=len(archive.complete_files()) if named else 0,
            problem=stored.problem,
        )

    def describe(self) -> str:
        """`7 files, 5 in s3://bucket/prefix, 1 waits to be uploaded`."""
        locations = " and ".join(plain(location, 200) for location in self.locations)
        here = f", {self.n_dropped:,} of them no longer here" if self.n_dropped else ""
        waiting = counted(self.n_waiting, "waits to be uploaded", "wait to be uploaded")
        clauses = [
            f"{counted(self.n_files, 'file')}, {self.n_stored:,} in {locations}{here}",
            waiting if self.n_waiting else "",
            f"last error: {plain(self.problem, 300)}" if self.problem else "",
        ]
        return "; ".join(part for part in clauses if part)
