"""Run the hooks of a crawl on its pages. A hook that raises, or returns an invalid value, loses no page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from orienteer.errors import InputError
from orienteer.hooks.checking import merged_additions
from orienteer.hooks.hook_names import Hook, describe_exception
from orienteer.hooks.hook_page import HookPage
from orienteer.pages.added import Additions
from orienteer.wording import plain


@dataclass(frozen=True)
class HookFailures:
    """The number of pages on which a hook failed in a run; `first` is the URL and the error of the first one."""

    n: int
    first: str


class PageHooks:
    """Runs hooks in their order; each gets the page as fetched. Of fields with the same name the last one wins.
    `on_failure` is called with the hook, the URL and the error."""

    def __init__(self, hooks: Sequence[Hook], on_failure: Callable[[Hook, str, str], None]) -> None:
        self.failures: dict[str, HookFailures] = {}
        self._hooks = tuple(hooks)
        self._on_failure = on_failure

    def __bool__(self) -> bool:
        return bool(self._hooks)

    def additions(self, page: HookPage) -> Additions:
        """Return what the hooks add to a page; hooks that fail add nothing."""
        additions = Additions()
        for hook in self._hooks:
            try:
                additions = merged_additions(additions, hook.run(page), page.url)
            except InputError as error:
                additions = self._failed(additions, hook, page.url, plain(str(error), 400))
            except Exception as error:
                additions = self._failed(additions, hook, page.url, describe_exception(error))
        return additions

    def _failed(self, additions: Additions, hook: Hook, url: str, why: str) -> Additions:
        previous = self.failures.get(hook.name)
        first = f"{plain(url, 300)}: {why}" if previous is None else previous.first
        self.failures[hook.name] = HookFailures(1 if previous is None else previous.n + 1, first)
        self._on_failure(hook, url, why)
        return replace(additions, is_complete=False)
