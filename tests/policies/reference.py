"""Every policy in ten obvious lines, which the kernels must equal, including ties."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from orienteer.graph.link_graph import LinkGraph


def best_of(pages, value) -> int:
    """The page of the greatest value, ties by the lowest id."""
    return min(pages, key=lambda page: (-value[page], page))


def fractional(
    web: LinkGraph, trust: np.ndarray, d: float, m: float = 1.0, per_trust: float | None = None
) -> list[int]:
    f = trust * (1 - d if per_trust is None else per_trust)
    known, order = set(np.flatnonzero(trust).tolist()), []
    while known:
        page = best_of(known, f)
        known.remove(page)
        order.append(page)
        links = web.links(page).tolist()
        outside = [t for t in links if web.hosts is not None and m != 1 and web.hosts[t] != web.hosts[page]]
        for target in links:
            if target not in order:
                share = d * f[page] / (len(links) - len(outside) + m * len(outside))
                f[target] += share * m if target in outside else share
                known.add(target)
    return order


def in_links(web: LinkGraph, trust: np.ndarray) -> list[int]:
    count = np.zeros(web.n_pages)
    known, order = set(np.flatnonzero(trust).tolist()), []
    while known:
        page = best_of(known, count)
        known.remove(page)
        order.append(page)
        for target in web.links(page).tolist():
            if target not in order:
                count[target] += 1
                known.add(target)
    return order


def rankmass(web: LinkGraph, trust: np.ndarray, d: float, until: float) -> tuple[list[int], list[float]]:
    """The order, and CRM just before the page after each was fetched."""
    rm, crm, order, proved = (1 - d) * trust, 0.0, [], []
    while crm < until and rm.max() > 0:
        page = best_of(range(web.n_pages), rm)
        if page not in order:
            if order:
                proved.append(crm)
            order.append(page)
        mass, rm[page] = rm[page], 0.0
        crm += mass
        links = web.links(page)
        if len(links):
            rm[links] += d * mass / len(links)
        else:
            rm += d * mass * trust
    return order, [*proved, crm]


def certified(
    web: LinkGraph, trust: np.ndarray, d: float, eagerness: float, floor: float
) -> Iterator[tuple[int, np.ndarray, set[int]]]:
    """Each page to fetch, with the mass on all pages before it is fetched, and the pages fetched so far."""
    p, fetched = trust.copy(), set()
    known = set(np.flatnonzero(trust).tolist())
    while known - fetched:
        page = best_of(known - fetched, p)
        if fetched:
            other = best_of(fetched, p)
            before_page = (-p[other], other) < (-eagerness * p[page], page)
            if before_page and p[other] * len(known) > floor:
                _push(web, p, other, d)
                known |= set(web.links(other).tolist())
                continue
        yield page, p.copy(), set(fetched)
        fetched.add(page)
        _push(web, p, page, d)
        known |= set(web.links(page).tolist())


def _push(web: LinkGraph, p: np.ndarray, page: int, d: float) -> None:
    mass, p[page] = p[page], 0.0
    links = web.links(page)
    if len(links):
        p[links] += d * mass / len(links)


def windowed(web: LinkGraph, trust: np.ndarray, d: float, window: float) -> tuple[list[int], dict[int, float]]:
    """The order, and the guarantee when the batch that ends with so many pages is complete."""
    rm, crm, order, proved = (1 - d) * trust, 0.0, [], {}
    known = set(np.flatnonzero(trust).tolist())
    while known:
        best_first = sorted(known, key=lambda page: (-rm[page], page))
        batch = best_first[: max(1, math.ceil(window * len(known)))]
        order += batch
        known -= set(batch)
        for page in sorted(order):
            mass, rm[page] = rm[page], 0.0
            crm += mass
            links = web.links(page)
            if len(links):
                rm[links] += d * mass / len(links)
                known |= set(links.tolist()) - set(order)
            else:
                rm += d * mass * trust
        proved[len(order)] = crm
    return order, proved


def breadth_first(web: LinkGraph, trust: np.ndarray) -> list[int]:
    order = np.flatnonzero(trust).tolist()
    for page in order:
        order += [target for target in web.links(page).tolist() if target not in order]
    return order


def by_level(web: LinkGraph, trust: np.ndarray) -> list[list[int]]:
    level, seen, levels = np.flatnonzero(trust).tolist(), set(np.flatnonzero(trust).tolist()), []
    while level:
        levels.append(level)
        level = sorted({t for page in level for t in web.links(page).tolist()} - seen)
        seen |= set(level)
    return levels


def first_known_by(web: LinkGraph, trust: np.ndarray, value: np.ndarray) -> list[int]:
    """Among the known pages always the one of the greatest fixed value."""
    known, order = set(np.flatnonzero(trust).tolist()), []
    while known:
        page = best_of(known, value)
        known.remove(page)
        order.append(page)
        known |= set(web.links(page).tolist()) - set(order)
    return order
