"""Which kernels Keras would pick on a GPU host, in a session that keeps runs: found, and held against the baseline.

What a change of a kernel means stands in :mod:`perf.harness.selection_verdict`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from perf.harness.environment import Side
from perf.harness.green import named
from perf.harness.measure import Progress, Settings
from perf.harness.records import Baseline
from perf.harness.replies import CaseError
from perf.harness.selection_records import PromotedSetting, Selection, key_of
from perf.harness.selection_verdict import Selected, SelectionComparison, compare
from perf.harness.suite import Suite
from perf.harness.tracing import trace


@dataclass(frozen=True, slots=True)
class StoredSelection:
    """The table of the collected settings, and what a comparison says of it.

    ``found`` is ``None`` where no setting was collected, or where ``failure`` says why there is no table.
    ``comparisons``: one for all settings that were promoted with the same versions; empty without a baseline.
    ``new``: settings without a baseline. ``missing``: those of the baseline that were not collected and should have
    been. ``without_test``: those of the suite, likewise.
    """

    found: Selection | None = None
    failure: str = ""
    comparisons: tuple[SelectionComparison, ...] = ()
    new: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    without_test: tuple[str, ...] = ()

    @property
    def red(self) -> dict[str, str]:
        """Why tests fail, by ``kernel[setting]``: these cannot be promoted."""
        reasons: dict[str, str] = {}
        for comparison in self.comparisons:
            for group in comparison.after.groups:
                if found := comparison.reasons(group):
                    reasons[key_of(group)] = "; ".join(found)
        return reasons

    def selected(self, group: str, fail: Callable[[str], NoReturn]) -> Selected | None:
        """What the test of one setting states; ``None`` where nothing was looked at."""
        if self.found is None and not self.failure:
            return None
        comparison = next((one for one in self.comparisons if group in one.after.groups), None)
        return Selected(group, self.found, comparison, fail, self.failure)

    def reasons_not_green(self) -> tuple[str, ...]:
        """Why the session is not green although no test failed."""
        other_places = [
            row.split("/")[0] for comparison in self.comparisons for row in (*comparison.missing, *comparison.new)
        ]
        return tuple(
            f"{_settings(keys)} {what}: {named([key_of(group) for group in keys])}."
            for keys, what in (
                (self.without_test, "without a collected test"),
                (self.missing, "in the baseline's table of kernels and not looked at (missing)"),
                (self.new, "without a baseline in the table of kernels (new)"),
                (tuple(dict.fromkeys(other_places)), "looked at in other places than in the baseline (changed)"),
            )
            if keys
        )


def look(
    groups: Sequence[str],
    narrowed: bool,
    suite: Suite,
    baseline: Baseline | None,
    settings: Settings,
    progress: Progress,
) -> StoredSelection:
    """Asks a worker of this environment for the table of ``groups``, the collected settings, and judges it.

    ``narrowed``: the user left settings out. No worker is started where there is no group.
    """
    found, failure = None, ""
    if groups:
        progress.part("tracing which kernels Keras would pick")
        try:
            found = trace(Side(), suite, groups, settings)
        except CaseError as error:
            failure = error.failure.message
    return judge(found, failure, groups, narrowed, suite, baseline)


def judge(
    found: Selection | None,
    failure: str,
    groups: Sequence[str],
    narrowed: bool,
    suite: Suite,
    baseline: Baseline | None,
) -> StoredSelection:
    """What was found of the collected ``groups``, held against ``baseline`` where there is one. Pure.

    A setting that was promoted from another suite is not missed: its workload is another file's.
    """
    without_test = () if narrowed else tuple(group for group in suite.selection if group not in groups)
    if baseline is None:
        return StoredSelection(found, failure, without_test=without_test)
    promoted = baseline.selection
    return StoredSelection(
        found,
        failure,
        comparisons=() if found is None else _compare(found, promoted),
        new=() if found is None else tuple(group for group in found.groups if group not in promoted),
        missing=()
        if narrowed
        else tuple(group for group, one in promoted.items() if group not in groups and one.suite == suite.name),
        without_test=without_test,
    )


def _compare(found: Selection, promoted: Mapping[str, PromotedSetting]) -> tuple[SelectionComparison, ...]:
    """One comparison for each set of settings that were promoted with the same versions, in the table's order."""
    together: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for group in found.groups:
        if group in promoted:
            versions = tuple(sorted(promoted[group].selection.versions.items()))
            together.setdefault(versions, []).append(group)
    return tuple(
        compare(
            Selection(tuple(row for group in same for row in promoted[group].selection.rows), dict(versions)),
            found.only(same),
        )
        for versions, same in together.items()
    )


def _settings(keys: Sequence[str]) -> str:
    return "1 setting is" if len(keys) == 1 else f"{len(keys)} settings are"
