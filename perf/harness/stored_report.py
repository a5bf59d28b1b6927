"""``python -m perf report``: a report from stored runs, without measuring."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from perf.harness import baseline as baselines
from perf.harness import expectation_store
from perf.harness.digest import RunDigest, digest_of, digests
from perf.harness.errors import Refusal
from perf.harness.records import Baseline, Machine
from perf.harness.report.page import write
from perf.harness.report.page.history_page import from_run
from perf.harness.report.page.trend import trend
from perf.harness.report.page.why_page import why_sections
from perf.harness.runs import BLOCK, SAVE, read_run, run_files
from perf.harness.why import store as why_store
from perf.harness.why.account import account


def report(folder: Path, files: Sequence[Path], baselines_folder: Path) -> str:
    """Writes the report of these run files, of one machine, into ``folder``; returns what is to be said of it.

    Raises :class:`Refusal` for a run that cannot be read, for runs of several machines, and where nothing can be
    written.
    """
    write.refuse_unfit(folder)
    found, warnings = _digests(files)
    newest = max(found, key=lambda file: (found[file].date, found[file].name))
    run = read_run(newest)
    # A run that was copied into another machine's folder is no part of its history.
    for file in files:
        if file.parent != newest.parent and (other := baselines.differing(run.machine, read_run(file).machine)):
            raise Refusal(f"Runs {newest} and {file} come from different hardware, and have no history: {other}.")
    baseline, problem = _baseline(baselines_folder, run.machine)
    kept = expectation_store.of_run(newest, BLOCK)
    expected = expectation_store.judged(kept)
    observed = {id: one.observed for id, one in kept.items()}
    why = why_sections(account(why_store.of_run(newest, BLOCK), run.cases, expected, observed))
    page = from_run(run, trend(found.values(), baseline), (*warnings, *problem), tuple(expected.values()), why)
    try:
        index = write.write(folder, page)
    except OSError as error:
        raise Refusal(f"The report could not be written into {folder}: {error.strerror or error}.") from None
    return "\n".join([*(f"warning: {text}" for text in (*warnings, *problem)), f"report: {index}"])


def runs_of(directory: Path) -> list[Path]:
    """All runs in the folder of a machine; raises :class:`Refusal` where there is none."""
    files = run_files(directory)
    if not files:
        raise Refusal(f"No run of this machine is stored in {directory}. '{SAVE}' makes one.")
    return files


def _digests(files: Sequence[Path]) -> tuple[dict[Path, RunDigest], list[str]]:
    """By file, from the digests of their folders; a single run is read as it is."""
    found: dict[Path, RunDigest] = {}
    warnings: list[str] = []
    if len(files) == 1:
        return {files[0]: digest_of(read_run(files[0]))}, warnings
    for folder in dict.fromkeys(file.parent for file in files):
        names = [file.name for file in files if file.parent == folder]
        known = digests(folder, names)
        warnings += known.warnings
        found |= {folder / name: run for name, run in known.runs.items()}
    if not found:
        raise Refusal(" ".join(warnings))
    return found, warnings


def _baseline(folder: Path, machine: Machine) -> tuple[Baseline | None, list[str]]:
    """Marks only: without it the page is still right, so a broken one is said and no reason to stop."""
    path = baselines.path_for(folder, machine)
    if not path.is_file():
        return None, []
    try:
        return baselines.read(path), []
    except Refusal as refusal:
        return None, [f"promotions are not marked: {refusal}"]
