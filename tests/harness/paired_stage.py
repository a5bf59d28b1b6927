"""Two sides of fake workers that a script tells apart."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from perf.harness.environment import Side
from perf.harness.journal import Journal
from perf.harness.measure import Settings
from perf.harness.paired import measure_pairs
from perf.harness.paired_records import SIDES, PairedMeasured, SideName
from perf.harness.paired_session import PairedOutcome, run_paired
from perf.harness.records import CaseSpec
from perf.harness.verdict import Margins
from tests.harness.test_measure import Told

ROOT = Path(__file__).parents[2]


class TwoSides:
    """Measures with a script in its own folder; what the script holds under ``sides`` is one side's."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "script.json"
        self.told = Told()
        self.settings: dict[str, Any] = {"seed": 1, "time_limit": 20.0}
        self.variables: dict[SideName, dict[str, str]] = {side: {} for side in SIDES}
        self.interpreters = dict.fromkeys(SIDES, sys.executable)
        self.clock: Callable[[], float] = time.monotonic
        self.journal: Journal | None = None

    def _ready(self, script: Mapping[str, Any]) -> tuple[Settings, Side, Side]:
        self.file.write_text(json.dumps(script))
        baseline, candidate = (
            Side(
                self.interpreters[side],
                {"FAKE_WORKER_SCRIPT": str(self.file), "FAKE_WORKER_SIDE": side, **self.variables[side]},
            )
            for side in SIDES
        )
        return Settings(root=ROOT, module="tests.fake_worker", **self.settings), baseline, candidate

    def measure(
        self, specs: list[CaseSpec], pairs: int | Mapping[str, int] = 2, first_pair: int = 1, **script: Any
    ) -> PairedMeasured:
        settings, baseline, candidate = self._ready(script)
        return measure_pairs(
            specs, settings, baseline, candidate, pairs, self.told, self.journal, first_pair=first_pair,
            clock=self.clock,
        )  # fmt: skip

    def run(self, specs: list[CaseSpec], pairs: int = 6, percent: float = 5.0, **script: Any) -> PairedOutcome:
        settings, baseline, candidate = self._ready(script)
        return run_paired(
            specs, settings, baseline, candidate, pairs, Margins(percent), self.told, self.journal, clock=self.clock
        )

    def log(self) -> list[list[str]]:
        """Lines of ``pid op [case] side``, in their order over both sides."""
        return [line.split() for line in Path(f"{self.file}.log").read_text().splitlines()]

    def starts(self) -> list[str]:
        """Sides in the order in which their processes started; each must have ended by now."""
        started = [(entry[0], entry[-1]) for entry in self.log() if entry[1] == "start"]
        assert not [pid for pid, _ in started if Path(f"/proc/{pid}").exists()]
        return [side for _, side in started]
