"""From runs to a baseline: which kernels Keras would pick on a GPU host, setting by setting.

These are exact and cost no repetition, so that runs of one environment hold the same; where they do not, nothing of the
setting is promoted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from perf.harness.records import Run
from perf.harness.selection_records import PromotedSetting, key_of


def promotable(runs: Sequence[Run], matches: Callable[[str], bool]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Of the settings whose ``kernel[setting]`` is selected: which can be promoted, and by key why others cannot."""
    settings = dict.fromkeys(group for run in runs if run.selection for group in run.selection.groups)
    selected = [setting for setting in settings if matches(key_of(setting))]
    left_out = {key_of(setting): why for setting in selected if (why := _why_not(setting, runs))}
    return tuple(setting for setting in selected if key_of(setting) not in left_out), left_out


def promoted_settings(
    settings: Sequence[str], runs: Sequence[Run], reason: str, now: datetime
) -> dict[str, PromotedSetting]:
    """The records of ``settings``, each of which is in all runs."""
    table, suite = runs[0].selection, runs[0].suite
    if table is None:
        return {}
    return {setting: PromotedSetting(table.only([setting]), suite, now, reason) for setting in settings}


def _why_not(setting: str, runs: Sequence[Run]) -> str:
    """Why a setting cannot be promoted; "" where it can."""
    key = key_of(setting)
    rows = []
    for run in runs:
        if run.selection is None or setting not in run.selection.groups:
            return f"absent from run {run.name}"
        if key in run.red:
            return (
                f"red in run {run.name}. If the new kernel is to be accepted, measure again without "
                "--benchmark-compare and promote that run"
            )
        rows.append(run.selection.only([setting]).rows)
        if rows[-1] != rows[0]:
            return f"not the same in runs {runs[0].name} and {run.name}"
    return ""
