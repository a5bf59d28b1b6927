"""Counts, shares and tables as Markdown, and where they stand in a document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from docs.benchmarks.gate_quality.binomial import interval, upper_bound
from perf.harness.errors import Refusal


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in GitHub's form."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def put_into(path: Path, name: str, text: str) -> None:
    """Replaces what stands between ``<!-- NAME -->`` and ``<!-- end of NAME -->``; raises :class:`Refusal` without."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    content = path.read_text(encoding="utf-8")
    before, found, rest = content.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise Refusal(f"{path} holds no place for the table: a line {begin.strip()} and, below it, a line {end}.")
    path.write_text(f"{before}{begin}\n{text}\n\n{closed}{after}", encoding="utf-8")


def share(hits: int, count: int) -> str:
    """E.g. ``97 % (93–99), 117 of 120``."""
    low, high = interval(hits, count)
    return f"{percent(hits / count)} ({100 * low:.0f}–{100 * high:.0f}), {hits} of {count}"


def bounded(hits: int, count: int) -> str:
    """E.g. ``0 of 200 (below 1.5 %)``."""
    return f"{hits} of {count} (below {100 * upper_bound(hits, count):.2g} %)"


def percent(fraction: float) -> str:
    """A whole number of percent."""
    return f"{100 * fraction:.0f} %"
