"""`python -m tests.store.endless_writer FOLDER SEED`: adds pages endlessly, and prints how many are acknowledged.

Tests kill it. Its archive files are small, so that new ones begin often.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from orienteer.store.archive import Archive
from orienteer.store.folder import CrawlFolder
from tests.store.small_crawls import add_page


def main() -> None:
    rng = random.Random(int(sys.argv[2]))
    print("started", flush=True)
    with CrawlFolder.open_or_create(Path(sys.argv[1]), "") as folder:
        folder.archive = Archive(folder.path / "archive", folder.archive.end, max_file_bytes=20_000)
        page = folder.database.history.next_position()
        while True:
            for _ in range(rng.randrange(1, 30)):
                add_page(folder, page, body=rng.randbytes(rng.randrange(2000)))
                page += 1
            folder.acknowledge()
            print(page, flush=True)


if __name__ == "__main__":
    main()
