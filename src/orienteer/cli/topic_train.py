"""`orienteer topic train`: a topic learns from its examples."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from orienteer.cli import display
from orienteer.cli.wording import add_fact, counted, facts_grid, plain, size
from orienteer.errors import InputError


def train(
    topic: Path = typer.Argument(help="Topic file (TOML): its kind, its settings, and where the examples are."),
    out: Path | None = typer.Option(None, help="Write what was learned to this .npz, not beside the topic file."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Train a topic (bayes or linear) on its examples, and keep what it has learned.

    A topic file says what is on topic: kind = "bayes", positive = ["good/"], negative = ["bad/"] in a table \\[topic].
    Examples are folders of HTML files, WARC files, or pages of a crawl folder.

    Example: [bold]orienteer topic train courses.toml[/bold]
    """
    from orienteer.topics.learning import LearningTopic
    from orienteer.topics.topic_file import TopicFile

    file = TopicFile.read(topic)
    learner = file.topic()
    if not isinstance(learner, LearningTopic):
        raise InputError(f"{topic}: a topic of kind {file.kind} needs no training; it can be used as it is")
    place = out or file.model
    if not place.parent.is_dir():
        raise InputError(f"{place}: the folder {place.parent} does not exist")
    started = time.monotonic()
    with display.progress_bar() as progress:
        examples = file.examples(progress)
        read_s = time.monotonic() - started
        progress("training", 0, 0)
        learner.train(examples.pages, examples.is_on_topic)
    train_s = time.monotonic() - started - read_s
    file.keep(learner, place)
    n_on, n_all = int(examples.is_on_topic.sum()), len(examples.pages)
    if json:
        facts = {"topic": str(topic), "kind": file.kind, "n_on_topic": n_on, "n_off_topic": n_all - n_on}
        facts |= {"n_left_out": examples.n_left_out, "n_words": learner.n_words, "model": str(place)}
        facts |= {"read_s": round(read_s, 3), "train_s": round(train_s, 3)}
        display.print_json(facts)
        return
    table = facts_grid()
    add_fact(table, "topic", f"{plain(str(topic))} ({file.kind})")
    add_fact(table, "on topic", counted(n_on, "page"))
    add_fact(table, "off topic", counted(n_all - n_on, "page"))
    if examples.n_left_out:
        add_fact(table, "left out", counted(examples.n_left_out, "file") + " without HTML")
    add_fact(table, "words", f"{learner.n_words:,}")
    add_fact(table, "time", f"{read_s:.1f} s to read the examples, {train_s:.1f} s to train")
    add_fact(table, "model", f"{plain(str(place))} ({size(place.stat().st_size)})")
    display.console().print(table)
