"""`orienteer topic train-policy`: train a focused policy on other sites."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from orienteer.cli import display
from orienteer.cli.wording import add_fact, counted, facts_grid, plain, size
from orienteer.errors import InputError


def train_policy(
    policy: str = typer.Argument(help="context-graph or apprentice, with settings such as apprentice:discount=0.4."),
    sites: list[Path] = typer.Argument(
        metavar="SITE...", help="Crawl folders or WARC files of other sites with pages on topic."
    ),
    topic: Path | None = typer.Option(None, metavar="FILE", help="Topic file; default: the topic of each crawl."),
    out: Path | None = typer.Option(
        None,
        "--output",
        "-o",
        help="The .npz file to write; default: TOPIC-POLICY.npz next to the topic file, or POLICY.npz.",
    ),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Train a focused policy on other sites, and store the model.

    A context-graph learns to estimate from the text of a page its distance in links to a page on topic; an apprentice
    learns the value of a link from its words. Without training they cannot guide a crawl.

    Example: [bold]orienteer topic train-policy apprentice other-crawl --topic courses.toml -o apprentice.npz[/bold]

    Then: [bold]orienteer crawl URL --topic courses.toml --policy apprentice:model=apprentice.npz[/bold]
    """
    from orienteer.focus.policy_training import checked_spec, policy_trained_on
    from orienteer.policies.trained import write_model

    spec = checked_spec(policy)
    path = out or (Path(f"{spec.name}.npz") if topic is None else topic.with_name(f"{topic.stem}-{spec.name}.npz"))
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist")
    started = time.monotonic()
    with display.progress_bar() as progress:
        trained, learned_from = policy_trained_on(spec, sites, topic, progress)
    write_model(path, trained)
    train_s = time.monotonic() - started
    if json:
        facts = [
            {"site": str(site.path), "n_pages": site.n_pages, "n_on_topic": site.n_on_topic} for site in learned_from
        ]
        display.print_json(
            {"policy": str(spec), "topic": None if topic is None else str(topic), "sites": facts,
             "threshold": trained.threshold, "model": str(path), "train_s": round(train_s, 3)}
        )  # fmt: skip
        return
    table = facts_grid()
    add_fact(table, "policy", str(spec))
    add_fact(table, "topic", "the topic of each crawl" if topic is None else plain(str(topic)))
    for site in learned_from:
        line = f"{plain(str(site.path))}: {counted(site.n_pages, 'page')}, {site.n_on_topic:,} on topic"
        add_fact(table, "site", line)
    add_fact(table, "time", f"{train_s:.1f} s")
    add_fact(table, "model", f"{plain(str(path))} ({size(path.stat().st_size)})")
    add_fact(table, "to use it", f"--policy {spec.with_model(plain(str(path)))}")
    display.console().print(table)
