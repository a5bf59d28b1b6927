"""What ``python -m perf promote`` did, as text."""

from __future__ import annotations

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
    lines = [table(rows, ("promoted", ""))]
    by_reason: dict[str, list[str]] = {}
    for key, why in promotion.left_out.items():
        by_reason.setdefault(why, []).append(key)
    for why, keys in by_reason.items():
        lines += ["", f"left out, {counted(len(keys), 'case')}: {why}", *(f"  {key}" for key in keys)]
    if expectations:
        lines += ["", f"with the curves of {counted(len(expectations), 'expectation')}: {', '.join(expectations)}"]
    kept = len(promotion.baseline.cases) - len(promotion.promoted)
    unchanged = f", {kept} as they were" if kept else ""
    lines += ["", f"{promotion.baseline.name}: {len(promotion.promoted)} promoted{unchanged}. Review it and commit it."]
    return "\n".join(lines)
