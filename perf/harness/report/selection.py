"""The table of kernels that Keras would pick on a GPU host, for the terminal. Pure: records in, text out."""

from __future__ import annotations

import textwrap

from tabulate import tabulate

from perf.harness.message import ALWAYS_NAMED
from perf.harness.selection_records import MODES, Selection, key_of
from perf.harness.selection_verdict import SelectionComparison
from perf.harness.stored_selection import StoredSelection

_SETTING_WIDTH, _KERNEL_WIDTH, _PLACES_WIDTH = 38, 20, 44
#: What a setting's line says besides its name: kernel, resolved jit, places with their note.
_Line = tuple[str, str, str]


def selection_table(selection: Selection) -> str:
    """What each setting has in each set of places that share kernels, resolved jit and note; settings that are alike
    in all of it stand together. At most 120 columns."""
    alike: dict[tuple[_Line, ...], list[str]] = {}
    for setting, lines in _by_setting(selection).items():
        alike.setdefault(tuple(lines), []).append(setting)
    rows = []
    for shared, settings in alike.items():
        names = _wrapped(", ".join(settings), _SETTING_WIDTH)
        for kernel, jit, where in shared:
            rows.append((names, _wrapped(kernel, _KERNEL_WIDTH), jit, _wrapped(where, _PLACES_WIDTH)))
            names = ""
    versions = ", ".join(f"{name} {selection.versions[name]}" for name in ALWAYS_NAMED if name in selection.versions)
    head = f"Kernel that Keras would pick on a GPU host ({versions}; found by tracing, no GPU was used)"
    headers = ("setting", "kernel", "jit 'auto'", "where")
    return f"{head}\n" + tabulate(rows, headers=headers, disable_numparse=True, tablefmt="simple")


def _by_setting(selection: Selection) -> dict[str, list[_Line]]:
    by_key = selection.by_key
    places: dict[str, dict[_Line, list[str]]] = {}
    for row in selection.rows:
        if row.mode == MODES[0]:
            kernel = _in_modes([by_key[row.row, mode].plain_kernel for mode in MODES])
            places.setdefault(row.setting, {}).setdefault((kernel, row.jit, row.note), []).append(row.place)
    found = {}
    for setting, lines in places.items():
        number = sum(map(len, lines.values()))
        found[setting] = [
            (kernel, jit, _where(names, everywhere=len(names) == number) + (f": {note}" if note else ""))
            for (kernel, jit, note), names in lines.items()
        ]
    return found


def _where(places: list[str], *, everywhere: bool) -> str:
    return f"everywhere ({len(places)})" if everywhere and len(places) > 1 else "; ".join(places)


def _wrapped(text: str, width: int) -> str:
    return "\n".join(textwrap.wrap(text, width, break_on_hyphens=False))


def _in_modes(kernels: list[str]) -> str:
    """One kernel where the modes agree, as they nearly always do."""
    if len(set(kernels)) == 1:
        return kernels[0]
    return ", ".join(f"{mode} {kernel}" for mode, kernel in zip(MODES, kernels, strict=True))


def comparison_lines(*comparisons: SelectionComparison) -> str:
    """What changed, the worst first; one line that says so where nothing did."""
    found = []
    for comparison in comparisons:
        found += [f"lost cuDNN: {text}" for text in comparison.sentences(comparison.lost)]
        found += [f"kernel changed: {text}" for text in comparison.sentences(comparison.changed)]
        found += [f"gained: {text}" for text in comparison.sentences(comparison.gained)]
        found += [f"not comparable: {text}" for text in comparison.not_compared()]
        jit = comparison.sentences(comparison.resolved, "jit_compile='auto' is ")
        found += [f"differs, for information: {text}" for text in (*jit, *comparison.sentences(comparison.noted))]
        found += [
            f"missing: {row} is in the baseline's table of kernels and not in this one" for row in comparison.missing
        ]
        found += [f"new: {row} is not in the baseline's table of kernels" for row in comparison.new]
    rows = sum(len(one.after.by_key.keys() & one.before.by_key.keys()) for one in comparisons)
    return "\n".join(found) or f"No kernel that Keras would pick on a GPU host changed ({rows} compared)."


def stored_lines(looked: StoredSelection, promote_run: str | None) -> list[str]:
    """The table where nothing was compared; else what changed, and what has no baseline or is missing, with the
    command that repairs it. ``promote_run`` is the name that this run was saved under."""
    if looked.found is None:
        return []
    if not (looked.comparisons or looked.new or looked.missing):
        return [selection_table(looked.found)]
    lines = [comparison_lines(*looked.comparisons)] if looked.comparisons else []
    lines += [f"missing: {key_of(one)} stands in the baseline and was not looked at" for one in looked.missing]
    if looked.new and not looked.comparisons:
        lines.append("new: the baseline holds none of the kernels that Keras would pick on a GPU host")
    else:
        lines += [f"new: {key_of(one)} has no baseline" for one in looked.new]
    if looked.missing:
        lines.append("  Renamed or removed on purpose? Then: python -m perf retire 'kernel[SETTING]'...")
    if looked.new:
        saved = "" if promote_run else "   (a RUN comes from pytest perf --benchmark-save=NAME)"
        lines.append(f"  python -m perf promote {promote_run or 'RUN'} -k kernel --reason TEXT{saved}")
    return ["\n".join(lines)]
