"""`orienteer topic`: train a topic on examples, test it, and train a policy for it."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display
from orienteer.cli.command import RESEARCH, command
from orienteer.cli.display import add_fact, facts_grid
from orienteer.errors import InputError
from orienteer.wording import counted, plain, size

if TYPE_CHECKING:
    from orienteer.topics.cross_validation import Quality, TopicTest
    from orienteer.topics.topic_file import TopicFile

_THRESHOLDS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
_NONE = "–"


@command(RESEARCH, "topic train")
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


@command(RESEARCH, "topic train-policy")
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


@command(RESEARCH, "topic test")
def examine(
    topic: Path = typer.Argument(help="Topic file (TOML): kind of the topic, its settings and examples."),
    folds: int = typer.Option(5, help="Number of folds; each is scored by a topic trained on the others."),
    by_site: bool = typer.Option(False, "--by-site", help="Keep each site within one fold, to test on new sites."),
    rng: int = typer.Option(0, help="Random seed of the folds."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Test how well a topic classifies its examples: precision, recall, F1 and average precision, cross-validated.

    A topic that needs no training (keywords, url-pattern, labels) scores all examples directly.

    Example: [bold]orienteer topic test courses.toml --folds 5[/bold]
    """
    from orienteer.topics.cross_validation import cross_validated
    from orienteer.topics.topic_file import TopicFile

    file = TopicFile.read(topic)
    n_folds = folds if file.topic().needs_training else 1
    with display.progress_bar() as progress:
        examples = file.examples(progress)
        found = cross_validated(file.topic, examples.pages, examples.is_on_topic, folds, by_site, rng, progress)
    display.print_result(_facts(file, found, n_folds, by_site), json, lambda: _print(file, found, n_folds, by_site))


def _facts(file: TopicFile, found: TopicTest, n_folds: int, by_site: bool) -> dict[str, Any]:
    n_on = int(found.is_on_topic.sum())
    used = _as_dict(found.at(file.threshold))
    return {
        "topic": str(file.path),
        "kind": file.kind,
        "n_on_topic": n_on,
        "n_off_topic": len(found.is_on_topic) - n_on,
        "n_folds": n_folds,
        "by_site": by_site and n_folds > 1,
        **used,
        "f1_of_folds": [_number(f1) for f1 in found.f1_of_folds(file.threshold)],
        "average_precision": found.average_precision(),
        "best": _as_dict(found.best()),
        "thresholds": [_as_dict(found.at(threshold)) for threshold in _thresholds(file)],
    }


def _print(file: TopicFile, found: TopicTest, n_folds: int, by_site: bool) -> None:
    n_on = int(found.is_on_topic.sum())
    used, best = found.at(file.threshold), found.best()
    table = facts_grid()
    add_fact(table, "topic", f"{plain(str(file.path))} ({file.kind})")
    add_fact(table, "examples", f"{n_on:,} on topic, {counted(len(found.is_on_topic) - n_on, 'other')}")
    add_fact(table, "tested", _method_text(n_folds, by_site))
    add_fact(table, "precision", f"{_figure(used.precision)} of the pages classified as on topic are")
    add_fact(table, "recall", f"{_figure(used.recall)} of the pages on topic are found")
    add_fact(table, "F1", _figure(used.f1) + _spread(found, file.threshold, n_folds))
    add_fact(table, "average precision", _figure(found.average_precision()))
    display.console().print(table)
    columns = ("threshold", "found", "right", "precision", "recall", "F1")
    rows = display.columns_table(None, *((name, True) for name in columns), ("", False))
    for threshold in _thresholds(file):
        remark = "in use" if threshold == file.threshold else ""
        rows.add_row(*_cells(found.at(threshold)), remark)
    if not math.isclose(best.threshold, file.threshold):
        rows.add_row(*_cells(best), "best here")
    display.console().print(rows)


def _thresholds(file: TopicFile) -> list[float]:
    return sorted({*_THRESHOLDS, file.threshold})


def _method_text(n_folds: int, by_site: bool) -> str:
    if n_folds == 1:
        return "on all examples, without training"
    return f"{n_folds} folds" + (", each of whole sites" if by_site else "")


def _spread(found: TopicTest, threshold: float, n_folds: int) -> str:
    if n_folds == 1:
        return ""
    f1 = found.f1_of_folds(threshold)
    return f" (from {_figure(f1.min())} to {_figure(f1.max())} in the folds)"


def _cells(quality: Quality) -> tuple[str, ...]:
    counts = (f"{quality.threshold:.4g}", f"{quality.n_found:,}", f"{quality.n_right:,}")
    return (*counts, _figure(quality.precision), _figure(quality.recall), _figure(quality.f1))


def _figure(value: float) -> str:
    return _NONE if math.isnan(value) else f"{value:.3f}"


def _as_dict(quality: Quality) -> dict[str, Any]:
    return {name: _number(value) for name, value in quality._asdict().items()}


def _number(value: float) -> float | None:
    """Return None instead of NaN, which JSON lacks."""
    return None if math.isnan(value) else value
