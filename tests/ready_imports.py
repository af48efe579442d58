"""What a ready process imports: everything, the kernels of a crawl compiled, and the command lines put together."""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import os
import pkgutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

_SELDOM = ("orienteer.agents", "orienteer.scrapy", "orienteer.workers.ray")  # what takes long to import, for a few


def import_everything() -> None:
    """All that the commands import when they are called, the kernels of a crawl, and the commands put together."""
    import rich._emoji_codes  # noqa: F401
    import sklearn.linear_model  # noqa: F401

    import orienteer
    from orienteer.evaluate.compare import warm_up as warm_up_policy
    from orienteer.extract.language import detected
    from orienteer.extract.page import extract_page
    from orienteer.graph.hosts import with_hosts
    from orienteer.graph.synthetic import synthetic_web
    from orienteer.ledger.plan import CrawlPlan
    from orienteer.live.warm_up import warm_up
    from orienteer.policies.policy_spec import PolicySpec
    from orienteer.public_names import public_names
    from orienteer.registry import entry_points_of
    from orienteer.url import site_of

    for name in public_names("orienteer"):
        getattr(orienteer, name)
    entry_points_of("")
    for module in pkgutil.walk_packages(orienteer.__path__, "orienteer."):  # ours alone, and no plug-in
        if not module.name.startswith(_SELDOM) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    _put_together()
    with _one_at_a_time():  # what is not in the cache is compiled by one of them
        warm_up(CrawlPlan.parse('[crawl]\nseeds = ["http://a.example/"]', "here"))
        extract_page(b"<p>A line.<p>And another one.", "http://a.example/", with_scores=True)
        web = synthetic_web(100, with_urls=True)
        web = with_hosts(orienteer.LinkGraph.from_links(100, web.sources(), web.targets, urls=web.urls))
        orienteer.select_seeds(web, 2)
        for policy in ("certified", "rankmass"):
            warm_up_policy(PolicySpec.parse(policy), damping=0.85, with_hosts=True)
    detected("a text that is long enough for a guess at its language")
    site_of("a.example")


def _put_together() -> None:
    """The command lines, once for all processes: that took longer than many a command."""
    import typer.main

    import orienteer.cli.main as of_orienteer
    from orienteer.cli.command import declared_commands

    of_orienteer.command_line = cache(of_orienteer.command_line)
    typer.main.get_command = cache(typer.main.get_command)
    for first in {words.split()[0] for words in declared_commands()}:
        todo = [typer.main.get_command(of_orienteer.command_line(first))]
        for command in todo:
            todo += getattr(command, "commands", {}).values()
            for parameter in command.params:
                getattr(parameter, "get_runtime_param", str)()  # not every version of typer has it


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Of all such processes of this user and this checkout."""
    checkout = hashlib.sha256(__file__.encode()).hexdigest()[:16]
    with open(Path(tempfile.gettempdir()) / f"orienteer-ready-{os.getuid()}-{checkout}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
