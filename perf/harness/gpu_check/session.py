"""A session that checks what is taken for granted about GPUs; it measures for no baseline and compares with none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from perf.harness.gpu_check import store
from perf.harness.gpu_check.assumptions import assumptions
from perf.harness.gpu_check.judging import judge
from perf.harness.gpu_check.looking import look
from perf.harness.gpu_check.records import Finding, Outcome
from perf.harness.journal import Journal
from perf.harness.measure import Progress, Settings
from perf.harness.numbers import counted
from perf.harness.preparation import Prepared
from perf.harness.selection_verdict import Selected
from perf.harness.session import Session, Statement


@dataclass(frozen=True, slots=True)
class Assumed:
    """What the test of one assumption states."""

    finding: Finding
    fail: Callable[[str], NoReturn]
    skip: Callable[[str], NoReturn]

    def check(self) -> None:
        """Fails where it did not hold; skips, with the reason, where nobody could tell."""
        if self.finding.outcome is Outcome.BROKEN:
            self.fail(f"{self.finding.id}: {self.finding.said}. docs/gpu-runner.md says what relies on it.")
        if self.finding.outcome is Outcome.UNCHECKED:
            self.skip(self.finding.said)


class GpuCheck(Session):
    """Its tests are the assumptions; the cases that it looks at have none."""

    journal_folder = "gpu-check"

    def __init__(self, prepared: Prepared, folder: Path) -> None:
        super().__init__(prepared, folder)
        self.by_key = {}
        here = ("", prepared.framework.name)
        self.assumptions = {one.id: one for one in assumptions() if one.framework in here}
        self.asked: tuple[str, ...] = ()
        self.findings: Mapping[str, Finding] = {}
        self.file: Path | None = None

    @property
    def asked_for_something(self) -> bool:
        return bool(self.asked)

    def measure(self, progress: Progress) -> None:
        """Looks at the host and judges all assumptions, also where one only was asked for."""
        options, prepared = self.prepared.options, self.prepared
        if not self.asked:
            return
        assert prepared.gpu is not None
        settings = Settings(
            root=prepared.suite.root,
            seed=self.seed,
            time_limit=options.timeout_seconds,
            budget=options.budget_seconds,
            module=prepared.suite.worker,
            gpu=prepared.gpu.gpu.uuid,
        )
        evidence = look(prepared.suite, prepared.gpu.gpu, settings, progress)
        self.findings = judge(self.assumptions.values(), evidence)
        self.finished = True
        path = store.path_for(prepared.storage, self.date)
        try:
            store.write(path, self.findings, evidence, prepared.machine, self.date)
        except OSError as error:
            self.warnings.append(f"What was found could not be written as {path}: {error.strerror or error}.")
        else:
            self.file = path

    def reasons_not_green(self) -> tuple[str, ...]:
        """What was missed; what could not be checked here at all is said, and is no fault."""
        missed = [one for one in self.findings.values() if one.missed and one.id in self.asked]
        if not missed:
            return ()
        number = counted(len(missed), "assumption")
        return (f"{number} could not be checked, {missed[0].id} because: {missed[0].said}",)

    def needs_journal(self, saved: Path | None) -> bool:
        return False

    def _measure(self, settings: Settings, progress: Progress, journal: Journal) -> None:
        raise NotImplementedError("it has no cases to measure one by one")

    @property
    def results(self) -> Mapping[str, Any]:
        return {}

    def statement(self, key: str) -> Statement | None:
        return None

    def selected_group(self, group: str, fail: Callable[[str], NoReturn]) -> Selected | None:
        return None

    def select_assumptions(self, ids: Sequence[str]) -> None:
        """Those whose tests were collected."""
        self.asked = tuple(ids)
