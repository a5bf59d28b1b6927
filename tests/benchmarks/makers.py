"""Lines of the ledger, and real sessions as they could have been."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from docs.benchmarks.gate_quality.ledger import Against, CaseLine, MetricLine, SessionLine
from docs.benchmarks.gate_quality.raw import RawSession
from perf.harness.paired_evidence import Metric
from perf.harness.paired_records import BASELINE, CANDIDATE, PairedMeasured, PairedResult, PairSample
from perf.harness.records import Sample, Verdict
from tests.harness.makers import key, sample, spec


def case_line(verdict: Verdict = Verdict.UNCHANGED, key: str = "forward[a]", **changes: Any) -> CaseLine:
    fields: dict[str, Any] = {
        "key": key,
        "verdict": verdict,
        "seen": 1.01,
        "pairs_screened": 6,
        "pairs_confirmed": 0,
        "metrics": {
            Metric.STEP: MetricLine(verdict, 1.01, 0.99, 1.03, 0.9, 6),
            Metric.MEMORY: MetricLine(Verdict.UNCHANGED, 1.0, 1.0, 1.0, 0.9, 6),
        },
    }
    return CaseLine(**{**fields, **changes})


def session_line(*cases: CaseLine, **changes: Any) -> SessionLine:
    fields: dict[str, Any] = {
        "date": datetime(2025, 1, 1, 12, tzinfo=UTC),
        "machine": "fast-cpu-1a2b",
        "versions": {"python": "3.11.9", "tensorflow": "2.21.0", "keras": "3.15.1"},
        "revision": "0123abc",
        "factor": 1.0,
        "margin_percent": 5.0,
        "against": Against.SAME,
        "pairs": 6,
        "seed": 7,
        "seconds": 240.0,
        "load_begin": 0.1,
        "load_end": 1.2,
        "raw": "20250101_120000_x1.00_margin5",
        "raw_bytes": 40_000,
        "cases": cases or (case_line(),),
    }
    return SessionLine(**{**fields, **changes})


class Noise:
    """Real A/A sessions as they could have been: processes vary by ``process_sd``, rounds by ``round_sd`` (of ln)."""

    def __init__(self, seed: int, process_sd: float = 0.01, round_sd: float = 0.03, rounds: int = 20) -> None:
        self.random = np.random.default_rng(seed)
        self.process_sd, self.round_sd, self.rounds = process_sd, round_sd, rounds

    def side(self, process: int) -> Sample:
        level = self.random.normal(0.0, self.process_sd)
        rounds = 0.04 * np.exp(level + self.random.normal(0.0, self.round_sd, self.rounds))
        return sample(process=process, seconds_per_round=tuple(float(seconds) for seconds in rounds))

    def session(self, number: int, cases: int, pairs: int = 6, **changes: Any) -> RawSession:
        results = {
            key(case): PairedResult(
                spec(case),
                tuple(
                    PairSample(pair, BASELINE if pair % 2 else CANDIDATE, self.side(pair), self.side(pair))
                    for pair in range(1, pairs + 1)
                ),
            )
            for case in range(cases)
        }
        fields: dict[str, Any] = {
            "name": f"{number:04}",
            "factor": 1.0,
            "margin_percent": 5.0,
            "against": Against.SAME,
            "screening": PairedMeasured(results, {}, {}, (), number, 100.0),
            "confirmation": None,
        }
        return RawSession(**{**fields, **changes})
