"""`orienteer topic train`: train a topic on its examples."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from orienteer.cli import display
from orienteer.cli.wording import add_fact, counted, facts_grid, plain, size
from orienteer.errors import InputError


def train(
    topic: Path = typer.Argument(help="Topic file (TOML): kind of the topic, its settings and examples."),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="The .npz file to write; default: next to the topic file."
    ),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Train a topic (bayes or linear) on its examples, and store the model.

    A topic file has a table \\[topic], such as kind = "bayes", positive = ["good/"], negative = ["bad/"]. Examples are
    folders of HTML files, WARC files, or pages of a crawl folder.

    Example: [bold]orienteer topic train courses.toml[/bold]
    """
    from orienteer.topics.learning import LearningTopic
    from orienteer.topics.topic_file import TopicFile

    file = TopicFile.read(topic)
    learner = file.topic()
    if not isinstance(learner, LearningTopic):
        raise InputError(f"{topic}: a topic of kind {file.kind} needs no training")
    path = output or file.model
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist")
    started = time.monotonic()
    with display.progress_bar() as progress:
        examples = file.examples(progress)
        read_s = time.monotonic() - started
        progress("training", 0, 0)
        learner.train(examples.pages, examples.is_on_topic)
    train_s = time.monotonic() - started - read_s
    file.save_model(learner, path)
    n_on, n_all = int(examples.is_on_topic.sum()), len(examples.pages)
    if json:
        facts = {"topic": str(topic), "kind": file.kind, "n_on_topic": n_on, "n_off_topic": n_all - n_on}
        facts |= {"n_left_out": examples.n_left_out, "n_words": learner.n_words, "model": str(path)}
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
    add_fact(table, "model", f"{plain(str(path))} ({size(path.stat().st_size)})")
    display.console().print(table)
