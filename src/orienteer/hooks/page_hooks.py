"""Runs the hooks of a crawl on its pages. A hook that raises, or returns something else than it may, loses no page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from orienteer.errors import InputError
from orienteer.hooks.checking import together
from orienteer.hooks.hook_names import Hook, in_one_line
from orienteer.hooks.hook_page import HookPage
from orienteer.pages.added import Additions
from orienteer.wording import plain


@dataclass(frozen=True)
class HookFailures:
    """How many pages a hook failed on in a run; `first` is the URL of the first one, and why."""

    n: int
    first: str


class PageHooks:
    """Several hooks run in the order named; each sees the page as it was fetched. Of fields with the same name the last
    counts. `on_failure` is told the hook, the URL and the error."""

    def __init__(self, hooks: Sequence[Hook], on_failure: Callable[[Hook, str, str], None]) -> None:
        self.failures: dict[str, HookFailures] = {}
        self._hooks = tuple(hooks)
        self._on_failure = on_failure

    def __bool__(self) -> bool:
        return bool(self._hooks)

    def additions(self, page: HookPage) -> Additions:
        """What the hooks add to a page; those that fail add nothing."""
        added = Additions()
        for hook in self._hooks:
            try:
                added = together(added, hook.run(page), page.url)
            except InputError as error:
                added = self._failed(added, hook, page.url, plain(str(error), 400))
            except Exception as error:
                added = self._failed(added, hook, page.url, in_one_line(error))
        return added

    def _failed(self, added: Additions, hook: Hook, url: str, why: str) -> Additions:
        before = self.failures.get(hook.name)
        first = f"{plain(url, 300)}: {why}" if before is None else before.first
        self.failures[hook.name] = HookFailures(1 if before is None else before.n + 1, first)
        self._on_failure(hook, url, why)
        return replace(added, is_whole=False)
