"""Screen, confirm, decide, settle and show, with fake workers."""

from __future__ import annotations

import json

import pytest

from perf.harness.journal import Journal
from perf.harness.paired_evidence import Metric
from perf.harness.paired_green import reasons_not_green
from perf.harness.paired_records import BASELINE, CANDIDATE
from perf.harness.records import Machine, Verdict
from perf.harness.report import paired as shown
from tests.harness.paired_stage import TwoSides
from tests.harness.test_measure import folders, spec

__all__ = ["folders"]  # whatever happens, workers leave no file

#: What a quiet machine does: rounds vary by 1 %, processes by half of it.
QUIET = {"noise": 0.01, "process_noise": 0.005}


@pytest.fixture
def sides(tmp_path) -> TwoSides:
    return TwoSides(tmp_path)


def test_unchanged_cases_are_settled_by_the_screen(sides):
    outcome = sides.run([spec("a"), spec("b")], default=QUIET)
    assert {key: judged.verdict for key, judged in outcome.judgements.items()} == dict.fromkeys("ab", Verdict.UNCHANGED)
    assert outcome.confirmation is None
    assert reasons_not_green(outcome, fail_inconclusive=True) == ()
    assert [len(seconds) for seconds in outcome.startup_seconds.values()] == [6, 6]
    text = shown.report(outcome)
    assert "2 unchanged" in text
    assert "tensorflow 2.21.0 (same)" in text


def test_a_slower_case_is_confirmed_with_fresh_processes_and_red(sides, tmp_path):
    sides.journal = Journal.start(tmp_path / "journal.jsonl", Machine({}, {}, "m"))
    slower = {
        "environment": {"versions": {"tensorflow": "2.22.0"}, "packages": {"tensorflow": "2.22.0", "h5py": "3.15"}},
        "cases": {"b": {"seconds_per_step": 0.0044}},
    }
    outcome = sides.run([spec("a"), spec("b")], default=QUIET, sides={CANDIDATE: slower})
    sides.journal.close()
    assert outcome.judgements["a"].verdict is Verdict.UNCHANGED
    judgement = outcome.judgements["b"]
    assert judgement.verdict is Verdict.REGRESSED
    assert "tensorflow 2.21.0 -> 2.22.0" in judgement.reason
    assert judgement.metrics[Metric.STEP].change.ratio == pytest.approx(1.1, abs=0.03)
    again = outcome.confirmed["b"].pairs
    assert (len(again), again[0].pair, list(outcome.confirmed)) == (10, 7, ["b"])
    assert outcome.not_decided == ()
    starts = sides.starts()
    assert (starts.count(BASELINE), starts.count(CANDIDATE)) == (16, 16)
    entries = [json.loads(line) for line in sides.journal.path.read_text().splitlines()[1:]]
    assert len([entry for entry in entries if entry["case"] == "b"]) == 16
    text = shown.report(outcome)
    assert "packages of one side none -> h5py 3.15" in " ".join(text.split())
    assert "6+10" in text
    assert max(map(len, text.splitlines()[:8])) <= 120


def test_a_budget_that_leaves_no_time_to_confirm_is_not_green_and_not_red(sides):
    readings = iter(range(100_000))
    sides.clock = lambda: float(next(readings))
    sides.settings["budget"] = 52.0
    outcome = sides.run([spec("a")], default=QUIET, sides={CANDIDATE: {"default": {"seconds_per_step": 0.006}}})
    assert len(outcome.results["a"].pairs) == 6
    assert outcome.judgements["a"].verdict is Verdict.INCONCLUSIVE
    assert outcome.not_decided == ("a",)
    first, *rest = reasons_not_green(outcome, fail_inconclusive=False)
    assert "suspected and not decided" in first
    assert "budget" in rest[0]
    assert outcome.seconds < 60


def test_more_suspects_than_are_confirmed_are_said_first(sides):
    specs = [spec(f"case{number}") for number in range(9)]
    outcome = sides.run(
        specs, 4, sides={CANDIDATE: {"default": {"seconds_per_step": 0.04}}}, default={"seconds_per_step": 0.03}
    )
    reasons = reasons_not_green(outcome, fail_inconclusive=False)
    assert reasons[0].startswith("9 of 9 cases look slower")
    assert shown.report(outcome).startswith("9 of 9 cases look slower")
    assert len(outcome.not_decided) == 1
    verdicts = [judgement.verdict for judgement in outcome.judgements.values()]
    assert (verdicts.count(Verdict.REGRESSED), verdicts.count(Verdict.INCONCLUSIVE)) == (8, 1)


def test_what_cannot_be_compared_is_not_green_and_shown_with_its_reason(sides):
    script = {BASELINE: {"cases": {"b": {"fault": "unsupported", "fault_at": "open"}}}}
    outcome = sides.run([spec("a"), spec("b")], 4, sides=script)
    (reason,) = reasons_not_green(outcome, fail_inconclusive=False)
    assert "not comparable" in reason
    assert "b: not comparable, it cannot be done on the baseline's side: Keras 2.15 has no use_cudnn." in shown.report(
        outcome
    )


def test_a_failed_case_is_shown_with_its_side(sides):
    outcome = sides.run([spec("a"), spec("b")], 4, sides={CANDIDATE: {"cases": {"b": {"fault": "kill"}}}})
    assert outcome.judgements["b"].verdict is Verdict.FAILED
    assert "b: failed on the candidate's side (worker)" in shown.report(outcome)


def test_fewer_than_four_pairs_are_inconclusive_and_may_fail(sides):
    outcome = sides.run([spec("a")], 3)
    assert reasons_not_green(outcome, fail_inconclusive=False) == ()
    (reason,) = reasons_not_green(outcome, fail_inconclusive=True)
    assert "undecided" in reason


def test_nothing_measured_is_never_green(sides):
    outcome = sides.run([])
    assert reasons_not_green(outcome, fail_inconclusive=False) == (
        "Nothing was measured, and nothing measured is never green.",
    )
    assert "nothing compared" in shown.report(outcome)


def test_first_calls_and_memory_are_shown_where_they_changed_or_on_request(sides):
    changed = {"first_call_seconds": 1.0, "bytes_peak": 60_000_000}
    outcome = sides.run([spec("a"), spec("b")], 4, sides={CANDIDATE: {"cases": {"a": changed}}})
    assert outcome.judgements["a"].verdict is Verdict.REGRESSED
    assert outcome.judgements["a"].metrics[Metric.STEP].verdict is Verdict.UNCHANGED
    few, every = shown.others_table(outcome), shown.others_table(outcome, every=True)
    assert (few.count("first call"), few.count("peak memory")) == (1, 1)
    assert (every.count("first call"), every.count("peak memory")) == (2, 2)
    assert "500 ms" in few
    assert "1.00 s" in few
