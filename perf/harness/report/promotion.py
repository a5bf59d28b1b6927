"""What ``python -m perf promote`` did, as text."""

from __future__ import annotations

from tabulate import tabulate

from perf.harness.promote import Promotion
from perf.harness.records import Baseline


def promotion_table(promotion: Promotion, old: Baseline | None) -> str:
    """What ``python -m perf promote`` did."""
    rows = []
    for key in promotion.promoted:
        before = old.cases.get(key) if old else None
        what = "replaces the one of " + f"{before.promoted:%Y-%m-%d}" if before else "new"
        rows.append((key, "promoted", what))
    rows += [(key, "left out", why[:60] + ("…" if len(why) > 60 else "")) for key, why in promotion.left_out.items()]
    kept = len(promotion.baseline.cases) - len(promotion.promoted)
    last = f"{promotion.baseline.name}: {len(promotion.promoted)} promoted"
    last += f", {kept} as they were" if kept else ""
    full = [f"{key}: {why}" for key, why in promotion.left_out.items() if len(why) > 60]
    return "\n".join(
        [tabulate(rows, ("case", "", ""), disable_numparse=True), *full, f"{last}. Review it and commit it."]
    )
