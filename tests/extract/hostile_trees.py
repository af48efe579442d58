"""Random pages that are hostile to a tree builder, and what their trees cost.

`python -m tests.extract.hostile_trees 1 100000` tries many. Every page is parsed in a process of its own, with limits
on its memory and CPU time.
"""

from __future__ import annotations

import ctypes
import os
import random
import resource
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from turbohtml import parse

from orienteer.extract.guard import refusal

_NAMES = (
    "a abbr address annotation-xml applet area article aside b base basefont bgsound big blockquote body br"
    " button caption center circle code col colgroup dd desc details dialog dir div dl dt em embed fieldset figure"
    " font foreignObject form frame frameset g h1 h2 head hr html i iframe image img input kbd keygen li line link"
    " listing main malignmark marquee math menu meta mglyph mi mo ms mtext my-element nav nobr noembed noframes"
    " noscript object ol optgroup option p param path plaintext pre q rb rp rt rtc ruby s script section select"
    " small source span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead"
    " title tr track tt u ul use var wbr x xmp"
)
NAMES = _NAMES.split()
_FORMATTING = "a b big code em font i nobr s small strike strong tt u"
FORMATTING = _FORMATTING.split()
ATTRIBUTES = (
    "", "", "", " id={k}", " a{k}", " a{k}=1", " class='x y'", " href=x", " href={k}", " type=hidden", " face=y",
    " x=a b=c d=e f=g", " a{k} b{k}=2 c{k}=3", " shadowrootmode=open", " encoding=text/html", " xlink:href=x",
    " style='background:url(x)'", " srcset='a 1x, b 2x'", " a='<b>'", ' a=">"', " a='", " a=<i>", "/",
    ' a=a=" b=">{k}"', ' a= b=" c=">{k}"', ' a=a" b=">x',
)  # fmt: skip
TEXTS = (
    "x", " ", "\n", "\0", "&amp;", "&amp", "&", "&#0;", "&#x110000;", "&notit;", "&nGt;", "é", "🧭", "\r\n", '"', "'",
    "<!---->", "<!--x-->", "<!--", "-->", "--!>", "<!-- <b> -->", "<!", "<?x>", "</>", "</ >", "<", ">", "<a",
    "<![CDATA[x]]>", "<![CDATA[", "<![CDATA[<b>]]>", "]]>", "<!doctype html>", "<script><b></script>",
    "<svg><style><b></style>", "<title></b></title>", "<textarea><i></textarea>",
)  # fmt: skip
SIZES = 5_000, 30_000, 100_000, 300_000


def hostile_page(rng: random.Random, n_bytes: int) -> str:
    """Return a page of up to four parts, each of which repeats a few tokens; `{k}` in them counts."""
    parts = ["".join(_token(rng) for _ in range(rng.choice([0, 0, 0, 1, 20])))]
    n_parts = rng.choice([1, 1, 2, 2, 3, 4])
    for _ in range(n_parts):
        pattern = "".join(_token(rng) for _ in range(rng.choice([1, 1, 2, 2, 3, 4, 6])))
        n_times = 1 + int(n_bytes / n_parts * rng.choice([1, 1, 1, 0.3, 0.05, 0.01]) / max(4, len(pattern)))
        n_different = rng.choice([n_times, n_times, 50, 3])
        parts += (pattern.replace("{k}", str(k % n_different)) for k in range(n_times))
    return "".join(parts).replace("{k}", "0")


def _token(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.15:
        return rng.choice(TEXTS)
    name = rng.choice(FORMATTING) if rng.random() < 0.3 else rng.choice(NAMES)
    return f"</{name}>" if kind < 0.38 else f"<{name}{rng.choice(ATTRIBUTES)}>"


class Cost(NamedTuple):
    """What a tree took, as shares of what is promised."""

    memory: float
    time: float


def tree_costs(pages: list[str]) -> list[Cost]:
    """Parse pages in a child process; raise MemoryError if it did not survive.

    The memory is the most that this page or one before it took.
    """
    ctypes.CDLL(None).malloc_trim(0)  # what is free already would not count
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(write, b"".join(struct.pack("dd", *cost) for cost in _costs_here(pages)))
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        found = file.read()
    os.waitpid(child, 0)
    if not found:
        raise MemoryError
    return [Cost(*cost) for cost in struct.iter_unpack("dd", found)]


def _costs_here(pages: list[str]) -> Iterator[Cost]:
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    before = None
    for html in pages:
        n_bytes = len(html.encode())
        ctypes.CDLL(None).malloc_trim(0)
        if before is None:
            with open("/proc/self/statm") as file:
                before = int(file.read().split()[1]) * resource.getpagesize()
        start = time.process_time()
        tree = parse(html, positions=False)
        del tree
        took_s = time.process_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        yield Cost((peak - before) / (20 * n_bytes + (16 << 20)), took_s / (50e-9 * n_bytes + 0.01))


def main(seed: int, n_pages: int) -> None:
    """Print how many pages are refused, and every accepted one that costs more than is promised."""
    counts: Counter[str] = Counter()
    most = Cost(0, 0)
    accepted: list[tuple[int, str]] = []
    for k in range(n_pages):
        rng = random.Random(f"{seed} {k}")
        html = hostile_page(rng, rng.choice(SIZES))
        reason = refusal(html.encode())
        counts[reason or "accepted"] += 1
        if reason is None:
            accepted.append((k, html))
        if len(accepted) < 50 and k < n_pages - 1:
            continue
        costs = tree_costs([html for _, html in accepted]) if accepted else []
        for (number, html), cost in zip(accepted, costs, strict=True):
            alone = tree_costs([html])[0] if max(cost) > 1 else cost
            most = Cost(max(most.memory, alone.memory), max(most.time, alone.time))
            if max(alone) > 1:
                print(f"page {number} of seed {seed}: {alone}, {html[:100]!r}", flush=True)
        accepted.clear()
    print(dict(counts), most)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
