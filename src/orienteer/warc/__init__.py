"""The reader of WARC archives from any program, damaged ones too, for imports, graphs, replays and examples.

Rule for damage: a record is accepted only if it is complete and, in a compressed file, its gzip member (or zstd frame)
is complete with a correct checksum. Everything else is skipped up to the next record. Each such *gap* is counted and
reported: by an import in its ImportReport, by other readers with one DamagedArchiveWarning. An archive without any
readable record is an error.

Plain WARC files and zstd frames without checksums cannot be verified: there a record is accepted if it is complete.
"""
