"""The measuring stage with real worker processes and a fake engine."""

import dataclasses
import itertools
import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perf.harness import measure as stage
from perf.harness import schedule
from perf.harness.environment import Side
from perf.harness.journal import Journal
from perf.harness.measure import Measured, Progress, Settings, measure
from perf.harness.records import CaseSpec, Failure, Machine

ROOT = Path(__file__).parents[2]


def spec(key: str, **changes: Any) -> CaseSpec:
    made = CaseSpec(
        key=key, id=key, path="forward", workload="lstm", batch=1, device="cpu", kernel="loop", precision="float32",
        hash="0", steps_per_call=1, keeps_calls=False, expects_kernel="loop", payload={"key": key},
    )  # fmt: skip
    return dataclasses.replace(made, **changes)


def gpu(key: str) -> CaseSpec:
    return spec(key, device="gpu", payload={"key": key, "device": "gpu"})


class Told(Progress):
    """Keeps what it was told."""

    def __init__(self) -> None:
        self.workers: list[tuple[str, int]] = []
        self.cases: list[tuple[str, int]] = []
        self.counts: list[tuple[int, int]] = []
        self.left: list[float | None] = []
        self.failures: dict[str, Failure] = {}

    def starting(self, device: str, process: int) -> None:
        self.workers.append((device, process))

    def started(self, key: str, process: int, done: int, total: int, seconds_left: float | None) -> None:
        self.cases.append((key, process))
        self.counts.append((done, total))
        self.left.append(seconds_left)

    def failed(self, key: str, failure: Failure) -> None:
        assert key not in self.failures
        self.failures[key] = failure


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch) -> Iterator[None]:
    """Whatever happens, workers leave no file."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert os.listdir(folder) == []


class Session:
    """Measures with a script in its own folder."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "script.json"
        self.told = Told()

    def measure(self, specs: list[CaseSpec], journal: Journal | None = None, **options: Any) -> Measured:
        names = {field.name for field in dataclasses.fields(Settings)}
        settings = {name: options.pop(name) for name in list(options) if name in names}
        settings = {"root": ROOT, "seed": 1, "module": "tests.fake_worker", "time_limit": 20.0, **settings}
        variables = options.pop("variables", {})
        interpreter = options.pop("interpreter", Side().interpreter)
        clock = options.pop("clock", time.monotonic)
        self.file.write_text(json.dumps(options))
        side = Side(interpreter, {"FAKE_WORKER_SCRIPT": str(self.file), **variables})
        return measure(specs, Settings(**settings), side, self.told, journal, clock)

    def log(self) -> list[list[str]]:
        return [line.split() for line in Path(f"{self.file}.log").read_text().splitlines()]

    def workers(self) -> list[int]:
        """Process ids in the order of their start; each must have ended by now."""
        pids = [int(entry[0]) for entry in self.log() if entry[1] == "start"]
        assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        return pids


@pytest.fixture
def session(tmp_path) -> Session:
    return Session(tmp_path)


def test_every_case_is_sampled_in_every_process(session):
    found = session.measure([spec("a"), spec("b")], cases={"b": {"seconds_per_step": 0.03}})
    assert [sample.process for sample in found.results["a"].samples] == [1, 2, 3]
    assert [sample.calls_per_round for sample in found.results["a"].samples] == [6, 6, 6]
    assert found.results["a"].samples[0].seconds_per_step == pytest.approx(0.004)
    assert found.results["b"].samples[0].seconds_per_step == pytest.approx(0.03)
    assert all(result.failure is None and result.steady for result in found.results.values())
    assert found.environments["cpu"].versions["tensorflow"] == "2.21.0"
    assert len(found.startup_seconds["cpu"]) == 3
    assert (found.unfinished, found.seed) == ((), 1)
    assert len(session.workers()) == 3


def test_processes_are_outside_and_the_seed_draws_the_order(session):
    keys = [f"case{number}" for number in range(6)]
    session.measure([spec(key) for key in keys])
    assert [process for _, process in session.told.cases] == [1] * 6 + [2] * 6 + [3] * 6
    orders = [tuple(key for key, process in session.told.cases if process == one) for one in (1, 2, 3)]
    assert all(sorted(order) == keys for order in orders)
    assert len(set(orders)) == 3


def test_one_worker_is_alive_at_a_time_also_with_two_devices(session):
    found = session.measure([spec("a"), gpu("g")], processes=2)
    assert set(found.environments) == {"cpu", "gpu"}
    assert len(found.results["g"].samples) == 2
    pids = [entry[0] for entry in session.log()]
    assert len(set(pids)) == 4
    # Once a worker's first line has appeared no line of an earlier one comes.
    assert sum(one != two for one, two in itertools.pairwise(pids)) == 3


def test_a_skipped_case_is_left_alone(session):
    found = session.measure([spec("a"), spec("b", skip="no GPU")], processes=1)
    assert list(found.results) == ["a"]


def test_no_case_starts_no_worker(session):
    found = session.measure([])
    assert (found.results, found.environments, session.told.workers) == ({}, {}, [])


def test_progress_counts_and_estimates(session):
    session.measure([spec("a"), spec("b")])
    assert session.told.counts == [(done, 6) for done in range(6)]
    assert session.told.left[0] is None
    assert all(left is not None and left > 0 for left in session.told.left[1:])
    assert session.told.workers == [("cpu", 1), ("cpu", 2), ("cpu", 3)]


def test_a_drifting_case_is_unsteady_and_a_noisy_one_is_not(session):
    found = session.measure(
        [spec("drifts"), spec("noisy")],
        processes=1,
        cases={"drifts": {"drift": 20.0, "drift_rounds": 80}, "noisy": {"noise": 0.1}},
    )
    assert not found.results["drifts"].steady
    assert found.results["drifts"].failure is None
    assert found.results["noisy"].steady
    assert len(found.results["noisy"].samples[0].seconds_per_round) > 10


def test_a_slow_down_of_the_side_shows(session):
    found = session.measure([spec("a")], processes=1, variables={"LSTM_PERF_SLOWDOWN": "1.5"})
    assert found.results["a"].samples[0].seconds_per_step == pytest.approx(0.006)
    assert found.environments["cpu"].variables["LSTM_PERF_SLOWDOWN"] == "1.5"


def test_single_calls_of_one_sample_prediction_are_kept(session):
    found = session.measure([spec("p", keeps_calls=True, payload={"key": "p", "keeps_calls": True})], processes=1)
    sample = found.results["p"].samples[0]
    assert len(sample.seconds_per_call) == len(sample.seconds_per_round) * sample.calls_per_round


@pytest.mark.parametrize(
    ("fault", "stage", "said"),
    [
        ({"kernel": "xla"}, "proof", "'xla' ran"),
        ({"device": "gpu"}, "proof", "'gpu' executed"),
        ({"traces": 1}, "traces", "traced the function anew"),
        ({"fault": "nan"}, "worker", "nan"),
        ({"fault": "zero"}, "worker", "0.0"),
        ({"fault": "nan", "fault_at": "open"}, "oracle", "not all finite"),
        ({"fault": "problem", "fault_at": "open"}, "oracle", "0.3 apart"),
        ({"fault": "exception"}, "run", "the fake engine's exception"),
    ],
)
def test_a_case_that_fails_is_not_tried_again_and_costs_no_worker(session, fault, stage, said):
    found = session.measure([spec("good"), spec("bad")], processes=2, cases={"bad": fault})
    failure = found.results["bad"].failure
    assert failure is not None
    assert (failure.stage, said in failure.message) == (stage, True)
    assert session.told.failures == {"bad": failure}
    assert [process for key, process in session.told.cases if key == "bad"] == [1]
    assert len(found.results["good"].samples) == 2
    assert len(session.workers()) == 2
    assert session.told.counts[-1] == (3, 4)


@pytest.mark.parametrize(("change", "stage"), [({"probe": [1.0, -0.4]}, "oracle"), ({"kernel": "cudnn"}, "proof")])
def test_processes_that_computed_something_else_are_no_result(session, change, stage):
    free = spec("a", expects_kernel=None)
    found = session.measure([free], processes=2, cases={"a": {**change, "process": 2}}).results["a"]
    assert found.failure is not None
    assert found.failure.stage == stage
    assert "process 2" in found.failure.message


@pytest.mark.parametrize("fault", ["crash", "kill", "segfault", "hang", "nonsense"])
def test_a_lost_worker_is_replaced_and_the_others_go_on(session, fault):
    specs = [spec("a"), spec("bad"), spec("c"), spec("d")]
    found = session.measure(
        specs, processes=2, time_limit=1.5 if fault == "hang" else 20, cases={"bad": {"fault": fault}}
    )
    failure = found.results["bad"].failure
    assert failure is not None
    assert failure.stage == ("time limit" if fault == "hang" else "worker")
    assert all(len(found.results[key].samples) == 2 for key in "acd")
    assert all(found.results[key].failure is None for key in "acd")
    assert len(session.workers()) <= 3


def test_out_of_memory_is_tried_in_a_fresh_worker_and_fails_one_case(session):
    cases = {"large": {"fault": "memory", "fault_at": "open"}}
    found = session.measure([spec("large"), spec("one"), spec("two")], processes=2, cases=cases)
    assert set(session.told.failures) == {"large"}
    failure = session.told.failures["large"]
    assert failure.stage == "memory"
    assert "open ran out of memory: failed to allocate 12.00 GiB" in failure.message
    assert all(len(found.results[key].samples) == 2 for key in ("one", "two"))


def test_any_number_of_cases_may_run_out_of_memory(session):
    keys = [f"large{number}" for number in range(stage.LOST_IN_A_ROW + 1)]
    cases = {"large": {"fault": "memory", "fault_at": "open"}}
    found = session.measure([*map(spec, keys), spec("small")], processes=1, cases=cases)
    assert set(session.told.failures) == set(keys)
    assert len(found.results["small"].samples) == 1


def test_what_a_case_leaves_on_the_gpu_costs_a_fresh_worker_and_no_result(session):
    cases = {"after": {"device_bytes_peak": None, "process": 1}}
    seed = _seed_of_order("after", "before", last="after")
    found = session.measure([gpu("after"), gpu("before")], processes=1, seed=seed, cases=cases)
    assert session.told.failures == {}
    (sample,) = found.results["after"].samples
    assert sample.device_bytes_peak == 300_000_000
    assert [device for device, _ in session.told.workers] == ["gpu", "gpu"]


def _seed_of_order(*keys: str, last: str) -> int:
    """A seed that draws an order for one process in which this case comes last."""
    orders = ((seed, schedule.blocks([gpu(key) for key in keys], 1, seed)[0].specs) for seed in itertools.count())
    return next(seed for seed, specs in orders if specs[-1].key == last)


def test_a_case_lost_in_a_later_process_keeps_its_samples_and_fails(session):
    found = session.measure([spec("a"), spec("bad")], cases={"bad": {"fault": "kill", "process": 2}})
    assert [sample.process for sample in found.results["bad"].samples] == [1]
    assert found.results["bad"].failure is not None
    assert len(found.results["a"].samples) == 3


def test_a_crash_on_closing_fails_the_case(session):
    found = session.measure([spec("a"), spec("b")], processes=1, cases={"a": {"fault": "crash", "fault_at": "close"}})
    assert "during 'close'" in str(found.results["a"].failure)
    assert found.results["b"].failure is None


def test_a_failure_is_not_hidden_by_what_follows_it(session):
    found = session.measure(
        [spec("a")], processes=1, cases={"a": {"kernel": "xla", "fault": "crash", "fault_at": "close"}}
    )
    assert found.results["a"].failure is not None
    assert found.results["a"].failure.stage == "proof"


@pytest.mark.parametrize(("startup", "said"), [("crash", "exit status 3"), ("import", "could not import")])
def test_a_worker_that_cannot_start_fails_all_its_cases_at_once(session, startup, said):
    found = session.measure([spec("a"), spec("b")], startup=startup)
    assert {key: said in str(result.failure) for key, result in found.results.items()} == {"a": True, "b": True}
    assert len(session.workers()) == 1
    assert session.told.cases == []
    assert found.environments == {}


def test_an_interpreter_that_is_not_there_fails_all_cases(session):
    found = session.measure([spec("a"), spec("b")], interpreter="/no/such/python")
    assert all("no executable interpreter" in str(result.failure) for result in found.results.values())


def test_a_device_whose_worker_cannot_start_does_not_take_the_other_along(session):
    found = session.measure([spec("a"), gpu("g"), gpu("h")], processes=2, startup="crash", startup_device="gpu")
    assert len(found.results["a"].samples) == 2
    assert all("exit status 3" in str(found.results[key].failure) for key in "gh")
    assert sorted(session.told.workers) == [("cpu", 1), ("cpu", 2), ("gpu", 1)]


def test_a_worker_that_describes_nonsense_fails_its_cases(session):
    found = session.measure([spec("a")], environment={"settings": {"threads": 1}})
    assert "'settings'" in str(found.results["a"].failure)


def test_a_later_start_that_fails_once_has_a_second_chance_and_no_third(session):
    found = session.measure([spec("a")], startup="crash", startup_process=2)
    assert [sample.process for sample in found.results["a"].samples] == [1]
    assert "exit status 3" in str(found.results["a"].failure)
    assert len(session.workers()) == 3


def test_workers_that_are_lost_in_a_row_end_it(session):
    specs = [spec(f"case{number}") for number in range(9)]
    found = session.measure(specs, processes=1, default={"fault": "crash", "fault_at": "open"})
    assert len(session.workers()) == stage.LOST_IN_A_ROW
    reasons = [str(result.failure) for result in found.results.values()]
    assert sum("in a row" in reason for reason in reasons) == 9 - stage.LOST_IN_A_ROW


def test_the_budget_leaves_processes_out_and_names_the_cases(session):
    readings = iter(range(1000))  # each look at the clock is a second later
    found = session.measure([spec("a"), spec("b")], processes=9, budget=30.0, clock=lambda: float(next(readings)))
    assert set(found.unfinished) == {"a", "b"}
    assert all(1 <= len(result.samples) < 9 for result in found.results.values())
    assert all(result.failure is None for result in found.results.values())
    assert len(session.workers()) < 9


def test_a_spent_budget_measures_nothing(session):
    found = session.measure([spec("a")], budget=0.0)
    assert (found.unfinished, found.results["a"].samples, session.told.workers) == (("a",), (), [])


def test_the_journal_has_every_sample_and_failure_as_it_came(session, tmp_path):
    journal = Journal.start(tmp_path / "journal.jsonl", Machine({}, {}, "m"))
    session.measure([spec("a"), spec("bad")], journal=journal, processes=2, cases={"bad": {"fault": "crash"}})
    entries = [json.loads(line) for line in journal.path.read_text().splitlines()[1:]]
    assert sorted(entry["case"] for entry in entries if "sample" in entry) == ["a", "a"]
    assert [entry["case"] for entry in entries if "failure" in entry] == ["bad"]
    journal.close()


def test_ctrl_c_ends_the_worker_and_keeps_the_journal(session, tmp_path):
    journal = Journal.start(tmp_path / "journal.jsonl", Machine({}, {}, "m"))
    log = Path(f"{session.file}.log")

    def interrupt() -> None:
        while (log.read_text() if log.exists() else "").count(" open hangs") < 2:
            os.sched_yield()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    cases = {"hangs": {"fault": "hang", "fault_at": "open", "process": 2}}
    with pytest.raises(KeyboardInterrupt):
        session.measure([spec("a"), spec("hangs")], journal=journal, cases=cases)
    thread.join()
    assert len(session.workers()) == 2
    lines = [json.loads(line) for line in journal.path.read_text().splitlines()[1:]]
    assert {line["case"] for line in lines} == {"a", "hangs"}
    journal.close()
