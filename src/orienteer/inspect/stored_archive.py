"""How much of an archive is in object storage."""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.store.archive import Archive
from orienteer.store.store_settings import StoreSettings
from orienteer.wording import counted, plain


@dataclass(frozen=True)
class StoredArchive:
    """`n_files` has the archive; `n_stored` of them are stored elsewhere, and `n_dropped` of these no longer here.

    `n_waiting` are to be uploaded; `trouble` is what went wrong with that last, in one line. `places` are the object
    stores, that of the settings first.
    """

    places: tuple[str, ...]
    n_files: int
    n_stored: int
    n_dropped: int
    n_waiting: int
    trouble: str

    @classmethod
    def of(cls, archive: Archive, settings: StoreSettings) -> StoredArchive | None:
        """None where nothing is stored elsewhere, or is to be."""
        stored = archive.stored
        named = [] if settings.archive_to is None else [settings.archive_to.rstrip("/")]
        if not named and not stored.files:
            return None
        return cls(
            places=tuple(dict.fromkeys([*named, *(file.place.url for file in stored.files.values())])),
            n_files=len(archive.numbers()),
            n_stored=len(stored.files),
            n_dropped=sum(not archive.path(number).exists() for number in stored.files),
            n_waiting=len(archive.complete_files()) if named else 0,
            trouble=stored.trouble,
        )

    def in_words(self) -> str:
        """`7 files, 5 in s3://bucket/prefix, 1 waits to be uploaded`."""
        places = " and ".join(plain(place, 200) for place in self.places)
        here = f", {self.n_dropped:,} of them no longer here" if self.n_dropped else ""
        waiting = counted(self.n_waiting, "waits to be uploaded", "wait to be uploaded")
        parts = [
            f"{counted(self.n_files, 'file')}, {self.n_stored:,} in {places}{here}",
            waiting if self.n_waiting else "",
            f"last error: {plain(self.trouble, 300)}" if self.trouble else "",
        ]
        return "; ".join(part for part in parts if part)
