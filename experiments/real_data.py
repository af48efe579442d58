"""The real data that an experiment reads: what is at hand, and what has to be left out."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import Experiment
from experiments.webs import Webs
from orienteer.files.compressed import text_of
from orienteer.graph.link_graph import LinkGraph

SCHOOLS, DOCS, UNIVERSITIES = "schools-wikipedia-articles", "docs-web-dev", "webkb-dev"
_SUBJECTS = f"graphs/{SCHOOLS}.topics.tsv.gz"


class RealData:
    """Files by the names that the experiment has for them, and graphs by theirs; all as the experiment knows them."""

    def __init__(self, experiment: Experiment, webs: Webs) -> None:
        self._paths = {data.file: webs.file(data) for data in experiment.data}
        self._graphs: dict[str, LinkGraph] = {}

    def has(self, *files: str) -> bool:
        return all(self._paths.get(file) is not None for file in files)

    def has_graph(self, name: str) -> bool:
        return self.has(f"graphs/{name}.npz")

    @property
    def has_subjects(self) -> bool:
        return self.has_graph(SCHOOLS) and self.has(_SUBJECTS)

    def path(self, file: str) -> Path:
        path = self._paths[file]
        assert path is not None, file
        return path

    def graph(self, name: str) -> LinkGraph:
        if name not in self._graphs:
            self._graphs[name] = LinkGraph.load(self.path(f"graphs/{name}.npz"))
        return self._graphs[name]

    def labels(self, name: str, label: str) -> NDArray[np.str_]:
        """What the file of a graph says of each page: cls, univ or label, as names if it has them."""
        with np.load(self.path(f"graphs/{name}.npz")) as arrays:
            names = f"{label}_names"
            return np.asarray(arrays[names][arrays[label]] if names in arrays else arrays[label].astype(str))

    @cached_property
    def subjects(self) -> dict[str, list[int]]:
        """The articles of each subject of schools-wikipedia-articles."""
        members: dict[str, set[int]] = defaultdict(set)
        for line in text_of(self.path(_SUBJECTS), _SUBJECTS, "it is not there").splitlines():
            page, subject = line.split("\t")[:2]
            members[subject].add(int(page))
        return {subject: sorted(members[subject]) for subject in sorted(members)}
