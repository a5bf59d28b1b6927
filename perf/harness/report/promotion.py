"""What ``python -m perf promote`` did, as text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from perf.harness.numbers import counted
from perf.harness.promote import Promotion
from perf.harness.records import Baseline
from perf.harness.report.layout import table


def promotion_table(promotion: Promotion, old: Baseline | None, expectations: Sequence[str] = ()) -> str:
    """The promoted cases and what they replace, then those that were left out, together by reason.

    ``expectations`` are the ids of those whose curves were promoted too.
    """
    rows = []
    for key in promotion.promoted:
        before = old.cases.get(key) if old else None
        rows.append((key, f"replaces the one of {before.promoted:%Y-%m-%d}" if before else "new"))
    lines = [table(rows, ("promoted", ""))] if rows else []
    if promotion.settings:
        lines += ["", *textwrap.wrap(_settings(promotion, old), 120, subsequent_indent="  ", break_on_hyphens=False)]
    by_reason: dict[str, list[str]] = {}
    for key, why in promotion.left_out.items():
        by_reason.setdefault(why, []).append(key)
    for why, keys in by_reason.items():
        what = "setting" if all(key.startswith("kernel[") for key in keys) else "case"
        lines += ["", f"left out, {counted(len(keys), what)}: {why}", *(f"  {key}" for key in keys)]
    if expectations:
        lines += ["", f"with the curves of {counted(len(expectations), 'expectation')}: {', '.join(expectations)}"]
    promoted = len(promotion.promoted) + len(promotion.settings)
    kept = len(promotion.baseline.cases) + len(promotion.baseline.selection) - promoted
    unchanged = f", {kept} as they were" if kept else ""
    lines += ["", f"{promotion.baseline.name}: {promoted} promoted{unchanged}. Review it and commit it."]
    return "\n".join(lines).lstrip("\n")


def _settings(promotion: Promotion, old: Baseline | None) -> str:
    replaced = len(set(promotion.settings) & set(old.selection)) if old else 0
    return (
        f"kernels that Keras would pick on a GPU host, {counted(len(promotion.settings), 'setting')} "
        f"({replaced} replaced): {', '.join(promotion.settings)}"
    )
