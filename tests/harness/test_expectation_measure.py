"""The measuring stage of expectations, on fake workers."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perf.harness import expectation_plan, expectation_store
from perf.harness.entry import Entry
from perf.harness.environment import Side
from perf.harness.expectation_measure import measure_expectations
from perf.harness.expectation_records import Expectation, Observed
from perf.harness.journal import Journal
from perf.harness.measure import Settings
from perf.harness.paired_evidence import Metric
from tests.harness.expectation_makers import contender, expectation
from tests.harness.makers import machine
from tests.harness.test_measure import ROOT, Told, gpu, spec

A_B = {"a-1": {"seconds_per_step": 0.004}, "b-1": {"seconds_per_step": 0.008}}


class Stage:
    """Measures with a script in its own folder."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file = folder / "script.json"
        self.told = Told()
        self.clock: Callable[[], float] = time.monotonic
        self.journal: Journal | None = None
        monkeypatch.setenv("FAKE_WORKER_SCRIPT", str(self.file))

    def measure(self, *expectations: Expectation, processes: int = 2, **script: Any) -> dict[str, Observed]:
        settings = {name: script.pop(name) for name in ("budget", "time_limit") if name in script}
        self.file.write_text(json.dumps(script))
        made = {
            each.key: (gpu if each.lane.device == "gpu" else spec)(each.key)
            for group in expectation_plan.groups(expectations)
            for each in group.entrants
        }
        return measure_expectations(
            expectations,
            made,
            Settings(
                **{"root": ROOT, "seed": 1, "module": "tests.fake_worker", "time_limit": 20.0, **settings},
                processes=processes,
            ),
            self.told,
            self.journal,
            self.clock,
        )

    def log(self) -> list[list[str]]:
        return [line.split() for line in Path(f"{self.file}.log").read_text().splitlines()]

    def starts(self) -> int:
        """How many workers were started; each must have ended by now."""
        pids = [entry[0] for entry in self.log() if entry[1] == "start"]
        assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        return len(pids)


@pytest.fixture
def stage(tmp_path, monkeypatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


def ratios(found: Observed, size: int = 1) -> list[float]:
    return [math.exp(one.log_ratio) for one in found.observations[size]]


def test_one_process_gives_one_ratio(stage):
    found = stage.measure(expectation(), processes=3, default={"noise": 0.02}, cases=A_B)["a-beats-b"]
    assert [one.process for one in found.observations[1]] == [1, 2, 3]
    assert ratios(found) == pytest.approx([0.5] * 3, rel=0.05)
    assert found.observations[1][0].first == pytest.approx(0.004, rel=0.05)
    assert (found.failure, found.unfinished) == (None, False)
    assert stage.starts() == 3


@pytest.mark.parametrize("metric", list(Metric))
def test_what_is_judged_is_to_the_last_digit_what_a_run_keeps(stage, metric):
    """Else a report from the stored run rounds a figure otherwise than the session did."""
    awkward = {"seconds_per_step": 0.0031415926535, "first_call_seconds": 0.27182818284, "bytes_peak": 123456789}
    one = expectation(metric=metric)
    found = stage.measure(one, processes=3, default={"noise": 0.02}, cases={"a-1": awkward, "b-1": {}})
    block = json.loads(json.dumps({expectation_store.BLOCK: expectation_store.encode_all([one], found)}))
    assert expectation_store.decode_all(Entry(block, Path("run.json"))) == [(one, found[one.id])]


def test_rounds_take_turns_forwards_and_backwards(stage):
    both = [expectation(), expectation("b-beats-c", first=contender("b", (1,)), second=contender("c", (1,)))]
    stage.measure(*both, processes=1)
    runs = [entry[2] for entry in stage.log() if entry[1] == "run"]
    # Warmed up one by one, then timed: the last rounds of three contenders, in twos of turns.
    timed = runs[-30:]
    turns = [timed[index : index + 3] for index in range(0, 30, 3)]
    assert all(set(turn) == {"a-1", "b-1", "c-1"} for turn in turns)
    assert all(turn == turns[0][:: (-1) ** index] for index, turn in enumerate(turns))
    opened = [entry[2] for entry in stage.log() if entry[1] == "open"]
    assert sorted(opened) == ["a-1", "b-1", "c-1"]  # each once, though b meets two


def test_two_devices_have_a_worker_each_and_no_third(stage):
    some = [
        expectation("mixed", first=contender("g", (1,), "gpu"), second=contender("b", (1,))),
        expectation("threads", first=contender("b", (1,)), second=contender("b", (1,), OMP_NUM_THREADS="1")),
        expectation("gpu", first=contender("g", (1,), "gpu"), second=contender("h", (1,), "gpu")),
    ]
    alive: set[str] = set()
    most = 0
    found = stage.measure(*some, processes=2)
    for pid, op, *_ in stage.log():
        if op == "start":
            alive = {other for other in alive if other in later(stage, pid)} | {pid}
            most = max(most, len(alive))
    assert most <= 2
    assert all(len(one.observations[1]) == 2 for one in found.values())
    assert stage.starts() >= 6


def later(stage: Stage, pid: str) -> set[str]:
    """Workers that are asked something after worker ``pid`` started."""
    log = stage.log()
    begin = next(index for index, entry in enumerate(log) if entry[0] == pid)
    return {entry[0] for entry in log[begin:]}


def test_variables_reach_the_workers_of_their_side_only(stage):
    one = expectation(second=contender("a", (1,), LSTM_PERF_SLOWDOWN="2.0"))
    assert ratios(stage.measure(one)["a-beats-b"]) == pytest.approx([0.5, 0.5])


def test_first_calls_and_peaks_are_of_cases_opened_alone(stage):
    some = [
        expectation("first", metric=Metric.FIRST_CALL),
        expectation("memory", metric=Metric.MEMORY, first=contender("a", (1,)), second=contender("c", (1,))),
    ]
    cases = {"a-1": {"first_call_seconds": 0.2}, "b-1": {"first_call_seconds": 0.8}, "c-1": {"bytes_peak": 80_000_000}}
    found = stage.measure(*some, cases=cases)
    assert ratios(found["first"]) == pytest.approx([0.25, 0.25])
    assert ratios(found["memory"]) == pytest.approx([0.25, 0.25])
    assert found["memory"].observations[1][0].second == 80_000_000
    ops = [entry[1] for entry in stage.log() if entry[1] in ("open", "run", "close")]
    assert ops == ["open", "close"] * (len(ops) // 2)


def test_memory_that_cannot_be_read_gives_no_ratio(stage):
    found = stage.measure(expectation(metric=Metric.MEMORY), cases={"b-1": {"bytes_peak": None}})
    assert found["a-beats-b"].observations[1] == ()


@pytest.mark.parametrize("fault", ["problem", "crash", "nan", "exception"])
@pytest.mark.parametrize("at", ["open", "run"])
def test_a_contender_that_fails_fails_what_needs_it_and_no_other(stage, fault, at):
    some = [
        expectation("bad", first=contender("bad", (1,)), second=contender("b", (1,))),
        expectation("good", first=contender("b", (1,)), second=contender("c", (1,))),
        expectation("elsewhere", first=contender("d", (1,)), second=contender("e", (1,))),
    ]
    found = stage.measure(*some, processes=3, cases={"bad": {"fault": fault, "fault_at": at}})
    assert found["bad"].failure is not None
    assert stage.told.failures.keys() == {"bad-1"}
    assert found["good"].failure is None
    # Where a worker is lost, its group is over in this process.
    assert len(found["good"].observations[1]) == (2 if fault == "crash" else 3)
    assert len(found["elsewhere"].observations[1]) == 3
    stage.starts()


def test_another_kernel_than_expected_is_not_timed_under_its_name(stage):
    found = stage.measure(expectation(), cases={"b-1": {"kernel": "xla"}})["a-beats-b"]
    assert found.failure.stage == "proof"
    assert found.observations[1] == ()
    assert not [entry for entry in stage.log() if entry[1] == "run"]
    assert [entry[1] for entry in stage.log() if entry[-1] == "b-1"] == ["open", "close"]  # not tried again


def test_new_traces_in_timed_rounds_are_a_failure(stage):
    assert stage.measure(expectation(), cases={"b-1": {"traces": 1}})["a-beats-b"].failure.stage == "traces"


def test_no_worker_to_be_had_fails_all_of_its_lane(stage):
    some = [expectation("g", first=contender("g", (1,), "gpu")), expectation("cpu")]
    found = stage.measure(*some, startup="crash", startup_device="gpu")
    assert found["g"].failure.stage == "worker"
    assert found["cpu"].failure is None
    assert len(found["cpu"].observations[1]) == 2


def test_a_budget_ends_it_and_names_what_is_left(stage):
    readings = iter(range(0, 100_000, 1))
    stage.clock = lambda: float(next(readings))
    found = stage.measure(expectation(), processes=6, budget=12.0)["a-beats-b"]
    assert found.unfinished
    assert 0 < len(found.observations[1]) < 6
    stage.starts()


def test_every_process_is_in_the_journal_before_the_next_one(stage, tmp_path):
    stage.journal = Journal.start(tmp_path / "journal.jsonl", machine())
    both = [expectation(), expectation("first", metric=Metric.FIRST_CALL)]
    stage.measure(*both, processes=2)
    stage.journal.close()
    lines = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()[1:]]
    together = [line for line in lines if "together" in line]
    assert [line["process"] for line in together] == [1, 2]
    assert all(len(one["seconds_per_round"]) >= 10 for line in together for one in line["together"].values())
    assert len([line for line in lines if "once" in line]) == 4


def test_progress_counts_groups_times_processes(stage):
    stage.measure(expectation(), processes=3)
    assert stage.told.counts == [(0, 3), (1, 3), (2, 3)]
    assert stage.told.workers == [("cpu", 1), ("cpu", 2), ("cpu", 3)]


def test_an_unsteady_contender_makes_no_steady_ratio(stage):
    found = stage.measure(expectation(), cases={"b-1": {"drift": 20.0, "drift_rounds": 80}}, processes=1)
    assert [one.steady for one in found["a-beats-b"].observations[1]] == [False]


def test_the_side_of_a_plain_lane_is_the_callers_own():
    assert expectation_plan.Lane("cpu").side == Side()
