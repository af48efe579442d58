"""Reading archives that others wrote, damaged ones too: the one reader, for imports, graphs, replays and examples.

The rule for damage: a record is let through only if it is whole and, where it is packed, the gzip member (or zstd
frame) that holds it came to its end with a right checksum. Everything else is skipped up to the next record. Each such
*gap* is counted and reported: by an import in its ImportReport, by everybody else with one DamagedArchiveWarning. An
archive without a single readable record is an error.

Whoever packs without checksums cannot have them checked: of plain WARC files, and of zstd frames that have none, a
record is let through if all its bytes are there.
"""
