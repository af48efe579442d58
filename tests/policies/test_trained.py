"""Models of policies trained on other sites: written to a file, read again, and refused if they do not fit."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.policies import make_policy
from orienteer.policies.policy_spec import PolicySpec
from orienteer.policies.trained import (
    TrainedPolicy,
    WordClasses,
    path_credit,
    trained_policies,
    trained_policy,
    write_model,
)
from tests.conftest import random_web
from tests.policies.topics import labelled

NAMES = sorted(trained_policies())


def trained(name: str, rng: np.random.Generator, **settings: float) -> TrainedPolicy:
    policy = trained_policies()[name](**settings)
    policy.train([labelled(random_web(rng, 80, 4.0), rng)], threshold=0.6)
    return policy


def model(name: str, folder: Path, rng: np.random.Generator, **settings: float) -> Path:
    write_model(folder / "model.npz", trained(name, rng, **settings))
    return folder / "model.npz"


def test_there_are_two_of_them() -> None:
    assert NAMES == ["apprentice", "context-graph"]


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_crawls_by_its_model_as_it_did(name: str, tmp_path: Path, rng: np.random.Generator) -> None:
    policy = trained(name, rng)
    write_model(tmp_path / "model.npz", policy)
    web = random_web(rng, 300, 4.0)
    topic = {"relevance": labelled(web, rng).relevance, "text": labelled(web, rng).text}
    mine = ori.simulate(web, policy, [0], **topic).order.tolist()
    assert ori.simulate(web, name, [0], **topic, model=tmp_path / "model.npz").order.tolist() == mine
    assert ori.simulate(web, trained_policy(tmp_path / "model.npz"), [0], **topic).order.tolist() == mine
    spec = PolicySpec.parse(f"{name}:model={tmp_path / 'model.npz'}")
    again = spec.make(damping=0.9)
    assert (again.name, again.damping, again.threshold) == (name, 0.9, 0.6)
    assert ori.simulate(web, again, [0], **topic).order.tolist() == mine
    write_model(tmp_path / "again.npz", again)
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()


def test_it_is_made_with_the_settings_it_was_trained_with(tmp_path: Path, rng: np.random.Generator) -> None:
    path = model("context-graph", tmp_path, rng, layers=3)
    policy = make_policy("context-graph", model=str(path), batch=7)
    assert (policy.layers, policy.batch, policy.is_trained) == (3, 7, True)
    assert make_policy("context-graph", model=str(path), layers=3).layers == 3
    with pytest.raises(ori.InputError, match=r"model.npz: the model was trained with layers = 3, not 5"):
        PolicySpec.parse(f"context-graph:model={path},layers=5")
    with pytest.raises(ori.InputError, match="the model is of kind 'context-graph', not 'apprentice'; train it again"):
        PolicySpec.parse(f"apprentice:model={path}")
    with pytest.raises(ori.InputError, match="no setting of scent named 'model'"):
        PolicySpec.parse(f"scent:model={path}")


def test_specs_report_missing_values(tmp_path: Path, rng: np.random.Generator) -> None:
    spec = PolicySpec.parse(f"apprentice:batch=5,model={model('apprentice', tmp_path, rng)}")
    assert not spec.is_untrained
    spec.expect_training()
    bare = spec.with_model("")
    assert (str(bare), bare.model, bare.is_untrained) == ("apprentice:batch=5", "", True)
    with pytest.raises(ori.InputError, match="has not learned on other sites yet; train it first: orienteer"):
        bare.expect_training()
    PolicySpec.parse("scent").expect_training()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"format": np.array(99)}, "the model has format 99, not 1; train it again"),
        ({"kind": np.array("bayes")}, "the model is of kind 'bayes', not 'apprentice'"),
        ({"kind": None}, "this is no model of a policy"),
        ({"settings": np.array("{")}, "this is no model of a policy"),
        ({"settings": np.array('{"discount": 7}')}, r"the model is corrupt \(discount is 7"),
        ({"settings": np.array('{"discount": "x"}')}, "the model is corrupt"),
        ({"words": None}, r"the model is corrupt \(no array 'words' in it\)"),
        ({"words": np.zeros((4, 5))}, "words is float64 of shape"),
        ({"worths": np.full(4, np.nan)}, "numbers that are not finite"),
        ({"texts": np.full(4, -1.0)}, "have negative numbers"),
        ({"texts": np.zeros(4)}, "the model is not trained"),
        ({"threshold": np.array(["x"])}, "threshold is <U1 of shape"),
        ({"texts": np.array([{}], dtype=object)}, "the model is corrupt"),
    ],
)
def test_a_model_that_says_something_else(
    changed: dict, message: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    path = model("apprentice", tmp_path, rng)
    with np.load(path) as arrays:
        content = {**arrays, **changed}
    np.savez(path, **{name: array for name, array in content.items() if array is not None})
    with pytest.raises(ori.InputError, match=message) as refused:
        make_policy("apprentice", model=str(path))
    assert "\n" not in str(refused.value)
    assert "model.npz: " in str(refused.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_cut_short_or_spoiled_anywhere(name: str, tmp_path: Path, rng: np.random.Generator) -> None:
    path = model(name, tmp_path, rng)
    whole = path.read_bytes()
    spoiled = [whole[: int(n)] for n in rng.integers(0, len(whole), 20)]
    for place in rng.integers(0, len(whole), 30):
        spoiled.append(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
    n_refused = 0
    for content in spoiled:
        path.write_bytes(content)
        try:
            make_policy(name, model=str(path))
        except ori.InputError as error:
            n_refused += 1
            assert "\n" not in str(error)
    assert n_refused >= 20


def test_other_files_are_no_models(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "large.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("words.npy", bytes(80 << 20))
    np.savez(tmp_path / "other.npz", format=1, kind="bayes", settings="{}")
    (tmp_path / "text.npz").write_text("no")
    for name, message in (
        ("large.npz", "larger than any model"),
        ("other.npz", "no policy that is trained named 'bayes'"),
        ("text.npz", "the model is corrupt"),
        ("absent.npz", "no such model; train it first"),
        ("", "Is a directory"),
    ):
        with pytest.raises(ori.InputError, match=message):
            trained_policy(tmp_path / name)


@pytest.mark.parametrize("name", NAMES)
def test_pages_of_the_threshold_are_targets(name: str, rng: np.random.Generator) -> None:
    """Of relevance, training looks at nothing but what is a target."""
    site = labelled(random_web(rng, 80, 4.0), rng)
    assert site.relevance is not None
    learned = []
    for relevance, threshold in ((site.relevance, 0.9), (np.where(site.relevance > 0.9, 0.2, 0.1), 0.2)):
        policy = trained_policies()[name]()
        policy.train([site._replace(relevance=relevance)], threshold=threshold)
        learned.append(dict(policy.learned()))
    assert [float(some.pop("threshold")[0]) for some in learned] == [0.9, 0.2]
    for mine, other in zip(learned[0].values(), learned[1].values(), strict=True):
        assert np.array_equal(mine, other)


def test_a_site_may_have_several_starts() -> None:
    # 0 -> 2 -> 3 and 1 -> 3: from both starts the target 3 is nearest to 1
    web = ori.LinkGraph.from_links(4, [0, 2, 1], [2, 3, 3])
    targets = np.array([0, 0, 0, 1]) > 0
    assert path_credit(web, targets, 0, 0.5).tolist() == [0.25, 0, 0.5, 1]
    assert path_credit(web, targets, [0, 1], 0.5).tolist() == [0, 0.5, 0, 1]


def test_equal_words_are_equally_likely_at_any_position(rng: np.random.Generator) -> None:
    """To the last bit: ties are broken by the order of discovery, and by nothing else."""
    classes = WordClasses(3)
    classes.add(rng.integers(0, 3, 50), np.arange(0, 501, 10), rng.integers(1, 40, 500).astype(np.uint32))
    texts = [rng.integers(1, 40, rng.integers(0, 6)).astype(np.uint32) for _ in range(30)]

    def chances(some: list[np.ndarray]) -> np.ndarray:
        return classes.chances(np.cumsum([0, *map(len, some)]), np.concatenate([np.empty(0, np.uint32), *some]))

    together = chances(texts)
    for order in (rng.permutation(30), np.arange(29, -1, -1)):
        assert chances([texts[k] for k in order]).tolist() == together[order].tolist()
