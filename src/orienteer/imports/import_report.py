"""The report of an import."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from orienteer.graph.proved import Certificate
from orienteer.hooks.page_hooks import HookFailures
from orienteer.notebook import facts_html
from orienteer.wording import counted


@dataclass(frozen=True)
class ImportReport:
    """The counts of an import. `made` is "crawl" or "graph".

    Records: `n_records` of any kind were read; `n_damaged` gaps could not be, the first of which is `first_damage`;
    `n_too_large` were skipped. `n_temporary` responses were temporary errors, and `n_unresolved` were revisits of
    records that are not in the sources: these pages wait in the frontier.

    Pages: `n_known` in all, of which `n_fetched` were fetched (redirects included), `n_failed` do not exist,
    `n_skipped` have a type that is not accepted, and `n_blocked` were refused. `n_unlinked` of them have no in-links;
    `n_outside` are outside the scope and left out. `n_listed` come from lists of URLs. `n_assets` are images, styles,
    scripts and frames. `has_texts`: there is text to search.
    """

    folder: Path
    made: str
    n_known: int = 0
    n_links: int = 0
    n_records: int = 0
    n_damaged: int = 0
    first_damage: str = ""
    n_too_large: int = 0
    n_temporary: int = 0
    n_unresolved: int = 0
    n_fetched: int = 0
    n_failed: int = 0
    n_skipped: int = 0
    n_blocked: int = 0
    n_unlinked: int = 0
    n_outside: int = 0
    n_listed: int = 0
    n_assets: int = 0
    n_frontier: int = 0
    has_texts: bool = False
    seeds: tuple[str, ...] = ()
    seeds_are_guessed: bool = False
    certificate: Certificate | None = None
    hook_failures: dict[str, HookFailures] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    elapsed_s: float = 0.0
    cpu_s: float = 0.0

    @property
    def n_done(self) -> int:
        return self.n_fetched + self.n_failed + self.n_skipped + self.n_blocked

    @property
    def pages_per_cpu_s(self) -> float:
        n_pages = self.n_known if self.made == "graph" else self.n_done
        return n_pages / self.cpu_s if self.cpu_s else 0.0

    def __repr__(self) -> str:
        if self.made == "graph":
            return f"<ImportReport: a graph of {self.n_known:,} pages, {self.n_links:,} links>"
        damage = f", {counted(self.n_damaged, 'gap')}" if self.n_damaged else ""
        return f"<ImportReport: {counted(self.n_fetched, 'page')} fetched, {self.n_frontier:,} in the frontier{damage}>"

    def _repr_html_(self) -> str:
        facts = [
            ("folder", self.folder),
            ("records", self.n_records),
            ("gaps", self.n_damaged),
            ("pages", self.n_known),
            ("fetched", self.n_fetched),
            ("in the frontier", self.n_frontier),
            ("left out", self.n_outside),
            ("certificate", self.certificate or ""),
        ]
        return facts_html(f"Import of a {self.made}", [(name, fact) for name, fact in facts if fact != 0])

    def as_dict(self) -> dict[str, Any]:
        facts = asdict(self) | {"folder": str(self.folder), "pages_per_cpu_s": self.pages_per_cpu_s}
        return facts | {"certificate": None if self.certificate is None else self.certificate.as_dict()}
