"""The pytest plugin: hooks only, each a few lines. What they do stands in the modules they call.

Inert unless the folder ``perf/`` is asked for, so that the suite's own tests run without a machine fingerprint.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Generator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perf.harness import commandline
from perf.harness.collecting import (  # the hooks and fixtures among them are the plugin's too
    SESSION,
    assumed,  # noqa: F401
    assumption_of,
    expectation_of,
    expected,  # noqa: F401
    group_of,
    measured,  # noqa: F401
    pytest_generate_tests,  # noqa: F401
    pytest_pycollect_makeitem,  # noqa: F401
    selected,  # noqa: F401
    spec_of,
)
from perf.harness.errors import Refusal
from perf.harness.gpu_check.session import GpuCheck
from perf.harness.green import NOT_GREEN
from perf.harness.measure import Progress
from perf.harness.options import Options, add_options
from perf.harness.paired_gate import PairedGate
from perf.harness.preparation import prepare
from perf.harness.report.progress import ProgressLine
from perf.harness.report.session import header_lines, summary_lines
from perf.harness.reporting import write_report
from perf.harness.saving import WholeFileStorage, keep_quiet_about_nothing, update_json
from perf.harness.stored_session import StoredSession
from perf.harness.suite import GPU_CHECK


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from perf.harness import hookspec

    pluginmanager.add_hookspecs(hookspec)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Refuses what can be refused; before pytest-benchmark configures, whose comparison is replaced by ours."""
    suites = config.hook.pytest_perf_suite.get_hookimpls()
    if not suites or hasattr(config, "workerinput"):
        return  # no suite here; or a worker of pytest-xdist, whose controller has decided already
    root = Path(inspect.getfile(suites[-1].function)).resolve().parent
    folder = root / "perf"
    if not commandline.asks_for(config, folder):
        if config.getoption("benchmark_compare", None):
            raise pytest.UsageError(
                "--benchmark-compare gates the cases in perf/, and these were not asked for. Write 'pytest perf "
                "--benchmark-compare', folder first: the option takes the word after it as the name of a run."
            )
        return
    try:
        commandline.refuse_unfit(config)
        options = Options.from_pytest_config(config)
        storage = commandline.take_over_benchmark_options(config, root)
        if commandline.collects_only(config):
            options = replace(options, compare=None, against=(), require=None)
        prepared = prepare(
            options,
            storage,
            lambda request: config.hook.pytest_perf_suite(request=request),
            lambda text: _say(config, text),
        )
    except Refusal as refusal:
        raise pytest.UsageError(str(refusal)) from None
    if options.profile == GPU_CHECK:
        config.stash[SESSION] = GpuCheck(prepared, folder)
    else:
        config.stash[SESSION] = PairedGate(prepared, folder) if prepared.sides else StoredSession(prepared, folder)


def _say(config: pytest.Config, text: str) -> None:
    """Shows a line before pytest's own output begins; building an environment can take a minute."""
    capture = config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else nullcontext():
        print(text, file=sys.stderr, flush=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Runs are kept by hardware, not by Python version, and written whole or not at all."""
    perf = session.config.stash.get(SESSION, None)
    if perf is None:
        return
    benchmarks = session.config._benchmarksession  # type: ignore[attr-defined]
    machine = perf.prepared.machine.id
    benchmarks.machine_id = machine
    benchmarks.storage = WholeFileStorage(benchmarks.storage, machine, lambda text: _not_green(session, text))


def pytest_report_header(config: pytest.Config) -> list[str]:
    perf = config.stash.get(SESSION, None)
    return [] if perf is None else header_lines(perf)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        perf = item.config.stash.get(SESSION, None)
        if perf is not None and spec_of(item, perf):
            perf.deselected += 1
        elif perf is not None and group_of(item):
            perf.deselected_settings += 1


def pytest_collection_finish(session: pytest.Session) -> None:
    """Notes which cases will run, and whether it was the user who left the others out."""
    perf = session.config.stash.get(SESSION, None)
    if perf is not None:
        specs = [spec for item in session.items if (spec := spec_of(item, perf))]
        groups = [group for item in session.items if (group := group_of(item))]
        expectations = [id for item in session.items if (id := expectation_of(item))]
        if isinstance(perf, GpuCheck):
            perf.select_assumptions([id for item in session.items if (id := assumption_of(item))])
        perf.select(specs, groups, expectations, narrowed=commandline.narrows(session.config, perf.folder))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Measures all selected cases before the first test: the tests only state what was judged of all together."""
    config = session.config
    perf = config.stash.get(SESSION, None)
    if perf is not None and not session.testsfailed and commandline.will_run(config):
        reporter = _reporter(config)
        progress = ProgressLine(reporter) if reporter else Progress()
        try:
            perf.measure(progress)
        finally:
            progress.end()
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_benchmark_update_json(config: pytest.Config, output_json: dict[str, Any]) -> None:
    perf = config.stash.get(SESSION, None)
    if perf is not None and perf.blocks is not None:
        update_json(output_json, perf)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> Generator[None, None, None]:
    """Settles the exit status before pytest-benchmark saves and the terminal reporter draws its last line."""
    perf = session.config.stash.get(SESSION, None)
    finished = exitstatus == pytest.ExitCode.OK and not commandline.collects_only(session.config)
    # Without a selected case other tests ran (pytest . -k ...), and nobody asked for a verdict on any.
    if perf is not None and perf.asked_for_something and finished and (reasons := perf.reasons_not_green()):
        _not_green(session, "\n".join(reasons))
    if perf is not None and (problem := write_report(perf, failed=session.testsfailed > 0)):
        _not_green(session, problem)
    if perf is not None:
        keep_quiet_about_nothing(session.config._benchmarksession)  # type: ignore[attr-defined]
    yield


def _not_green(session: pytest.Session, text: str) -> None:
    if session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = NOT_GREEN
    if reporter := _reporter(session.config):
        # Only a line among the errors turns pytest's last line red; a status alone leaves it green.
        reporter.stats.setdefault("error", []).append(_NotGreen(text))


def _reporter(config: pytest.Config) -> pytest.TerminalReporter | None:
    reporter: pytest.TerminalReporter | None = config.pluginmanager.get_plugin("terminalreporter")
    return reporter


class _NotGreen(pytest.TestReport):
    """A report of no test: the run as a whole."""

    def __init__(self, text: str) -> None:
        super().__init__("perf", ("perf", None, "this run is not green"), {}, "failed", text, "judging")  # type: ignore[arg-type]


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> Generator[None, None, None]:
    perf = config.stash.get(SESSION, None)
    if perf is not None and not commandline.collects_only(config):
        storage = config._benchmarksession.storage  # type: ignore[attr-defined]
        summary_lines(terminalreporter, perf, saved=getattr(storage, "saved", None))
    yield


def pytest_unconfigure(config: pytest.Config) -> None:
    """A finished session needs its journal no more; where what it measured could not be written, it stays."""
    perf = config.stash.get(SESSION, None)
    if perf is None or perf.journal is None or not perf.finished:
        return
    if not perf.needs_journal(config._benchmarksession.storage.saved):  # type: ignore[attr-defined]
        perf.journal.discard()
