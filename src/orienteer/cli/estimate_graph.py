"""`orienteer estimate --graph`: the estimate on a complete graph, with its true error."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orienteer.cli import display
from orienteer.cli.web_argument import loaded_web, url_of
from orienteer.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from orienteer.graph.estimate import Estimate
    from orienteer.graph.estimation.neighborhood_view import NeighborhoodView
    from orienteer.graph.link_graph import LinkGraph


def estimate_on_graph(
    path: Path, local: str | None, budget: str, given: dict[str, Any], out: Path | None, top: int, json: bool
) -> None:
    from orienteer.cli.estimate import pages_of_budget
    from orienteer.cli.estimate_display import write_ranks
    from orienteer.graph.estimate import estimate_global_rank
    from orienteer.graph.estimation.neighborhood_view import NeighborhoodView
    from orienteer.side_crawls.estimate_rounds import EstimateSettings

    if local is None:
        raise InputError("--graph needs --pages: a file with the pages of the domain, or host:NAME")
    settings = EstimateSettings(**given)
    with display.progress_bar() as progress:
        web = loaded_web(path, None, progress)
        pages = domain_named(web, local)
        found = estimate_global_rank(
            web, pages, pages_of_budget(budget, int(pages.sum())), settings.rounds, settings.select, settings.method,
            settle=settings.settle, truth=True, progress=progress,
        )  # fmt: skip
        view = NeighborhoodView.of(found.estimation, top)
    if out is not None:
        write_ranks(out, view, lambda page: url_of(web, page))
    if json:
        display.print_json(_facts(web, found, view, top))
    else:
        _print(web, found, view, top)


def domain_named(web: LinkGraph, text: str) -> NDArray[np.bool_]:
    """Return the pages of a host, or those listed in a file."""
    from orienteer.graph.page_names import pages_in_file

    kind, colon, host = text.partition(":")
    if kind == "host" and colon:
        if web.hosts is None:
            raise InputError(f"--pages {text}: the graph has no hosts")
        is_local: NDArray[np.bool_] = web.hosts == _host_named(web, host)
        return is_local
    return pages_in_file(web, Path(text))


def _host_named(web: LinkGraph, name: str) -> int:
    """Find a host by name if the graph has URLs, else by number."""
    from orienteer.graph.page_names import is_number

    if web.urls is not None:
        from orienteer.graph.hosts import host_ids

        numbers, names = host_ids(web.urls)
        if name in names:
            page = int((numbers == names.index(name)).argmax())
            assert web.hosts is not None
            return int(web.hosts[page])
        raise InputError(f"--pages host:{name}: no page of the graph is on this host")
    assert web.hosts is not None
    if not is_number(name) or not (web.hosts == int(name)).any():
        raise InputError(f"--pages host:{name}: hosts of this graph are numbers, 0 to {int(web.hosts.max())}")
    return int(name)


def _facts(web: LinkGraph, found: Estimate, view: NeighborhoodView, top: int) -> dict[str, Any]:
    return {
        "n_local": len(found.local),
        "n_fetched": len(found.fetched),
        "select": found.select,
        "method": found.method,
        "history": [asdict(past) for past in found.history],
        "outlook": asdict(found.forecast) | {"text": str(found.forecast)},
        **view.as_dict(lambda page: url_of(web, page), top),
    }


def _print(web: LinkGraph, found: Estimate, view: NeighborhoodView, top: int) -> None:
    from orienteer.cli.estimate_display import print_view
    from orienteer.cli.wording import add_fact, counted, facts_grid

    first, last = found.history[0].errors, found.history[-1].errors
    rows = facts_grid()
    add_fact(rows, "domain", f"{counted(len(found.local), 'page')} of {web.n_pages:,}")
    n_rounds = len(found.history) - 1
    add_fact(rows, "fetched outside", f"{counted(len(found.fetched), 'page')} in {counted(n_rounds, 'round')}")
    for when, errors in (("before", first), ("error", last)):
        if errors is not None:
            true = f"L1 {errors.l1:.4f}, largest {errors.l_inf:.4f}, Kendall's tau {errors.tau:.4f}"
            add_fact(rows, when, true + (" (by the local links alone)" if when == "before" else ""))
    add_fact(rows, "expected error", str(found.forecast))
    display.console().print(rows)
    print_view(view, lambda page: url_of(web, page), top)
