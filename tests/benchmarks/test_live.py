"""Whole sessions of the real flow with the fake worker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docs.benchmarks.gate_quality import __main__ as command
from docs.benchmarks.gate_quality import cases, ledger, live, raw
from docs.benchmarks.gate_quality.ledger import Against
from docs.benchmarks.gate_quality.live import Plan
from perf.harness.builds import BuiltSide
from perf.harness.environment import Side
from perf.harness.errors import Refusal
from perf.harness.measure import Settings
from perf.harness.paired_evidence import Metric
from perf.harness.records import Machine, Verdict
from tests.harness.test_measure import folders, spec

__all__ = ["folders"]  # whatever happens, workers leave no file

ROOT = Path(__file__).parents[2]
MACHINE = Machine({}, {}, "m")
#: What a quiet machine does: rounds vary by 1 %, processes by half of it.
QUIET = {"noise": 0.01, "process_noise": 0.005}


class Sitting:
    """Sessions of fake workers, with raw rounds and ledger in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.script, self.data, self.ledger = folder / "script.json", folder / "data", folder / "ledger.jsonl"

    def run(self, plan: Plan, *keys: str, sessions: int = 1, budget: float | None = None, **script: object) -> int:
        self.script.write_text(json.dumps({"default": QUIET, **script}))
        settings = [
            Settings(root=ROOT, module="tests.fake_worker", seed=seed, time_limit=20.0) for seed in range(sessions)
        ]
        both = live.sides(plan, settings[0], {"FAKE_WORKER_SCRIPT": str(self.script)})
        specs = [spec(key) for key in keys]
        return live.run_sessions(plan, specs, settings, both, MACHINE, self.data, self.ledger, budget)


@pytest.fixture
def sitting(tmp_path) -> Sitting:
    return Sitting(tmp_path)


def test_nothing_changed_and_nothing_is_red(sitting, capsys):
    assert sitting.run(Plan(1.0, 5.0, Against.SAME, 4), "a", "b", sessions=2) == 2
    first, second = ledger.read(sitting.ledger)
    assert (first.factor, first.pairs, first.machine, first.versions["tensorflow"]) == (1.0, 4, "m", "2.21.0")
    assert [case.verdict for case in first.cases] == [Verdict.UNCHANGED] * 2
    assert (first.seed, second.seed) == (0, 1)
    assert first.nothing_changed
    assert "0 of 2 cases red" in capsys.readouterr().out


def test_an_injected_slowdown_is_found_and_its_rounds_are_kept(sitting):
    sitting.run(Plan(1.25, 5.0, Against.SAME, 4), "a", "b")
    (line,) = ledger.read(sitting.ledger)
    assert [case.step for case in line.cases] == [Verdict.REGRESSED] * 2
    assert [case.pairs_confirmed for case in line.cases] == [10, 10]
    assert [case.seen for case in line.cases] == pytest.approx([1.25, 1.25], abs=0.03)
    assert line.cases[0].metrics[Metric.STEP].pairs == 10
    (kept,) = raw.read_all(sitting.data)
    assert (kept.name, kept.factor, kept.margin_percent) == (line.raw, 1.25, 5.0)
    assert (sitting.data / f"{line.raw}.json.gz").stat().st_size == line.raw_bytes
    assert len(kept.screening.results["a"].pairs) == 4
    assert kept.confirmation is not None
    assert [pair.pair for pair in kept.confirmation.results["a"].pairs] == list(range(5, 15))
    candidate = kept.screening.results["a"].pairs[0].candidate
    assert candidate.seconds_per_step == pytest.approx(0.005, rel=0.03)


def test_only_the_candidate_is_slowed_whatever_the_caller_has_set(monkeypatch, sitting):
    monkeypatch.setenv("LSTM_PERF_SLOWDOWN", "3")
    sitting.run(Plan(1.0, 5.0, Against.SAME, 4), "a")
    (line,) = ledger.read(sitting.ledger)
    assert line.cases[0].verdict is Verdict.UNCHANGED
    assert line.cases[0].seen == pytest.approx(1.0, abs=0.03)
    kept = raw.read_all(sitting.data)[0]
    assert kept.screening.results["a"].pairs[0].baseline.seconds_per_step == pytest.approx(0.004, rel=0.03)


def test_a_failure_is_red_and_kept_as_such(sitting, capsys):
    sitting.run(Plan(1.0, 5.0, Against.SAME, 4), "a", "b", cases={"a": {"fault": "exception"}})
    (line,) = ledger.read(sitting.ledger)
    assert [case.verdict for case in line.cases] == [Verdict.FAILED, Verdict.UNCHANGED]
    assert (line.cases[0].seen, line.cases[0].metrics[Metric.STEP].ratio) == (None, None)
    assert "a: failed" in capsys.readouterr().out


def test_where_no_worker_starts_nothing_is_noted(sitting):
    with pytest.raises(Refusal, match="measured nothing"):
        sitting.run(Plan(1.0, 5.0, Against.SAME, 4), "a", startup="crash")
    assert ledger.read(sitting.ledger) == ()


def test_an_interrupted_session_is_dropped_and_the_one_before_it_kept(monkeypatch, sitting, capsys):
    finished, real = [], live.run_paired

    def interrupted(*args, **kwargs):
        if finished:
            raise KeyboardInterrupt
        finished.append(real(*args, **kwargs))
        return finished[0]

    monkeypatch.setattr(live, "run_paired", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sitting.run(Plan(1.0, 5.0, Against.SAME, 4), "a", sessions=3)
    assert len(ledger.read(sitting.ledger)) == 1
    assert len(list(sitting.data.iterdir())) == 1
    assert "dropped, the 1 before it" in capsys.readouterr().out


def test_a_budget_starts_no_session_that_would_end_after_it(sitting, capsys):
    assert sitting.run(Plan(1.0, 5.0, Against.SAME, 4), "a", sessions=3, budget=1e-9) == 0
    assert "no time for another session; 0 of 3" in capsys.readouterr().out
    assert ledger.read(sitting.ledger) == ()


def test_more_slowed_cases_than_are_confirmed_are_refused():
    specs = [spec(str(number)) for number in range(9)]
    live.check(Plan(1.0, 5.0, Against.SAME, 6), specs)
    live.check(Plan(1.1, 5.0, Against.SAME, 6), specs[:8])
    with pytest.raises(Refusal, match="at most 8 suspects"):
        live.check(Plan(1.1, 5.0, Against.SAME, 6), specs)


def test_the_rebuilt_side_runs_in_the_environment_that_was_described(monkeypatch, tmp_path):
    asked = []

    def rebuilt(recorded, variables_now, progress):
        asked.append((recorded.packages["tensorflow"], dict(variables_now)))
        side = Side("/rebuilt/bin/python", {"TF_X": "1", "LSTM_PERF_SLOWDOWN": None})
        return BuiltSide(side, (), True, {})

    monkeypatch.setenv("TF_X", "1")
    monkeypatch.setattr(live, "rebuild", rebuilt)
    (tmp_path / "script.json").write_text("{}")
    settings = Settings(root=ROOT, module="tests.fake_worker", seed=1, time_limit=20.0)
    variables = {"FAKE_WORKER_SCRIPT": str(tmp_path / "script.json")}
    baseline, candidate = live.sides(Plan(1.1, 5.0, Against.REBUILT, 6), settings, variables)
    ((tensorflow, now),) = asked
    assert tensorflow == "2.21.0"
    assert "LSTM_PERF_SLOWDOWN" not in now
    assert baseline.interpreter == "/rebuilt/bin/python"
    assert baseline.variables == {**variables, "TF_X": "1", "LSTM_PERF_SLOWDOWN": None}
    assert candidate.variables["LSTM_PERF_SLOWDOWN"] == "1.1"


def test_every_preset_can_be_measured_and_confirmed():
    for name in cases.PRESETS:
        assert 6 <= len(cases.specs([name])) <= 8
    assert len(cases.specs(["mixed", "mixed", "forward[translation-b1-cpu-loop-float32]"])) == 8


@pytest.mark.parametrize(
    ("key", "named"),
    [("mixt", "Presets are: mixed"), ("forward[translation-b1-cpu-cudnn-float32]", "cannot be measured")],
)
def test_a_case_that_is_none_is_refused(key, named):
    with pytest.raises(Refusal, match=named):
        cases.specs([key])


@pytest.mark.parametrize(
    "words", [["--inject", "0.9"], ["--margin", "0"], ["--budget", "soon"], ["--sessions", "0"], ["--cases", "none"]]
)
def test_wrong_usage_is_refused_before_anything_is_measured(words, tmp_path, capsys):
    with_places = ["live", *words, "--ledger", str(tmp_path / "l"), "--data", str(tmp_path / "d")]
    try:
        status = command.main(with_places)
    except SystemExit as ended:
        status = ended.code
    assert status == 4
    assert words[0] in capsys.readouterr().err
    assert not (tmp_path / "l").exists()
    assert not (tmp_path / "d").exists()


def test_a_damaged_raw_file_is_refused_by_its_name(sitting):
    sitting.run(Plan(1.0, 5.0, Against.SAME, 4), "a")
    (path,) = sitting.data.iterdir()
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(Refusal, match=path.name):
        raw.read_all(sitting.data)
