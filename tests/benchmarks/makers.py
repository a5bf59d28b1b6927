"""Lines of the ledger."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from docs.benchmarks.gate_quality.ledger import Against, CaseLine, MetricLine, SessionLine
from perf.harness.paired_evidence import Metric
from perf.harness.records import Verdict


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
