"""The real tasks of focused crawling: what to find from where, and what one may learn from elsewhere beforehand.

- schools-wikipedia-articles: a subject, from the article about Wikipedia (the site's main page has no links in this
  copy). To learn from: the other subjects of the same kind, such as mammals, plants and dinosaurs for birds.
- webkb-dev: the course, faculty or student pages of a university, from its home page. To learn from: the same kind of
  pages of other universities.
- docs-web-dev: a part of one host, from the main page of that host, in a web of 36 hosts. To learn from: similar parts
  of other hosts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.focused_webs import graph_of, labels_of, subjects, text_of, urls_of
from orienteer.extract.tokens import N_BUCKETS
from orienteer.graph.link_graph import LinkGraph
from orienteer.policies.focused import LabelledWeb, WebText

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
# Main page, what to find, what is similar elsewhere; the first four were used for tuning.
DOCS = (
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
class RealTask:
    group: str
    name: str
    is_tuning: bool
    web: LabelledWeb  # with the truth
    start: int
    training: LabelledWeb  # another site, or the same with other targets; the targets of the task are not among them

    def heard(self) -> np.ndarray:
        """What a multinomial naive Bayes classifier makes of each page, trained on the training site."""
        from sklearn.naive_bayes import MultinomialNB

        model = MultinomialNB(alpha=0.1)
        assert self.training.relevance is not None
        model.fit(_counts(self.training), self.training.relevance >= 0.5)
        return np.asarray(model.predict_proba(_counts(self.web))[:, 1])


def real_tasks() -> list[RealTask]:
    return [*_school_tasks(), *_university_tasks(), *_docs_tasks()]


def _school_tasks() -> list[RealTask]:
    graph = graph_of("schools-wikipedia-articles")
    text = text_of("schools-wikipedia-articles", graph)
    start = urls_of("schools-wikipedia-articles").index("http://schools-wikipedia.org/wp/w/Wikipedia.htm")
    of_page = subjects()
    tasks = []
    for subject in SUBJECTS:
        kind = subject.rpartition(".")[0]
        truth = _marks(graph.n_pages, [page for page, names in of_page.items() if subject in names])
        akin = [page for page, names in of_page.items() if any(name.startswith(kind + ".") for name in names)]
        elsewhere = np.flatnonzero(truth == 0)
        training = restricted(LabelledWeb(graph, _marks(graph.n_pages, akin), text), elsewhere)
        web = LabelledWeb(graph, truth, text)
        name = subject.rpartition(".")[2].replace("_", " ")
        tasks.append(RealTask("schools", name, subject in TUNING_SUBJECTS, web, start, training))
    return tasks


def _university_tasks() -> list[RealTask]:
    graph = graph_of("webkb-dev")
    text = text_of("webkb-dev", graph)
    kinds, universities = labels_of("webkb-dev", "cls"), labels_of("webkb-dev", "univ")
    tasks = []
    for university in ("cornell", "texas"):
        inside = universities == university
        start = int(np.flatnonzero(kinds[inside] == "department")[0])
        for kind in ("course", "faculty", "student"):
            whole = LabelledWeb(graph, (kinds == kind).astype(float), text)
            web, training = restricted(whole, np.flatnonzero(inside)), restricted(whole, np.flatnonzero(~inside))
            tasks.append(RealTask("webkb", f"{university}: {kind}", university == "cornell", web, start, training))
    return tasks


def _docs_tasks() -> list[RealTask]:
    graph = graph_of("docs-web-dev")
    text = text_of("docs-web-dev", graph)
    urls = [url.removeprefix("http://") for url in urls_of("docs-web-dev")]
    tasks = []
    for k, (main_page, part, similar) in enumerate(DOCS):
        host = part.partition("/")[0]
        elsewhere = np.array([page for page, url in enumerate(urls) if not url.startswith(host + "/")])
        akin = _marks(graph.n_pages, [page for page, url in enumerate(urls) if url.startswith(similar)])
        training = restricted(LabelledWeb(graph, akin, text), elsewhere)
        truth = _marks(graph.n_pages, [page for page, url in enumerate(urls) if url.startswith(part)])
        web = LabelledWeb(graph, truth, text)
        tasks.append(RealTask("docs", part.rstrip("/-"), k < 4, web, urls.index(main_page), training))
    return tasks


def restricted(web: LabelledWeb, pages: np.ndarray) -> LabelledWeb:
    """The part of a web that these pages are."""
    assert web.relevance is not None
    assert web.text is not None
    new = np.full(web.graph.n_pages, -1)
    new[pages] = np.arange(len(pages))
    sources = np.repeat(np.arange(web.graph.n_pages), web.graph.out_degrees())
    kept = np.flatnonzero((new[sources] >= 0) & (new[web.graph.targets] >= 0))
    offsets = np.searchsorted(new[sources[kept]], np.arange(len(pages) + 1)).astype(np.int64)
    graph = LinkGraph(offsets, new[web.graph.targets[kept]].astype(np.uint32))
    links = _rows(web.text.link_offsets, web.text.link_words, kept)
    return LabelledWeb(graph, web.relevance[pages], WebText(*links, *_rows(web.text.offsets, web.text.words, pages)))


def _rows(offsets: np.ndarray, words: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    parts = [words[offsets[row] : offsets[row + 1]] for row in rows]
    bounds = np.cumsum([0, *map(len, parts)]).astype(np.int64)
    return bounds, np.concatenate([np.empty(0, np.uint32), *parts])


def _marks(n_pages: int, pages: list[int]) -> np.ndarray:
    marks = np.zeros(n_pages)
    marks[pages] = 1.0
    return marks


def _counts(web: LabelledWeb):  # type: ignore[no-untyped-def]
    from scipy.sparse import csr_matrix

    assert web.text is not None
    shape = (web.graph.n_pages, N_BUCKETS)
    counts = csr_matrix((np.ones(len(web.text.words)), web.text.words.astype(np.int64), web.text.offsets), shape)
    counts.sum_duplicates()
    return counts
