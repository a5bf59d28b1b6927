"""The table of kernels that Keras would pick on a GPU host, as a section."""

from __future__ import annotations

from perf.harness.report.page.data import Section, Table
from perf.harness.report.selection import comparison_lines, stored_lines
from perf.harness.selection_records import MODES, Selection
from perf.harness.selection_verdict import SelectionComparison
from perf.harness.stored_selection import StoredSelection

_TITLE = "Kernels on a GPU host"
_HOW = "Which kernel Keras would pick on a host with a GPU, found by tracing; no GPU was used."


def compared_kernels(comparison: SelectionComparison) -> Section:
    """What changed between two tables, and the newer table."""
    return Section("kernels", _TITLE, (_HOW, *comparison_lines(comparison).splitlines()), (_table(comparison.after),))


def stored_kernels(looked: StoredSelection) -> tuple[Section, ...]:
    """What a session with stored runs found, and what changed; nothing where no setting was looked at."""
    if looked.found is None:
        return (Section("kernels", _TITLE, (looked.failure,)),) if looked.failure else ()
    said = stored_lines(looked, None) if looked.comparisons or looked.new or looked.missing else []
    lines = [line.strip() for text in said for line in text.splitlines()]
    return (Section("kernels", _TITLE, (_HOW, *lines), (_table(looked.found),)),)


def kernels(selection: Selection) -> Section:
    """One table, compared with nothing."""
    return Section("kernels", _TITLE, (_HOW,), (_table(selection),))


def _table(selection: Selection) -> Table:
    by_key = selection.by_key
    rows = []
    for row in selection.rows:
        if row.mode == MODES[0]:
            both = [by_key[row.row, mode].kernel for mode in MODES]
            rows.append((row.setting, row.place, *both, row.jit, row.note))
    return Table(("setting", "place", *MODES, "jit 'auto'", "note"), tuple(rows))
