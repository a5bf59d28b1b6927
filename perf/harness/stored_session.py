"""A session on one environment: runs are kept, and compared with stored ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from perf.harness import runs, verdict
from perf.harness.environment import Side
from perf.harness.green import reasons_not_green
from perf.harness.journal import Journal
from perf.harness.measure import Measured, Progress, Settings, measure
from perf.harness.preparation import Prepared
from perf.harness.records import BaselineCase, CaseResult, Comparison, Judgement
from perf.harness.session import Session, Statement
from perf.harness.suite import PROFILES


class StoredSession(Session):
    """Measures one environment; with ``--benchmark-compare`` judges it against stored numbers."""

    journal_folder = "journal"

    def __init__(self, prepared: Prepared, folder: Path) -> None:
        super().__init__(prepared, folder)
        self.measured: Measured | None = None
        self.comparison: Comparison | None = None

    @property
    def results(self) -> Mapping[str, CaseResult]:
        """What was measured, by case."""
        return self.measured.results if self.measured else {}

    @property
    def judgements(self) -> Mapping[str, Judgement]:
        """Verdicts by case, none without a comparison."""
        return self.comparison.judgements if self.comparison else {}

    def _measure(self, settings: Settings, progress: Progress, journal: Journal) -> None:
        self.measured = measure(self.selected, settings, Side(), progress, journal)
        self._judge()
        self.blocks = self._encode()

    def statement(self, key: str) -> Statement | None:
        """What was measured of the case and, when compared, its verdict."""
        result = self.results.get(key)
        if result is None or self.blocks is None or not (result.samples or result.failure):
            return None
        return Statement(result, self.judgements.get(key), self.blocks.cases.get(key, {}))

    def _judge(self) -> None:
        prepared = self.prepared
        if prepared.baseline is None or self.measured is None:
            return
        # A case that is skipped on this host was left out knowingly, with its reason shown.
        excused = {spec.key for spec in self.selected if spec.skip is not None}
        excused |= {key for key, case in prepared.baseline.cases.items() if self.narrowed or not self._expects(case)}
        self.comparison = verdict.compare(
            self.results,
            self.measured.environments,
            prepared.baseline,
            prepared.history.runs,
            verdict.Margins(prepared.options.margin_percent, prepared.suite.margins_percent),
            excused=excused,
        )

    def _expects(self, case: BaselineCase) -> bool:
        """Whether a whole run of this profile, suite and host has to hold a case of the baseline."""
        prepared = self.prepared
        return (
            case.suite == prepared.suite.name
            and PROFILES.index(case.profile) <= PROFILES.index(prepared.options.profile)
            and case.runs[-1][2].spec.device in prepared.devices
        )

    def _encode(self) -> runs.RunBlocks:
        assert self.measured is not None
        red = {key: judgement.reason for key, judgement in self.judgements.items() if judgement.verdict.is_red}
        red |= {key: result.failure.message for key, result in self.results.items() if result.failure is not None}
        return runs.encode_run(
            date=self.date,
            machine=self.prepared.machine,
            environments=self.measured.environments,
            profile=self.prepared.options.profile,
            suite=self.prepared.suite.name,
            complete=not (self.narrowed or self.without_test or self.measured.unfinished),
            interrupted=bool(self.measured.unfinished),
            seed=self.seed,
            red=red,
            results=self.results,
        )

    def reasons_not_green(self) -> tuple[str, ...]:
        """Why the session is not green although no test failed."""
        return reasons_not_green(
            self.results,
            self.comparison,
            fail_inconclusive=self.prepared.options.fail_inconclusive,
            unfinished=self.measured.unfinished if self.measured else (),
            without_test=self.without_test,
        )
