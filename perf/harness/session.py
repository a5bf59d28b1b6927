"""One session: measure all selected cases, then judge them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from perf.harness import runs, verdict
from perf.harness.environment import Side
from perf.harness.green import reasons_not_green
from perf.harness.journal import Journal
from perf.harness.measure import Measured, Progress, Settings, measure
from perf.harness.preparation import Prepared
from perf.harness.records import BaselineCase, CaseResult, CaseSpec, Comparison, Judgement
from perf.harness.schedule import draw_seed
from perf.harness.suite import PROFILES


class Session:
    """What the stages leave for the next one; the plugin calls them in order."""

    def __init__(self, prepared: Prepared, folder: Path) -> None:
        self.prepared = prepared
        self.folder = folder  # where the tests stand that state the verdicts
        self.seed = draw_seed() if prepared.options.seed is None else prepared.options.seed
        self.date = datetime.now(UTC)
        self.by_key = {spec.key: spec for spec in prepared.suite.specs}
        self.deselected = 0
        self.selected: tuple[CaseSpec, ...] = ()
        self.narrowed = False  # by the user: -k, node ids, --lf ...
        self.measured: Measured | None = None
        self.comparison: Comparison | None = None
        self.journal: Journal | None = None
        self.blocks: runs.RunBlocks | None = None

    @property
    def results(self) -> Mapping[str, CaseResult]:
        return self.measured.results if self.measured else {}

    @property
    def judgements(self) -> Mapping[str, Judgement]:
        return self.comparison.judgements if self.comparison else {}

    @property
    def without_test(self) -> tuple[str, ...]:
        """Cases of the profile that no collected test stands for, although the user left none out."""
        return () if self.narrowed else tuple(self.by_key.keys() - {spec.key for spec in self.selected})

    def select(self, specs: Sequence[CaseSpec], *, narrowed: bool) -> None:
        """Which cases were collected, and whether the user left some out."""
        self.selected = tuple(specs)
        self.narrowed = narrowed

    def measure(self, progress: Progress) -> None:
        """Measures and judges what was selected; an interruption keeps the journal of what was measured."""
        prepared, options = self.prepared, self.prepared.options
        if not any(spec.skip is None for spec in self.selected):
            return
        self.journal = Journal.start(
            prepared.storage / "journal" / f"{self.date:%Y%m%d_%H%M%S_%f}.jsonl", prepared.machine
        )
        settings = Settings(
            processes=options.processes,
            margin=options.margin_percent / 100,
            seed=self.seed,
            time_limit=options.timeout_seconds,
            module=prepared.suite.worker,
            root=prepared.suite.root,
            budget=options.budget_seconds,
            gpu=prepared.gpu,
        )
        try:
            self.measured = measure(self.selected, settings, Side(), progress, self.journal)
        finally:
            self.journal.close()
        self._judge()
        self.blocks = self._encode()

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
