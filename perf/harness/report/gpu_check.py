"""What became of each assumption about GPUs, for the terminal. Pure."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence

from perf.harness.gpu_check.records import Finding, Outcome
from perf.harness.report.layout import WIDTH, table

#: Columns that the id and the outcome leave.
_SAID = WIDTH - 45


def findings_table(findings: Mapping[str, Finding], asked: Sequence[str]) -> str:
    """A line for each that was ``asked`` for, what did not hold first, and how many there are of each outcome."""
    shown = [findings[id] for id in asked if id in findings]
    if not shown:
        return ""
    order = {outcome: place for place, outcome in enumerate((Outcome.BROKEN, Outcome.HELD, Outcome.UNCHECKED))}
    rows = [
        (one.id, str(one.outcome), textwrap.fill(one.said.splitlines()[0], _SAID))
        for one in sorted(shown, key=lambda one: order[one.outcome])
    ]
    counts = Counter(one.outcome for one in shown)
    said = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome)
    return f"Taken for granted about GPUs: {said}\n{table(rows, ('assumption', '', 'what was seen'))}"
