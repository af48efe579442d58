"""The model of a trained policy, stored with the crawl in policy.npz in its folder.

crawl.toml names the policy without the file of its model, which may be gone when the crawl is resumed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from orienteer.errors import InputError
from orienteer.ledger.plan import CrawlPlan
from orienteer.policies.policy_spec import PolicySpec
from orienteer.policies.trained import TrainedPolicy, trained_policy, write_model
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_files import policy_model_path


class LoadedPolicy:
    """The policy of a plan, checked before it is stored in the folder of the crawl.

    `plan` is the plan to store there.
    """

    def __init__(self, plan: CrawlPlan, folder: Path) -> None:
        spec = PolicySpec.parse(plan.crawl.policy)
        self._policy: TrainedPolicy | None = None
        self.plan = plan
        if spec.model:
            self._policy = trained_policy(Path(spec.model), spec.name)
            self.plan = replace(plan, crawl=replace(plan.crawl, policy=str(spec.with_model(""))))
        else:
            spec_of_crawl(folder, spec).expect_training()

    def store(self, folder: CrawlFolder) -> None:
        """Write the model into the folder of a new crawl; a crawl that has begun must have the same one."""
        if self._policy is None:
            return
        path = policy_model_path(folder.path)
        if not path.exists():
            write_model(path, self._policy)
            return
        mine, theirs = self._policy.learned(), trained_policy(path, self._policy.name).learned()
        if not all(np.array_equal(mine[name], theirs[name]) for name in mine):
            raise InputError(
                f"{folder.path}: this crawl was begun with another model of {self._policy.name} (see {path})"
            )


def spec_of_crawl(folder: Path, spec: PolicySpec) -> PolicySpec:
    """Return the policy with the model in the folder, if it can be trained and names no other model."""
    path = policy_model_path(folder)
    return spec.with_model(str(path)) if spec.is_untrained and path.exists() else spec
