"""What a person sees of a session: the lines at its head and the tables at its end."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from perf.harness.frameworks import TENSORFLOW
from perf.harness.gpu_check.session import GpuCheck
from perf.harness.numbers import counted
from perf.harness.paired_gate import PairedGate
from perf.harness.rebuild import environment_notes
from perf.harness.report import comparison as compared
from perf.harness.report import paired, results, selection
from perf.harness.report.conditions import conditions_lines
from perf.harness.report.energy import energy_lines
from perf.harness.report.expectations import expectations_table, explanation, then_and_now
from perf.harness.report.gpu_check import findings_table
from perf.harness.report.why import why_section
from perf.harness.stored_session import StoredSession

if TYPE_CHECKING:
    import pytest

    from perf.harness.session import Session


def header_lines(session: Session) -> list[str]:
    """Shown by pytest above the collection."""
    prepared, options = session.prepared, session.prepared.options
    devices = "+".join(dict.fromkeys(spec.device for spec in prepared.suite.specs))
    processes, against = counted(options.processes, "process"), ""
    if prepared.sides is not None:
        processes = f"{options.processes} pairs of processes (expectations are checked without --perf-against)"
        against = f", side by side with {' '.join(options.against)}"
    elif prepared.baseline is not None:
        against = f", against {prepared.baseline.name}"
    on = devices if prepared.framework is TENSORFLOW else f"{devices} with {prepared.framework.title}"
    lines = [
        f"lstm-perf: profile {options.profile} on {on}, {processes}, margin {options.margin_percent:g} %, "
        f"seed {session.seed}{against}",
        f"machine: {prepared.machine.id}",
    ]
    if prepared.gpu is not None:
        gpu = prepared.gpu.gpu
        lines.append(f"gpu: {gpu.index} ({gpu.name}, {gpu.uuid}), {prepared.gpu.why}")
    for name, side in zip(("baseline", "candidate"), prepared.sides or (), strict=False):
        if side.released:
            lines.append(f"{name}: could not be held at the other side's versions: {', '.join(side.released)}")
    if prepared.suite.selection_absent:
        lines.append(prepared.suite.selection_absent)
    return lines


def summary_lines(reporter: pytest.TerminalReporter, session: Session, *, saved: Path | None) -> None:
    """Tables and summary, and where the run is kept."""
    parts = [*_skipped(session)]
    if session.journal is not None and not session.finished:
        parts.append(f"Interrupted. What was measured so far is kept in {_shown(session.journal.path)}.")
    elif session.journal is not None and session.prepared.options.saves and saved is None and session.results:
        parts.append(f"The run was not saved. What was measured is kept in {_shown(session.journal.path)}.")
    if isinstance(session, PairedGate) and session.selection is not None:
        parts.append(selection.comparison_lines(session.selection))
    if isinstance(session, PairedGate) and session.outcome is not None:
        parts.append(paired.report(session.outcome))
        parts.append(conditions_lines(session.outcome.results))
    elif isinstance(session, GpuCheck):
        parts.append(findings_table(session.findings, session.asked))
        parts += [f"kept: {_shown(session.file)}"] if session.file is not None else []
    elif isinstance(session, StoredSession):
        kernels = selection.stored_lines(session.selection, saved.stem if saved else None)
        parts += kernels if session.comparison is not None else []  # what changed comes first
        parts += _measured(session, saved) if session.results else []
        if session.prepared.options.saves and session.selection.found is not None and not session.results:
            parts.append("The table of kernels alone is no run and was not saved: a run holds at least one case.")
        parts += [expectations_table(session.expected), explanation(session.expected)]
        parts.append(then_and_now(session.prepared.kept, session.expected))
        parts.append(why_section(session.account))
        parts += kernels if session.comparison is None else []  # the whole table, as long as it is
    parts += [f"raw rounds of both sides: {_shown(path)}" for path in session.files]
    parts += [f"warning: {warning}" for warning in session.warnings]
    if session.report is not None:
        parts.append(f"report: {_shown(session.report)}")
    if session.journal is not None and session.journal.warning:
        parts.append(f"warning: {session.journal.warning}")
    if parts:
        reporter.section("lstm-perf")
        # Line by line: pytest escapes a whole text at once where the terminal cannot show one of its characters.
        for line in "\n\n".join(part for part in parts if part).splitlines():
            reporter.write_line(line)


def _skipped(session: Session) -> list[str]:
    """One line per reason, since pytest shows the reasons only when asked to."""
    reasons = Counter(each.skip for each in session.selected if each.skip is not None)
    reasons += Counter(each.skip for each in session.expectations if each.skip is not None)
    return ["\n".join(f"skipped: {count} × {reason}" for reason, count in reasons.items())] if reasons else []


def _measured(session: StoredSession, saved: Path | None) -> list[str]:
    comparison = session.comparison
    parts = []
    if comparison is not None and session.measured is not None:
        prepared = session.prepared
        parts.append(compared.comparison_header(comparison, prepared.machine, session.measured.environments))
    parts.append(results.results_table(session.results))
    parts.append(results.once_table(session.results))
    parts.append(results.calls_table(session.results))
    parts.append(energy_lines(session.results, session.prepared.energy_absent))
    parts.append(conditions_lines(session.results))
    if comparison is not None:
        parts.append(compared.comparison_table(comparison, session.results))
        if session.decision is not None:
            parts.append(compared.decision_lines(session.decision))
        run = saved.stem if saved else None
        parts.append(compared.summary(comparison, deselected=session.deselected, promote_run=run))
    else:
        parts.append(results.measured_summary(session.results))
    parts.extend(f"warning: {warning}" for warning in session.prepared.history.warnings)
    if saved is not None:
        partial = "" if session.blocks and session.blocks.top["complete"] else " (partial)"
        parts.append(f"saved: {_shown(saved)}{partial}")
        parts.append(_not_brought_back(session))
    return parts


def _not_brought_back(session: StoredSession) -> str:
    """What is to be known of this run's environment before it becomes a baseline."""
    environments = session.measured.environments.values() if session.measured else ()
    lines = dict.fromkeys(note for environment in environments for note in environment_notes(environment))
    return "\n".join(f"note: {line}" for line in lines)


def _shown(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
