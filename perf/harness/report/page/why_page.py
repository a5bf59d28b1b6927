"""Why it takes as long as it does, as a section of the page; the words are the terminal's."""

from __future__ import annotations

from perf.harness.report.page.data import Section, Table
from perf.harness.report.why import HEAD, lines, sentences, tables
from perf.harness.why.records import Account


def why_sections(account: Account) -> tuple[Section, ...]:
    """One section, or none where nothing was measured that tells anything."""
    shown = tuple(
        Table(each.headers, tuple(tuple("; ".join(cell.split("\n")) for cell in row) for row in each.rows), each.head)
        for each in tables(account)
    )
    said = sentences(account)
    if not shown and not said:
        return ()
    paragraphs = (*lines(account), *([f"{HEAD}:"] if said else []), *said)
    return (Section("why", "Why", paragraphs, shown),)
