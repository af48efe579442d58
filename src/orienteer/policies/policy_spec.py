"""A policy with its settings as one argument: `windowed-rankmass:window=0.05`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from orienteer.errors import InputError
from orienteer.policies import make_policy, settings_of
from orienteer.policies.policy import POLICIES, Policy, checked_damping
from orienteer.policies.trained import TrainedPolicy


@dataclass(frozen=True)
class PolicySpec:
    """The name of a policy and the settings that differ from its defaults.

    >>> str(PolicySpec.parse("windowed-rankmass:window=0.05"))
    'windowed-rankmass:window=0.05'
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> PolicySpec:
        """Parse `NAME` or `NAME:setting=value,setting=value`."""
        name, _, settings = text.strip().partition(":")
        return cls.of_texts(name, [setting for setting in settings.split(",") if setting.strip()])

    @classmethod
    def of_texts(cls, name: str, settings: Iterable[str]) -> PolicySpec:
        """Parse settings given as texts `setting=value`; an InputError names the first invalid one."""
        texts: dict[str, str] = {}
        for text in settings:
            setting, equals, value = (piece.strip() for piece in text.partition("="))
            if not equals or not setting or not value:
                raise InputError(f"policy {name}: {text!r} is not a setting; write name=value")
            if setting in texts:
                raise InputError(f"policy {name}: {setting} is set twice")
            texts[setting] = value
        defaults = settings_of(POLICIES.find(name))
        values = {
            key: _value(name, key, text, defaults[key]) if key in defaults else text for key, text in texts.items()
        }
        make_policy(name, **values)  # raises an InputError for invalid values now, not when the crawl starts
        return cls(name, values)

    def make(self, damping: float) -> Policy:
        """Create the policy, for a crawl whose coverage is computed with this damping.

        A policy that does not use damping gets it, too, because its crawl is certified with it.
        """
        if "damping" in self.settings and self.settings["damping"] != damping:
            raise InputError(
                f"{self}: damping is set for the whole crawl ({damping}), so that coverage means one thing"
            )
        if "damping" in settings_of(POLICIES.find(self.name)):
            return make_policy(self.name, **{**self.settings, "damping": damping})
        made = make_policy(self.name, **self.settings)
        made.damping = checked_damping(damping)
        return made

    @property
    def model(self) -> str:
        """The model file of a policy that is trained on other sites; empty if there is none."""
        return str(self.settings.get("model", ""))

    @property
    def is_untrained(self) -> bool:
        """Whether the policy needs training on other sites and has no model."""
        return issubclass(POLICIES.find(self.name), TrainedPolicy) and not self.model

    def with_model(self, model: str) -> PolicySpec:
        """Return the same policy with this model file; without any if it is empty."""
        others = {key: value for key, value in self.settings.items() if key != "model"}
        return PolicySpec(self.name, others | ({"model": model} if model else {}))

    def expect_training(self) -> None:
        """Raise an InputError if the policy is untrained, and so would only crawl breadth-first."""
        if self.is_untrained:
            raise InputError(
                f"policy {self.name} has not learned on other sites yet; train it first: orienteer topic train-policy "
                f"{self.name} SITE... --topic FILE -o MODEL.npz, then name it: {self.name}:model=MODEL.npz"
            )

    def __str__(self) -> str:
        texts = (
            f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in self.settings.items()
        )
        return self.name + ":" * bool(self.settings) + ",".join(texts)


def split_specs(text: str) -> list[str]:
    """Split a comma-separated list of specs; an item that is only a setting belongs to the policy before it.

    >>> split_specs("opic, fractional:inter_host_weight=20,damping=0.9, random")
    ['opic', 'fractional:inter_host_weight=20,damping=0.9', 'random']
    """
    specs: list[str] = []
    for item in filter(None, map(str.strip, text.split(","))):
        if specs and "=" in item and ":" not in item:
            specs[-1] += ("," if ":" in specs[-1] else ":") + item
        else:
            specs.append(item)
    return specs


def _value(policy: str, setting: str, text: str, default: Any) -> Any:
    """Convert the text to the type of the default."""
    if isinstance(default, bool):
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise InputError(f"policy {policy}: {setting} is {text!r}; it must be true or false")
    if isinstance(default, int | float):
        try:
            return type(default)(text)
        except ValueError:
            kind = "a whole number" if isinstance(default, int) else "a number"
            raise InputError(f"policy {policy}: {setting} is {text!r}; it must be {kind}") from None
    return text
