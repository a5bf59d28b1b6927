"""From a finished session to its report."""

from __future__ import annotations

from collections.abc import Mapping

from perf.harness.digest import digest_of
from perf.harness.paired_gate import PairedGate
from perf.harness.records import Run
from perf.harness.report.page import write
from perf.harness.report.page.data import Head, PageData, Section, Trend
from perf.harness.report.page.energy_page import energy_sections
from perf.harness.report.page.paired_page import from_paired
from perf.harness.report.page.selection_page import compared_kernels, stored_kernels
from perf.harness.report.page.session_page import from_session
from perf.harness.report.page.trend import trend
from perf.harness.report.page.why_page import why_sections
from perf.harness.session import Session
from perf.harness.stored_session import StoredSession


def write_report(session: Session, *, failed: bool) -> str:
    """Writes the report that was asked for; returns what went wrong in one line, "" where nothing did.

    Whatever goes wrong, what was measured and judged stands as it is. ``failed``: a test failed.
    """
    folder = session.prepared.options.report
    if folder is None or session.journal is None:
        return ""  # not asked for; or nothing was to be measured, which is said already
    if not session.finished:
        return "No report was written: the session was interrupted before all was measured."
    try:
        session.report = write.write(folder, page_of(session, failed=failed))
    except OSError as error:
        return f"The report could not be written into {folder}: {error.filename or ''}: {error.strerror or error}."
    except Exception as error:  # a fault of the report must not cost the session's own output
        return f"The report could not be made, a fault of this suite: {type(error).__name__}: {error}."
    return ""


def page_of(session: Session, *, failed: bool) -> PageData:
    """What the session measured and decided."""
    reasons = session.reasons_not_green()
    if isinstance(session, PairedGate):
        sections = _kernels(session)
        if session.outcome is None:
            return from_session(
                _head(session), {}, {}, session.prepared.machine, None, failed=failed, sections=sections
            )
        head = _head(session)
        return from_paired(head, session.outcome, reasons_not_green=reasons, failed=failed, sections=sections)
    assert isinstance(session, StoredSession)
    environments = session.measured.environments if session.measured else {}
    return from_session(
        _head(session),
        session.results,
        environments,
        session.prepared.machine,
        session.comparison,
        decision=session.decision,
        expected=tuple(session.expected.values()),
        reasons_not_green=reasons,
        failed=failed,
        sections=(
            *why_sections(session.account),
            *energy_sections(session.results, session.prepared.energy_absent),
            *stored_kernels(session.selection),
        ),
        trend=_trend(session),
    )


def _trend(session: StoredSession) -> Trend | None:
    """The history that the verdicts were taken from, and this run at its end."""
    prepared, measured = session.prepared, session.measured
    if not prepared.history.runs or measured is None:
        return None
    red = {key: judgement.reason for key, judgement in session.judgements.items() if judgement.verdict.is_red}
    this = Run(
        name="this run",
        date=session.date,
        machine=prepared.machine,
        environments=measured.environments,
        profile=prepared.options.profile,
        suite=prepared.suite.name,
        seed=session.seed,
        complete=True,
        interrupted=False,
        cases=measured.results,
        red=red,
    )
    return trend(map(digest_of, (*prepared.history.runs, this)), prepared.baseline)


def _head(session: Session) -> Head:
    prepared, options = session.prepared, session.prepared.options
    title = "Measured, compared with nothing"
    if options.against:
        title = f"{' '.join(options.candidate) or 'This environment'} against {' '.join(options.against)}"
    elif prepared.baseline is not None:
        title = f"Compared with {prepared.baseline.name}"
    settings: Mapping[str, str] = {
        "profile": options.profile,
        "suite": prepared.suite.name,
        "devices": " ".join(prepared.devices),
        "pairs of processes" if options.against else "processes": str(options.processes),
        "margin": f"{options.margin_percent:g} %",
        "seed": str(session.seed),
    }
    return Head(title, session.date, prepared.machine.id, settings)


def _kernels(session: PairedGate) -> tuple[Section, ...]:
    if session.selection is not None:
        return (compared_kernels(session.selection),)
    if session.selection_failure:
        return (Section("kernels", "Kernels on a GPU host", (session.selection_failure,)),)
    return ()
