"""What was written comes back, and what was not written by this code is refused."""

from __future__ import annotations

import json
import math

import pytest

from docs.benchmarks.gate_quality import ledger
from docs.benchmarks.gate_quality.ledger import Against, MetricLine
from perf.harness.errors import Refusal
from perf.harness.paired_evidence import Metric
from perf.harness.records import Verdict
from tests.benchmarks.makers import case_line, session_line


def test_lines_come_back_as_they_were(tmp_path):
    path = tmp_path / "docs" / "ledger.jsonl"
    failed = case_line(
        Verdict.FAILED, seen=None, metrics={Metric.STEP: MetricLine(Verdict.FAILED, None, None, None, None, None)}
    )
    written = (
        session_line(),
        session_line(failed, case_line(Verdict.REGRESSED, "forward[b]"), factor=1.1, revision=None),
        session_line(against=Against.REBUILT, versions={"keras": "3.15.0 -> 3.15.1"}),
    )
    for line in written:
        ledger.append(path, line)
    assert ledger.read(path) == written
    assert len(path.read_text().splitlines()) == 3


def test_no_file_is_no_session(tmp_path):
    assert ledger.read(tmp_path / "none.jsonl") == ()


def test_a_number_that_is_none_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        ledger.append(tmp_path / "l.jsonl", session_line(seconds=math.nan))
    assert not (tmp_path / "l.jsonl").exists()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"schema": 2}, "form 2"),
        ({"factor": 0.9}, "factor of 1 or more"),
        ({"factor": "1.1"}, "a finite number"),
        ({"against": "another"}, "same environment, rebuilt environment"),
        ({"date": "2025-01-01"}, "time zone"),
        ({"seconds": 0}, "above 0"),
        ({"cases": []}, "at least 1"),
        ({"mood": 1}, "no such entry"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_line(tmp_path, change, named):
    path = tmp_path / "l.jsonl"
    good = ledger.encode(session_line())
    path.write_text(f"{good}\n{json.dumps({**json.loads(good), **change})}\n")
    with pytest.raises(Refusal, match=named) as refused:
        ledger.read(path)
    assert "line 2" in str(refused.value)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"verdict": "slower"}, "one of"),
        ({"metrics": {}}, "time per step"),
        ({"metrics": {"time per step": {"verdict": "unchanged"}}}, "missing"),
        ({"seen": -1}, "above 0"),
    ],
)
def test_a_case_that_makes_no_sense_is_refused(tmp_path, change, named):
    path = tmp_path / "l.jsonl"
    plain = json.loads(ledger.encode(session_line()))
    plain["cases"][0].update(change)
    path.write_text(json.dumps(plain) + "\n")
    with pytest.raises(Refusal, match=named):
        ledger.read(path)


@pytest.mark.parametrize(("cut", "named"), [(-20, "cut short"), (-1, "cut short")])
def test_a_line_that_was_cut_short_is_refused(tmp_path, cut, named):
    path = tmp_path / "l.jsonl"
    ledger.append(path, session_line())
    path.write_text(path.read_text()[:cut])
    with pytest.raises(Refusal, match=named):
        ledger.read(path)
