"""The tasks of focused crawling: start pages, targets, and training sites.

- schools-wikipedia-articles: a subject, from the article about Wikipedia (the site's main page has no links in this
  copy). To learn from: the other subjects of the same kind, such as mammals, plants and dinosaurs for birds.
- webkb-dev: the course, faculty or student pages of a university, from its home page. To learn from: the same kind of
  pages of other universities.
- docs-web-dev: a section of one host, from the main page of that host, in a web of 36 hosts. To learn from: similar
  sections of other hosts.
- generated sites that are built to be hard (`evaluate/hard_site`), each with another to learn from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.hard_site import hard_site
from experiments.real_data import DOCS, SCHOOLS, UNIVERSITIES, RealData
from experiments.web_words import words_of
from orienteer.errors import MissingExtraError
from orienteer.extract.tokens import N_BUCKETS
from orienteer.graph.link_graph import LinkGraph
from orienteer.policies.focused import LabelledWeb, WebText
from orienteer.progress import Progress, silent

ARCHIVES = {
    SCHOOLS: "schools-wikipedia-articles.tar.zst",
    UNIVERSITIES: "webkb-dev.jsonl.zst",
    DOCS: "dev-docs-web.tar.zst",
}
ENCYCLOPEDIA = "http://schools-wikipedia.org/wp/w/Wikipedia.htm"
SUBJECTS = (
    "Science.Biology.Birds", "Science.Chemistry.Chemical_elements", "Science.Biology.Mammals",
    "Science.Biology.Dinosaurs", "Design_and_Technology.Railway_transport", "Science.Physics.Space_Astronomy",
    "People.Monarchs_of_Great_Britain", "People.USA_Presidents", "Science.Chemistry.Chemical_compounds",
    "Language_and_literature.Languages", "Music.Performers_and_composers", "Geography.Storms",
    "History.World_War_II", "Everyday_life.Food_and_agriculture",
)  # fmt: skip
TUNING_SUBJECTS = SUBJECTS[:7]

_MODULES = tuple(
    f"{host}/_modules/"
    for host in (
        "docs.celeryq.dev/en/stable", "kombu.readthedocs.io/en/stable", "pillow.readthedocs.io/en/stable",
        "www.gevent.org", "docs.sqlalchemy.org/en/stable", "docs.djangoproject.com/en/3.2", "docs.pytest.org/en/stable",
    )
)  # fmt: skip
_NEWS = ("www.sqlite.org/releaselog/", "pillow.readthedocs.io/en/stable/releasenotes/",
         "docs.djangoproject.com/en/3.2/releases/", "docs.python.org/3/whatsnew/")  # fmt: skip
_C_INTERFACES = ("www.sqlite.org/c3ref/", "docs.python.org/3/c-api/", "www.postgresql.org/docs/15/libpq-")
# Main page, what to find, similar sections of other hosts; the first four were used for tuning.
SECTIONS = (
    ("docs.celeryq.dev/en/stable/index.html", "docs.celeryq.dev/en/stable/_modules/", _MODULES),
    ("www.sqlite.org/index.html", "www.sqlite.org/session/", _C_INTERFACES),
    ("docs.python.org/3/index.html", "docs.python.org/3/c-api/", _C_INTERFACES),
    ("www.postgresql.org/docs/15/index.html", "www.postgresql.org/docs/15/spi-", _C_INTERFACES),
    ("docs.pytest.org/en/stable/index.html", "docs.pytest.org/en/stable/announce/", _NEWS),
    ("www.gevent.org/index.html", "www.gevent.org/_modules/", _MODULES),
    ("docs.sqlalchemy.org/en/stable/index.html", "docs.sqlalchemy.org/en/stable/changelog/", _NEWS),
    ("docs.djangoproject.com/en/3.2/index.html", "docs.djangoproject.com/en/3.2/_modules/", _MODULES),
)


@dataclass(frozen=True)
class TopicTask:
    """Find the relevant pages of a web from a start page."""

    group: str
    name: str
    is_tuning: bool  # the constants of our own policies were chosen by it
    web: LabelledWeb  # with the truth
    start: int
    training: LabelledWeb  # another site, or the same with other targets; the targets of the task are not among them

    def predicted(self) -> NDArray[np.float64]:
        """Return the relevance of each page by a multinomial naive Bayes classifier, trained on the training site."""
        try:
            from sklearn.naive_bayes import MultinomialNB
        except ImportError:
            raise MissingExtraError("an experiment", "scikit-learn", "topics") from None

        model = MultinomialNB(alpha=0.1)
        model.fit(_counts(self.training), _relevance(self.training) >= 0.5)
        return np.asarray(model.predict_proba(_counts(self.web))[:, 1])


def real_tasks(data: RealData, progress: Progress = silent) -> list[TopicTask]:
    """Those of the webs that are at hand."""
    tasks: list[TopicTask] = []
    for name, made in ((SCHOOLS, _school_tasks), (UNIVERSITIES, _university_tasks), (DOCS, _docs_tasks)):
        if data.has(ARCHIVES[name], f"graphs/{name}.urls.txt.gz") and data.has_graph(name):
            if name != SCHOOLS or data.has_subjects:
                tasks += made(data, words_of(data.graph(name), data.path(ARCHIVES[name]), progress))
    return tasks


def hard_tasks(numbers: Iterable[int]) -> Iterator[TopicTask]:
    """Generated sites, each with another one to learn from."""
    for number in numbers:
        yield TopicTask("hard", f"site {number}", False, hard_site(number), 0, hard_site(10 + number))


def _school_tasks(data: RealData, text: WebText) -> Iterator[TopicTask]:
    graph = data.graph(SCHOOLS)
    start = urls_of(graph).index(ENCYCLOPEDIA)
    for subject in SUBJECTS:
        kind = subject.rpartition(".")[0] + "."
        truth = _marks(graph.n_pages, data.subjects[subject])
        akin = [page for name, pages in data.subjects.items() if name.startswith(kind) for page in pages]
        training = restricted(LabelledWeb(graph, _marks(graph.n_pages, akin), text), np.flatnonzero(truth == 0))
        name = subject.rpartition(".")[2].replace("_", " ")
        yield TopicTask("schools", name, subject in TUNING_SUBJECTS, LabelledWeb(graph, truth, text), start, training)


def _university_tasks(data: RealData, text: WebText) -> Iterator[TopicTask]:
    kinds, universities = data.labels(UNIVERSITIES, "cls"), data.labels(UNIVERSITIES, "univ")
    for university in ("cornell", "texas"):
        inside = universities == university
        start = int(np.flatnonzero(kinds[inside] == "department")[0])
        for kind in ("course", "faculty", "student"):
            whole = LabelledWeb(data.graph(UNIVERSITIES), (kinds == kind).astype(float), text)
            web, training = restricted(whole, np.flatnonzero(inside)), restricted(whole, np.flatnonzero(~inside))
            yield TopicTask("webkb", f"{university}: {kind}", university == "cornell", web, start, training)


def _docs_tasks(data: RealData, text: WebText) -> Iterator[TopicTask]:
    graph = data.graph(DOCS)
    urls = [url.removeprefix("http://") for url in urls_of(graph)]
    for k, (main_page, target, similar) in enumerate(SECTIONS):
        host = target.partition("/")[0]
        other_hosts = np.array([page for page, url in enumerate(urls) if not url.startswith(host + "/")])
        akin = _marks(graph.n_pages, [page for page, url in enumerate(urls) if url.startswith(similar)])
        training = restricted(LabelledWeb(graph, akin, text), other_hosts)
        truth = _marks(graph.n_pages, [page for page, url in enumerate(urls) if url.startswith(target)])
        web = LabelledWeb(graph, truth, text)
        yield TopicTask("docs", target.rstrip("/-"), k < 4, web, urls.index(main_page), training)


def urls_of(graph: LinkGraph) -> list[str]:
    assert graph.urls is not None
    return list(graph.urls)


def restricted(web: LabelledWeb, pages: NDArray[np.int64]) -> LabelledWeb:
    """The part of a web that these pages are."""
    assert web.text is not None
    new = np.full(web.graph.n_pages, -1)
    new[pages] = np.arange(len(pages))
    sources = np.repeat(np.arange(web.graph.n_pages), web.graph.out_degrees())
    is_inner = np.flatnonzero((new[sources] >= 0) & (new[web.graph.targets] >= 0))
    offsets = np.searchsorted(new[sources[is_inner]], np.arange(len(pages) + 1)).astype(np.int64)
    graph = LinkGraph(offsets, new[web.graph.targets[is_inner]].astype(np.uint32))
    links = _rows(web.text.link_offsets, web.text.link_words, is_inner)
    return LabelledWeb(graph, _relevance(web)[pages], WebText(*links, *_rows(web.text.offsets, web.text.words, pages)))


def _rows(
    offsets: NDArray[np.int64], words: NDArray[np.uint32], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    rows_of_words = [words[offsets[row] : offsets[row + 1]] for row in rows]
    bounds = np.cumsum([0, *map(len, rows_of_words)]).astype(np.int64)
    return bounds, np.concatenate([np.empty(0, np.uint32), *rows_of_words])


def _marks(n_pages: int, pages: list[int]) -> NDArray[np.float64]:
    marks = np.zeros(n_pages)
    marks[pages] = 1.0
    return marks


def _relevance(web: LabelledWeb) -> NDArray[np.float64]:
    assert web.relevance is not None
    return web.relevance


def _counts(web: LabelledWeb) -> Any:
    from scipy.sparse import csr_matrix

    assert web.text is not None
    shape = (web.graph.n_pages, N_BUCKETS)
    counts = csr_matrix((np.ones(len(web.text.words)), web.text.words.astype(np.int64), web.text.offsets), shape)
    counts.sum_duplicates()
    return counts
