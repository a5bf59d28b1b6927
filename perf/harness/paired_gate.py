"""A session on two environments, measured side by side (``--perf-against``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

from perf.harness import paired_file, paired_green
from perf.harness.journal import Journal
from perf.harness.measure import Progress, Settings
from perf.harness.paired_codec import encode_pair
from perf.harness.paired_records import SIDES, PairedResult
from perf.harness.paired_session import PairedOutcome, run_paired
from perf.harness.preparation import Prepared
from perf.harness.records import CaseResult, Judgement
from perf.harness.replies import CaseError
from perf.harness.selection_verdict import Selected, SelectionComparison, compare
from perf.harness.session import Session, Statement
from perf.harness.tracing import trace
from perf.harness.verdict import Margins


class PairedGate(Session):
    """Measures both sides of ``--perf-against`` in pairs of processes and judges the candidate."""

    journal_folder = paired_file.FOLDER

    def __init__(self, prepared: Prepared, folder: Path) -> None:
        super().__init__(prepared, folder)
        self.outcome: PairedOutcome | None = None
        self.selection: SelectionComparison | None = None
        self.selection_failure = ""

    @property
    def results(self) -> Mapping[str, PairedResult]:
        """What the first look measured, by case."""
        return self.outcome.results if self.outcome else {}

    def _measure(self, settings: Settings, progress: Progress, journal: Journal) -> None:
        assert self.prepared.sides is not None
        baseline, candidate = self.prepared.sides
        options, suite = self.prepared.options, self.prepared.suite
        margins = Margins(options.margin_percent, suite.margins_percent)
        pairs = options.processes
        if any(spec.skip is None for spec in self.selected):
            self.outcome = run_paired(
                self.selected, settings, baseline.side, candidate.side, pairs, margins, progress, journal
            )
            kept = paired_file.record(
                self.outcome,
                date=self.date,
                machine=self.prepared.machine,
                profile=options.profile,
                suite=suite.name,
                sides=(" ".join(options.against), " ".join(options.candidate)),
                margins=margins,
            )
            self._keep_pairs(paired_file.path_for(self.prepared.storage, self.date), kept)
        if self.groups:
            self._trace(settings, progress)

    def _trace(self, settings: Settings, progress: Progress) -> None:
        """Which kernels Keras would pick on a GPU host, on each side; seconds, and no GPU is needed."""
        assert self.prepared.sides is not None
        found = []
        for name, built in zip(SIDES, self.prepared.sides, strict=True):
            progress.part(f"tracing which kernels Keras would pick, {name}")
            try:
                found.append(trace(built.side, self.prepared.suite, self.groups, settings))
            except CaseError as error:
                self.selection_failure = f"the {name}'s kernels could not be traced: {error.failure.message}"
                return
        self.selection = compare(*found)

    def selected_group(self, group: str, fail: Callable[[str], NoReturn]) -> Selected | None:
        """What the test of one setting states; ``None`` where nothing was traced."""
        if self.selection is None and not self.selection_failure:
            return None
        after = self.selection.after if self.selection else None
        return Selected(group, after, self.selection, fail, failure=self.selection_failure)

    def needs_journal(self, saved: Path | None) -> bool:
        """Whether the journal holds what no other file does."""
        return not self.files

    def statement(self, key: str) -> Statement | None:
        """The candidate's rounds, and the verdict on it."""
        result = self.results.get(key)
        if self.outcome is None or result is None or not (result.pairs or result.failure or result.not_comparable):
            return None
        judged = self.outcome.judgements[key]
        candidate = CaseResult(result.spec, tuple(pair.candidate for pair in result.pairs), result.failure)
        return Statement(
            candidate,
            Judgement(key, judged.verdict, judged.reason),
            {"pairs": [encode_pair(pair) for pair in result.pairs]},
            skip=f"not comparable: {result.not_comparable}" if result.not_comparable else None,
        )

    def reasons_not_green(self) -> tuple[str, ...]:
        """Why the session is not green although no test failed."""
        if self.outcome is None:
            return () if self.selection else ("Nothing was measured, and nothing measured is never green.",)
        fail = self.prepared.options.fail_inconclusive
        reasons = paired_green.reasons_not_green(self.outcome, fail_inconclusive=fail)
        if self.without_test:
            reasons = (*reasons, f"Without a collected test: {', '.join(self.without_test)}.")
        return reasons
