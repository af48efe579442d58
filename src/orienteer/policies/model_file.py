"""Model files of policies that are trained on other sites (see `orienteer.model_file`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orienteer.errors import InputError, unknown_name
from orienteer.extract.tokens import N_BUCKETS
from orienteer.model_file import expect_kind, expect_settings, read_arrays, write_arrays
from orienteer.policies import all_policies
from orienteer.policies.policy import POLICIES
from orienteer.policies.trained import TrainedPolicy

FORMAT = 1
_MOST_CLASSES = 128
_MOST_BYTES = 8 * _MOST_CLASSES * N_BUCKETS


def trained_policies() -> dict[str, type[TrainedPolicy]]:
    """Return the policies that are trained on other sites, by name."""
    return {name: kind for name, kind in all_policies().items() if issubclass(kind, TrainedPolicy)}


def write_model(path: Path, policy: TrainedPolicy) -> None:
    """Write the model of a policy; equal models give equal bytes."""
    settings = {name: getattr(policy, name) for name in policy.learns_with}
    write_arrays(path, FORMAT, policy.name, settings, policy.learned())


def trained_policy(path: Path, name: str | None = None, settings: Mapping[str, Any] | None = None) -> TrainedPolicy:
    """Read a trained policy from a model file; every fault of the file is an InputError of one line.

    If a name is given, the policy must have it. Settings that affect training must be those of the training.
    """
    model = read_arrays(path, FORMAT, "policy", _MOST_BYTES)
    kinds = trained_policies()
    if name is not None:
        expect_kind(path, model, name)
    elif model.kind not in kinds:
        raise InputError(f"{path}: {unknown_name('policy that is trained', model.kind, kinds)}")
    kind = kinds[model.kind]
    given = dict(settings or {})
    expect_settings(path, model, {key: given[key] for key in kind.learns_with if key in given})
    try:
        known = {key: model.settings[key] for key in kind.learns_with if key in model.settings}
        policy = POLICIES.make(kind.name, known | given)
        assert isinstance(policy, TrainedPolicy)
        policy.load_learned(model.arrays)
    except InputError as error:
        raise InputError(f"{path}: the model is corrupt ({error})") from None
    if not policy.is_trained:
        raise InputError(f"{path}: the model is not trained")
    return policy
