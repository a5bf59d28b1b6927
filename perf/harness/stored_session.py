"""A session on one environment: runs are kept, and compared with stored ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NoReturn

from perf.harness import paired_file, runs, stored_selection, verdict
from perf.harness.deciding import Decision, decide
from perf.harness.environment import Side
from perf.harness.expectation_records import ExpectationResult
from perf.harness.expectation_session import Checked, check_expectations, expectations_not_green
from perf.harness.expectation_store import BLOCK
from perf.harness.green import reasons_not_green
from perf.harness.journal import Journal
from perf.harness.measure import Measured, Progress, Settings, measure
from perf.harness.paired_evidence import Metric
from perf.harness.preparation import Prepared
from perf.harness.records import BaselineCase, CaseResult, Comparison, Judgement
from perf.harness.selection_verdict import Selected
from perf.harness.session import Session, Statement
from perf.harness.stored_selection import StoredSelection
from perf.harness.suite import PROFILES
from perf.harness.verdict import Margins
from perf.harness.why import store as why_store
from perf.harness.why.account import account
from perf.harness.why.records import Account, Evidence, Subject


class StoredSession(Session):
    """Measures one environment; with ``--benchmark-compare`` judges it against stored numbers."""

    journal_folder = "journal"

    def __init__(self, prepared: Prepared, folder: Path) -> None:
        super().__init__(prepared, folder)
        self.measured: Measured | None = None
        self.comparison: Comparison | None = None
        self.decision: Decision | None = None
        self.checked = Checked({}, [])
        self.selection = StoredSelection()

    @property
    def results(self) -> Mapping[str, CaseResult]:
        """What was measured, by case."""
        return self.measured.results if self.measured else {}

    @property
    def expected(self) -> Mapping[str, ExpectationResult]:
        """What was found of the expectations that were selected, by id."""
        return self.checked.results

    @property
    def evidence(self) -> Evidence:
        """What is known of the measured cases and contenders besides their times."""
        used = {key for each in self.expectations for one in (each.first, each.second) for key in one.cases.values()}
        contenders = [spec for key, spec in self.prepared.suite.contenders.items() if key in used]
        specs = [*(result.spec for result in self.results.values()), *contenders]
        return Evidence(
            subjects={spec.key: subject for spec in specs if (subject := Subject.of(spec))},
            peaks=self.measured.peaks if self.measured else (),
            startup_seconds=self.measured.startup_seconds if self.measured else {},
        )

    @cached_property
    def account(self) -> Account:
        """Why what was measured takes as long as it does, and what to use; to be asked for once all is measured."""
        return account(self.evidence, self.results, self.expected, self.checked.observed)

    @property
    def judgements(self) -> Mapping[str, Judgement]:
        """Verdicts by case, none without a comparison."""
        return self.comparison.judgements if self.comparison else {}

    def _measure(self, settings: Settings, progress: Progress, journal: Journal) -> None:
        self.measured = measure(self.selected, settings, Side(), progress, journal)
        self._judge()
        prepared = self.prepared
        self.selection = stored_selection.look(
            self.groups, self.settings_narrowed, prepared.suite, prepared.baseline, settings, progress
        )
        self.blocks = self._encode()  # what was measured is kept, should the rest be interrupted
        if self.comparison is not None and self.comparison.suspects:
            self._decide(self.comparison, settings, progress)
            self.blocks = self._encode()
        if self.expectations:
            spent = self.measured.seconds + (self.decision.seconds if self.decision else 0.0)
            self.checked = check_expectations(self.expectations, self.prepared, settings, spent, progress, journal)
            self.blocks.top[BLOCK] = self.checked.stored
        self.blocks.top[why_store.BLOCK] = why_store.encode(self.evidence)

    def needs_journal(self, saved: Path | None) -> bool:
        """Whether the journal holds what no other file does."""
        return self.prepared.options.saves and saved is None and bool(self.results)

    def statement(self, key: str) -> Statement | None:
        """What was measured of the case and, when compared, its verdict."""
        result = self.results.get(key)
        if result is None or self.blocks is None or not (result.samples or result.failure):
            return None
        return Statement(result, self.judgements.get(key), self.blocks.cases.get(key, {}))

    def selected_group(self, group: str, fail: Callable[[str], NoReturn]) -> Selected | None:
        """What the test of one setting states; ``None`` where nothing was looked at."""
        return self.selection.selected(group, fail)

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
            self._margins,
            excused=excused,
        )

    @property
    def _margins(self) -> Margins:
        return Margins(self.prepared.options.margin_percent, self.prepared.suite.margins_percent)

    def _decide(self, comparison: Comparison, settings: Settings, progress: Progress) -> None:
        """What the stored numbers suspect is measured side by side with the baseline's environment."""
        assert self.measured is not None
        left = None if settings.budget is None else max(settings.budget - self.measured.seconds, 0.0)
        storage = self.prepared.storage
        pairs = Journal.start(paired_file.path_for(storage, self.date, suffix=".jsonl"), self.prepared.machine)
        try:
            self.decision = decide(
                comparison,
                self.by_key,
                self.measured.environments,
                self.prepared.machine,
                self._margins,
                replace(settings, budget=left),
                progress,
                pairs,
            )
        finally:
            pairs.close()
        self.comparison = self.decision.comparison
        self._keep(self.decision, pairs)

    def _keep(self, decision: Decision, journal: Journal) -> None:
        """The rounds of both sides, in a file for each environment of the baseline."""
        for number, outcome in enumerate(decision.outcomes, start=1):
            path = paired_file.path_for(self.prepared.storage, self.date, number)
            kept = paired_file.record(
                outcome,
                date=self.date,
                machine=self.prepared.machine,
                profile=self.prepared.options.profile,
                suite=self.prepared.suite.name,
                sides=("the baseline's environment", "the environment of this run"),
                margins=self._margins,
                metrics=(Metric.STEP,),
            )
            self._keep_pairs(path, kept)
        if not self.warnings:
            journal.discard()

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
        red |= self.selection.red
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
            selection=self.selection.found,
        )

    def reasons_not_green(self) -> tuple[str, ...]:
        """Why the session is not green although no test failed."""
        options = self.prepared.options
        others = (
            *self.selection.reasons_not_green(),
            *expectations_not_green(self.expected, fail_inconclusive=options.fail_inconclusive),
        )
        looked_at = self.selection.found is not None or any(each.skip is None for each in self.expectations)
        if looked_at and not self.selected and not self.without_test:
            return others  # nobody asked for a case
        cases = reasons_not_green(
            self.results,
            self.comparison,
            fail_inconclusive=options.fail_inconclusive,
            unfinished=self.measured.unfinished if self.measured else (),
            without_test=self.without_test,
            not_decided=self.decision.not_decided if self.decision else (),
        )
        return (*cases, *others)
