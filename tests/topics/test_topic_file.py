from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import orienteer as ori
from orienteer.topics import all_topics, make_topic
from orienteer.topics.topic import PageContent
from orienteer.topics.topic_file import TopicFile, load_topic, read_model, write_model
from tests.topics.small_topics import EXAMPLES, HOSTILE, IS_ON_TOPIC, PAGES, topic_file, write_examples

LEARNING = [name for name, kind in all_topics().items() if kind.needs_training]


def trained_file(folder: Path, kind: str = "bayes", *lines: str) -> Path:
    write_examples(folder)
    path = topic_file(folder, f'kind = "{kind}"', *EXAMPLES, *lines)
    file, examples = TopicFile.read(path), TopicFile.read(path).examples()
    topic = file.topic()
    topic.train(examples.pages, examples.is_on_topic)
    file.save_model(topic)
    return path


def test_a_file_with_all_keys(tmp_path: Path) -> None:
    path = topic_file(
        tmp_path, 'kind = "linear"', *EXAMPLES, "threshold = 1", 'model = "m/x.npz"', "prior = 0.1", "passes = 3"
    )
    file = TopicFile.read(path)
    assert (file.kind, file.threshold, file.model) == ("linear", 1.0, tmp_path / "m" / "x.npz")
    assert file.settings == {"penalty": 1e-5, "passes": 3, "prior": 0.1, "buckets": 1 << 18}
    assert file.example_source.positive == ("good/",)
    assert file.topic().threshold == 1.0


def test_topics_that_need_no_training_are_ready(tmp_path: Path) -> None:
    keywords = load_topic(topic_file(tmp_path, 'kind = "keywords"', 'words = ["exam"]', "weights = [2]"))
    assert keywords.relevance([PageContent("", "exam", "")])[0] > 0.5
    pattern = load_topic(topic_file(tmp_path, 'kind = "url-pattern"', 'patterns = ["/c/"]'))
    assert pattern.relevance([PageContent("http://a.org/c/", "", "")])[0] == 1
    (tmp_path / "truth.txt").write_text("http://a.org/c/ 1\n")
    labels = load_topic(topic_file(tmp_path, 'kind = "labels"', 'file = "truth.txt"'))
    assert labels.relevance([PageContent("http://a.org/c/", "", "")])[0] == 1


@pytest.mark.parametrize("kind", LEARNING)
def test_a_trained_topic_is_the_same_when_it_is_loaded(kind: str, tmp_path: Path) -> None:
    loaded = load_topic(trained_file(tmp_path, kind, "threshold = 0.7"))
    again = make_topic(kind)
    examples = TopicFile.read(tmp_path / "topic.toml").examples()
    again.train(examples.pages, examples.is_on_topic)
    assert loaded.relevance([*PAGES, *HOSTILE]).tolist() == again.relevance([*PAGES, *HOSTILE]).tolist()
    assert loaded.threshold == 0.7


@pytest.mark.parametrize("kind", LEARNING)
@given(data=st.data())
def test_write_and_read_is_the_same(kind: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    texts = data.draw(st.lists(st.text(max_size=30), min_size=2, max_size=8))
    labels = [True, False, *data.draw(st.lists(st.booleans(), min_size=len(texts) - 2, max_size=len(texts) - 2))]
    pages = [PageContent("", text, text[::-1]) for text in texts]
    settings = {"buckets": 256}
    first, second = make_topic(kind, **settings), make_topic(kind, **settings)
    first.learn(pages, labels)
    path = tmp_path_factory.mktemp("model") / "m.npz"
    write_model(path, first, settings)
    written = path.read_bytes()
    read_model(path, second, settings)
    assert first.relevance(pages).tolist() == second.relevance(pages).tolist()
    write_model(path, second, settings)
    assert path.read_bytes() == written


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no table \\[topic\\] in it"),
        ("topic = 3", "there is no table \\[topic\\] in it"),
        ("[topic", "this is no TOML"),
        ('[topics]\nkind = "bayes"', "no table in .* named 'topics'; did you mean 'topic'"),
        ("[topic]", "kind is missing \\(choices: bayes, keywords, labels, linear, url-pattern\\)"),
        ('[topic]\nkind = "baies"', "no kind of topic in .* named 'baies'; did you mean 'bayes'"),
        ("[topic]\nkind = 7", "no kind of topic in .* named '7'"),
        ('[topic]\nkind = "bayes"\npositiv = ["a"]', "no setting in .* named 'positiv'; did you mean 'positive'"),
        ('[topic]\nkind = "bayes"\nwords = ["a"]', "no setting in .* named 'words'"),
        ('[topic]\nkind = "bayes"\npositive = "good"', "positive is 'good'; it must be a list of texts"),
        ('[topic]\nkind = "bayes"\nprior = "rare"', "prior is 'rare'; it must be a number"),
        ('[topic]\nkind = "bayes"\nprior = 2', "topic.toml: prior is 2.0; it must be above 0 and below 1"),
        ('[topic]\nkind = "bayes"\nthreshold = 0', "threshold is 0.0; it must be above 0 and at most 1"),
        ('[topic]\nkind = "bayes"\nthreshold = nan', "threshold is nan"),
        ('[topic]\nkind = "keywords"', "topic.toml: topic keywords: it needs words"),
        ('[topic]\nkind = "url-pattern"\npatterns = ["("]', "topic.toml: patterns: '\\(' is no regular expression"),
        ('[topic]\nkind = "labels"', "topic.toml: topic labels: it needs a file"),
        ('[topic]\nkind = "labels"\nfile = "x"', "x: no such file of labels"),
        ('[topic]\nkind = "bayes"', "the topic is not trained .*; train it first: orienteer topic train"),
    ],
)
def test_an_unusable_file_is_one_clear_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "topic.toml").write_text(text)
    with pytest.raises(ori.InputError, match=message) as refused:
        load_topic(tmp_path / "topic.toml")
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(ori.InputError, match="no such topic file"):
        load_topic(tmp_path / "none.toml")
    with pytest.raises(ori.InputError, match="Is a directory"):
        load_topic(tmp_path)
    (tmp_path / "x.toml").write_bytes(b"\xff\xff")
    with pytest.raises(ori.InputError, match="no text file"):
        load_topic(tmp_path / "x.toml")


def test_a_model_of_other_settings_is_not_used(tmp_path: Path) -> None:
    path = trained_file(tmp_path)
    topic_file(tmp_path, 'kind = "bayes"', "smoothing = 0.5")
    with pytest.raises(ori.InputError, match=r"was trained with smoothing = 0.01, not 0.5; train it again"):
        load_topic(path)
    topic_file(tmp_path, 'kind = "linear"')
    with pytest.raises(ori.InputError, match=r"the model is of kind 'bayes', not 'linear'; train it again"):
        load_topic(path)


@pytest.mark.parametrize("kind", LEARNING)
def test_a_truncated_or_corrupt_model_is_one_clear_line(kind: str, tmp_path: Path, rng: np.random.Generator) -> None:
    path = trained_file(tmp_path, kind)
    model = tmp_path / "topic.npz"
    whole = model.read_bytes()
    spoiled = [whole[: int(n)] for n in rng.integers(0, len(whole), 30)]
    for place in rng.integers(0, len(whole), 60):
        spoiled.append(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
    n_refused = 0
    for content in spoiled:
        model.write_bytes(content)
        try:
            load_topic(path).relevance(PAGES)
        except ori.InputError as error:
            n_refused += 1
            assert "\n" not in str(error)
            assert "topic.npz: " in str(error)
    assert n_refused >= 30


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"format": np.array(99)}, "the model has format 99, not 1; train it again"),
        ({"occurrences": None}, r"the model is corrupt \(no array 'occurrences' in it\)"),
        ({"occurrences": np.zeros((2, 5))}, "occurrences is float64 of shape"),
        ({"occurrences": np.full((2, 1 << 18), np.nan)}, "numbers that are not finite"),
        ({"occurrences": np.full((2, 1 << 18), -1.0)}, "numbers below 0"),
        ({"n_examples": np.array([0, 0])}, "the model is not trained"),
        ({"kind": None}, "this is no model of a topic"),
        ({"settings": np.array("{")}, "this is no model of a topic"),
        ({"settings": np.array("[]")}, "was trained with buckets = None|was trained with"),
        ({"n_examples": np.array([{}], dtype=object)}, "the model is corrupt"),
    ],
)
def test_an_inconsistent_model_is_one_clear_line(changed: dict, message: str, tmp_path: Path) -> None:
    path = trained_file(tmp_path)
    with np.load(tmp_path / "topic.npz") as arrays:
        content = {**arrays, **changed}
    np.savez(tmp_path / "topic.npz", **{name: array for name, array in content.items() if array is not None})
    with pytest.raises(ori.InputError, match=message):
        load_topic(path)


def test_a_model_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    path = trained_file(tmp_path)
    with zipfile.ZipFile(tmp_path / "topic.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("occurrences.npy", bytes(300 << 20))
    with pytest.raises(ori.InputError, match="larger than any model"):
        load_topic(path)


def test_a_model_that_cannot_be_written(tmp_path: Path) -> None:
    topic = make_topic("bayes")
    topic.train(PAGES, IS_ON_TOPIC)
    with pytest.raises(ori.InputError, match=r"none/x.npz: No such file or directory"):
        write_model(tmp_path / "none" / "x.npz", topic, {})
