"""`orienteer topic train-policy`: a policy learns on other sites how to find the pages of a topic."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from orienteer.cli import display
from orienteer.cli.wording import add_fact, counted, facts_grid, plain, size
from orienteer.errors import InputError


def train_policy(
    policy: str = typer.Argument(help="context-graph or apprentice, with settings as in apprentice:discount=0.4."),
    sites: list[Path] = typer.Argument(
        metavar="SITE...", help="Crawl folders, or WARC files, of other sites with pages on topic."
    ),
    topic: Path | None = typer.Option(
        None, metavar="FILE", help="Topic file: what is on topic there; default: the topic of each crawl."
    ),
    out: Path | None = typer.Option(
        None,
        "--output",
        "-o",
        help="Write what was learned to this .npz; default: TOPIC-POLICY.npz beside the topic file, or POLICY.npz.",
    ),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Let a policy learn on other sites what leads to pages on topic, and keep what it has learned.

    A context-graph learns from what pages say, how many links they are away from a page on topic; an apprentice learns
    from the words of links, what following them is worth. Untrained, they cannot lead a crawl.

    Example: [bold]orienteer topic train-policy apprentice other-crawl --topic courses.toml -o apprentice.npz[/bold]

    Then: [bold]orienteer crawl URL --topic courses.toml --policy apprentice:model=apprentice.npz[/bold]
    """
    from orienteer.focus.policy_training import checked_spec, policy_trained_on
    from orienteer.policies.model_file import write_model

    spec = checked_spec(policy)
    place = out or (Path(f"{spec.name}.npz") if topic is None else topic.with_name(f"{topic.stem}-{spec.name}.npz"))
    if not place.parent.is_dir():
        raise InputError(f"{place}: the folder {place.parent} does not exist")
    started = time.monotonic()
    with display.progress_bar() as progress:
        trained, learned_from = policy_trained_on(spec, sites, topic, progress)
    write_model(place, trained)
    train_s = time.monotonic() - started
    if json:
        facts = [
            {"site": str(site.path), "n_pages": site.n_pages, "n_on_topic": site.n_on_topic} for site in learned_from
        ]
        display.print_json(
            {"policy": str(spec), "topic": None if topic is None else str(topic), "sites": facts,
             "threshold": trained.threshold, "model": str(place), "train_s": round(train_s, 3)}
        )  # fmt: skip
        return
    table = facts_grid()
    add_fact(table, "policy", str(spec))
    add_fact(table, "topic", "that of each crawl" if topic is None else plain(str(topic)))
    for site in learned_from:
        told = f"{plain(str(site.path))}: {counted(site.n_pages, 'page')}, {site.n_on_topic:,} on topic"
        add_fact(table, "site", told)
    add_fact(table, "time", f"{train_s:.1f} s")
    add_fact(table, "model", f"{plain(str(place))} ({size(place.stat().st_size)})")
    add_fact(table, "to use it", f"--policy {spec.with_model(plain(str(place)))}")
    display.console().print(table)
