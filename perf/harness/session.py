"""One session: measure all selected cases, then judge them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from perf.harness import runs, verdict
from perf.harness.environment import Side
from perf.harness.journal import Journal
from perf.harness.measure import Measured, Progress, Settings, measure
from perf.harness.preparation import Prepared
from perf.harness.records import CaseResult, CaseSpec, Comparison, Judgement
from perf.harness.schedule import draw_seed
from perf.harness.settle import reasons_not_green


class Session:
    """What the stages leave for the next one; the plugin calls them in order."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.seed = draw_seed() if prepared.options.seed is None else prepared.options.seed
        self.date = datetime.now(UTC)
        self.by_key = {spec.key: spec for spec in prepared.suite.specs}
        self.deselected = 0
        self.selected: tuple[CaseSpec, ...] = ()
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
    def narrowed(self) -> bool:
        """Whether the user left cases of the profile out; ``--lf`` and node ids report no deselection."""
        return {spec.key for spec in self.selected} != set(self.by_key)

    def measure(self, selected: Sequence[CaseSpec], progress: Progress) -> None:
        """Measures and judges; an interruption keeps the journal of what was measured."""
        prepared, options = self.prepared, self.prepared.options
        self.selected = tuple(selected)
        if not any(spec.skip is None for spec in selected):
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
        )
        try:
            self.measured = measure(selected, settings, Side(), progress, self.journal)
        finally:
            self.journal.close()
        self._judge()
        self.blocks = self._encode()

    def _judge(self) -> None:
        prepared = self.prepared
        if prepared.baseline is None or self.measured is None:
            return
        known_elsewhere = prepared.suite.known - set(self.by_key)
        excused = (set(prepared.baseline.cases) - set(self.results)) if self.narrowed else known_elsewhere
        # A case that is skipped on this host was left out knowingly, with its reason shown.
        excused = excused | {spec.key for spec in self.selected if spec.skip is not None}
        self.comparison = verdict.compare(
            self.results,
            self.measured.environments,
            prepared.baseline,
            prepared.history.runs,
            verdict.Margins(prepared.options.margin_percent, prepared.suite.margins_percent),
            excused=excused,
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
            complete=not self.narrowed and not self.measured.unfinished,
            interrupted=False,
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
        )
