"""The settings of Orienteer in a Scrapy project."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrapy.settings import BaseSettings

from orienteer.crawl.goal import Goal
from orienteer.errors import InputError, OrienteerError
from orienteer.graph.survey.crawl_survey import check_confidence
from orienteer.policies.focused import FocusedPolicy
from orienteer.policies.policy import Policy, checked_damping
from orienteer.policies.policy_spec import PolicySpec


@dataclass(frozen=True)
class PluginSettings:
    policy: str = "certified"
    folder: Path | None = None
    until: float | None = None
    damping: float = 0.85
    confidence: float | None = None

    def __post_init__(self) -> None:
        _named("ORIENTEER_DAMPING", lambda: checked_damping(self.damping))
        if self.confidence is not None:
            _named("ORIENTEER_CONFIDENCE", lambda: check_confidence(self.confidence or 0.0))
        _named("CLOSESPIDER_COVERAGE", self.goal)
        policy = _named("ORIENTEER_POLICY", self.new_policy)
        if policy.knows_truth:
            raise InputError(
                f"ORIENTEER_POLICY: {self.policy} needs the true rank of the whole web: it is for simulations only"
            )
        if isinstance(policy, FocusedPolicy):
            raise InputError(f"ORIENTEER_POLICY: {self.policy} looks for pages of a topic, and a spider has none")

    @classmethod
    def of_project(cls, settings: BaseSettings) -> PluginSettings:
        """Read the settings of a project; an InputError names the first invalid one."""
        folder = settings.get("ORIENTEER_DIR")
        if not folder and settings.get("JOBDIR"):
            folder = Path(settings["JOBDIR"]) / "orienteer"
        return cls(
            policy=str(settings.get("ORIENTEER_POLICY") or cls.policy),
            folder=Path(folder) if folder else None,
            until=_number(settings, "CLOSESPIDER_COVERAGE", 0.0) or None,
            damping=_number(settings, "ORIENTEER_DAMPING", cls.damping),
            confidence=_number(settings, "ORIENTEER_CONFIDENCE", 0.0) or None,
        )

    def goal(self) -> Goal:
        return Goal(until=self.until, by_certificate=True, confidence=self.confidence)

    def new_policy(self) -> Policy:
        return PolicySpec.parse(self.policy).make(self.damping)


def _number(settings: BaseSettings, name: str, default: float) -> float:
    value = settings.get(name)
    try:
        return default if value is None else float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}; it must be a number") from None


def _named(setting: str, check: Any) -> Any:
    try:
        return check()
    except OrienteerError as error:
        raise InputError(f"{setting}: {error}") from None
