"""The table of kernels that Keras would pick on a GPU host, for the terminal. Pure: records in, text out."""

from __future__ import annotations

import textwrap

from tabulate import tabulate

from perf.harness.message import ALWAYS_NAMED
from perf.harness.selection import MODES, Selection
from perf.harness.selection_verdict import SelectionComparison

_KERNEL_WIDTH, _PLACES_WIDTH = 24, 48


def selection_table(selection: Selection) -> str:
    """One line per setting and set of places that share kernels, resolved jit and note; at most 120 columns."""
    places: dict[tuple[str, ...], list[str]] = {}
    all_places: dict[str, set[str]] = {}
    by_key = selection.by_key
    for row in selection.rows:
        all_places.setdefault(row.setting, set()).add(row.place)
        if row.mode == MODES[0]:
            kernels = [by_key[row.row, mode].plain_kernel for mode in MODES]
            places.setdefault((row.setting, _in_modes(kernels), row.jit, row.note), []).append(row.place)
    lines = []
    last = ""
    for (setting, kernel, jit, note), found in places.items():
        everywhere = len(found) > 1 and set(found) == all_places[setting]
        where = f"everywhere ({len(found)})" if everywhere else "; ".join(found)
        text = f"{where}: {note}" if note else where
        shown = "\n".join(textwrap.wrap(text, _PLACES_WIDTH))
        kernel = "\n".join(textwrap.wrap(kernel, _KERNEL_WIDTH))
        lines.append(("" if setting == last else setting, kernel, jit, shown))
        last = setting
    versions = ", ".join(f"{name} {selection.versions[name]}" for name in ALWAYS_NAMED if name in selection.versions)
    head = f"Kernel that Keras would pick on a GPU host ({versions}; found by tracing, no GPU was used)"
    headers = ("setting", "kernel", "jit 'auto'", "where")
    return f"{head}\n" + tabulate(lines, headers=headers, disable_numparse=True, tablefmt="simple")


def _in_modes(kernels: list[str]) -> str:
    """One kernel where the modes agree, as they nearly always do."""
    if len(set(kernels)) == 1:
        return kernels[0]
    return ", ".join(f"{mode} {kernel}" for mode, kernel in zip(MODES, kernels, strict=True))


def comparison_lines(comparison: SelectionComparison) -> str:
    """What changed, the worst first; one line that says so where nothing did."""
    found = [f"lost cuDNN: {text}" for text in comparison.sentences(comparison.lost)]
    found += [f"kernel changed: {text}" for text in comparison.sentences(comparison.changed)]
    found += [f"gained: {text}" for text in comparison.sentences(comparison.gained)]
    found += [f"not comparable: {text}" for text in comparison.not_compared()]
    jit = comparison.sentences(comparison.resolved, "jit_compile='auto' is ")
    found += [f"differs, for information: {text}" for text in (*jit, *comparison.sentences(comparison.noted))]
    found += [f"missing: {row} is in the baseline's table of kernels and not in this one" for row in comparison.missing]
    found += [f"new: {row} is not in the baseline's table of kernels" for row in comparison.new]
    rows = len(comparison.after.by_key.keys() & comparison.before.by_key.keys())
    return "\n".join(found) or f"No kernel that Keras would pick on a GPU host changed ({rows} compared)."
