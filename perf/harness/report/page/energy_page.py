"""Energy and conditions as parts of the page."""

from __future__ import annotations

from collections.abc import Mapping

from perf.harness.conditions import Counter
from perf.harness.records import CaseResult
from perf.harness.report.conditions import conditions_lines
from perf.harness.report.energy import NOTE, absent_lines, crossing_lines, energy_rows
from perf.harness.report.page.data import Section, Table


def energy_sections(results: Mapping[str, CaseResult], absent: Mapping[Counter, str]) -> tuple[Section, ...]:
    """Energy per step and per sample with the crossing of the devices, and what was void or noted; none of both where
    nothing was counted, noted, or missing for a reason."""
    headers, rows = energy_rows(results)
    lines = (*crossing_lines(results), *absent_lines(absent))
    found = []
    if rows or lines:
        tables = (Table(headers, tuple(rows), NOTE),) if rows else ()
        found.append(Section("energy", "Energy", lines, tables))
    if seen := conditions_lines(results):
        found.append(Section("conditions", "Conditions on the GPU", tuple(seen.splitlines())))
    return tuple(found)
