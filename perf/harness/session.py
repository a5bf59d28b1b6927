"""One session: measure all selected cases, then judge them together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from perf.harness import paired_file
from perf.harness.expectation_records import Expectation
from perf.harness.journal import Journal
from perf.harness.measure import Progress, Settings
from perf.harness.paired_file import PairedRecord
from perf.harness.preparation import Prepared
from perf.harness.records import CaseResult, CaseSpec, Judgement
from perf.harness.runs import RunBlocks
from perf.harness.schedule import draw_seed
from perf.harness.selection_verdict import Selected


@dataclass(frozen=True, slots=True)
class Statement:
    """What a session has to say of one case: its test states it. ``skip``: why there is nothing to state."""

    result: CaseResult
    judgement: Judgement | None
    encoded: dict[str, Any]  # the case's record as it is stored
    skip: str | None = None


class Session(ABC):
    """What the stages leave for the next one; the plugin calls them in order."""

    blocks: RunBlocks | None = None  # what is stored of a run; a paired session is none
    deselected = 0  # cases
    deselected_settings = 0

    def __init__(self, prepared: Prepared, folder: Path) -> None:
        self.prepared = prepared
        self.folder = folder  # where the tests stand that state the verdicts
        self.seed = draw_seed() if prepared.options.seed is None else prepared.options.seed
        self.date = datetime.now(UTC)
        self.by_key = {spec.key: spec for spec in prepared.suite.specs}
        self.selected: tuple[CaseSpec, ...] = ()
        self.narrowed = False  # by the user: -k, node ids, --lf ...
        self.groups: tuple[str, ...] = ()  # settings whose kernels are to be found by tracing
        self.expectations: tuple[Expectation, ...] = ()
        self.settings_narrowed = False  # as narrowed, but settings were left out
        self.journal: Journal | None = None
        self.files: list[Path] = []  # the raw rounds of what was measured side by side
        self.warnings: list[str] = []  # what went wrong and changes no verdict
        self.finished = False
        self.report: Path | None = None  # the page, once it is written

    @property
    def without_test(self) -> tuple[str, ...]:
        """Cases of the profile that no collected test stands for, although the user left none out."""
        return () if self.narrowed else tuple(self.by_key.keys() - {spec.key for spec in self.selected})

    @property
    def asked_for_something(self) -> bool:
        """Whether a test of this suite was selected, and not only others beside it."""
        return bool(self.selected or self.groups or self.expectations)

    def select(
        self, specs: Sequence[CaseSpec], groups: Sequence[str], expectations: Sequence[str], *, narrowed: bool
    ) -> None:
        """Which cases, settings and expectations (by id) were collected; ``narrowed``: the command line left some out
        by itself, besides those that were deselected."""
        self.selected, self.groups = tuple(specs), tuple(groups)
        self.expectations = tuple(each for each in self.prepared.suite.expectations if each.id in expectations)
        self.narrowed = narrowed or self.deselected > 0
        self.settings_narrowed = narrowed or self.deselected_settings > 0

    def measure(self, progress: Progress) -> None:
        """Measures and judges what was selected; an interruption keeps the journal of what was measured."""
        prepared, options = self.prepared, self.prepared.options
        reasons = [each.skip for each in self.selected] + [each.skip for each in self.expectations]
        if not self.groups and None not in reasons:
            return
        self.journal = Journal.start(
            prepared.storage / self.journal_folder / f"{self.date:%Y%m%d_%H%M%S_%f}.jsonl", prepared.machine
        )
        settings = Settings(
            processes=options.processes,
            margin=options.margin_percent / 100,
            seed=self.seed,
            time_limit=options.timeout_seconds,
            module=prepared.suite.worker,
            root=prepared.suite.root,
            budget=options.budget_seconds,
            gpu=prepared.gpu.gpu.uuid if prepared.gpu else None,
        )
        try:
            self._measure(settings, progress, self.journal)
        finally:
            self.journal.close()
        self.finished = True

    def _keep_pairs(self, path: Path, kept: PairedRecord) -> None:
        if warning := paired_file.keep(path, kept):
            self.warnings.append(warning)
        else:
            self.files.append(path)

    @abstractmethod
    def needs_journal(self, saved: Path | None) -> bool:
        """Whether the journal holds what no other file does; ``saved`` is the run's file, where it was written."""

    @property
    @abstractmethod
    def journal_folder(self) -> str:
        """Folder under this machine's runs."""

    @abstractmethod
    def _measure(self, settings: Settings, progress: Progress, journal: Journal) -> None:
        """Measures all that is selected and judges it together."""

    @property
    @abstractmethod
    def results(self) -> Mapping[str, Any]:
        """What was measured, by case."""

    @abstractmethod
    def statement(self, key: str) -> Statement | None:
        """What is to be said of a case; ``None`` where it was not measured."""

    @abstractmethod
    def selected_group(self, group: str, fail: Callable[[str], NoReturn]) -> Selected | None:
        """What is to be said of a setting's kernels; ``None`` where nobody looked."""

    @abstractmethod
    def reasons_not_green(self) -> tuple[str, ...]:
        """Why the session is not green although no test failed."""
