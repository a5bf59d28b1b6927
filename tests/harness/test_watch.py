"""Blocks of rounds under instruments that are scripted."""

from collections.abc import Iterator
from typing import Any

import pytest

from perf.harness import powercap
from perf.harness.conditions import Conditions, Counter, Energy, merged
from perf.harness.gpu_reading import GpuLost, Reading
from perf.harness.replies import CaseError
from perf.harness.validity import MAX_REPEATS
from perf.harness.watch import Watch

HOT = Reading(throttle_reasons=("hardware thermal slowdown",))


@pytest.fixture(autouse=True)
def no_cpu_counter(tmp_path, monkeypatch):
    """Whatever this host's kernel counts."""
    monkeypatch.setattr(powercap, "ROOT", tmp_path)


class Worker:
    alive = True
    pid = 100

    def __init__(self) -> None:
        self.asked: list[str] = []

    def request(self, op: str, **fields: Any) -> dict[str, Any]:
        self.asked.append(op)
        return {"seconds": [0.5] * fields.get("rounds", 0), "traces": 0}


class Reader:
    """Answers with the readings in turn, then with the last one again and again."""

    def __init__(self, readings: list[Reading | GpuLost]) -> None:
        self.readings: Iterator[Reading | GpuLost] = iter([*readings, *[readings[-1]] * 100])
        self.closed = 0

    def read(self) -> Reading:
        reading = next(self.readings)
        if isinstance(reading, GpuLost):
            raise reading
        return reading

    def close(self) -> None:
        self.closed += 1


def watched(*readings: Reading | GpuLost, device: str = "gpu", counts_energy: bool = True) -> tuple[Worker, Any, Watch]:
    worker = Worker()
    watch = Watch("GPU-0", counts_energy, open_reader=lambda uuid: Reader(list(readings)))  # type: ignore[arg-type, return-value]
    return worker, watch.over(worker, device), watch


def test_a_block_that_was_hit_is_repeated_and_said():
    worker, ask, _ = watched(Reading(), HOT, Reading())
    reply = ask("run", rounds=2, calls=1)
    assert worker.asked == ["run", "run"]
    assert reply["conditions"].blocks_void == ("the GPU was throttled (hardware thermal slowdown)",)
    assert reply["seconds"] == [0.5, 0.5]


def test_a_block_that_stays_void_fails_the_case():
    worker, ask, _ = watched(HOT)
    with pytest.raises(CaseError, match="4 blocks of rounds in a row were void") as caught:
        ask("run", rounds=2, calls=1)
    assert caught.value.failure.stage == "void"
    assert len(worker.asked) == MAX_REPEATS + 1


def test_a_lost_gpu_fails_the_case():
    _, ask, watch = watched(Reading(), GpuLost("GPU is lost"))
    with pytest.raises(CaseError, match=r"does not answer for the GPU GPU-0 any more \(GPU is lost\)") as caught:
        ask("run", rounds=2, calls=1)
    assert caught.value.failure.stage == "gpu"
    watch.close()


def test_other_requests_pass():
    worker, ask, _ = watched(HOT)
    assert ask("open", case={}) == {"seconds": [], "traces": 0}
    assert worker.asked == ["open"]


def test_a_cpu_case_does_not_mind_the_gpu():
    _, ask, watch = watched(HOT, device="cpu", counts_energy=False)
    assert "conditions" not in ask("run", rounds=1, calls=1)
    assert watch.seconds_at_least("cpu") == 0.0


def test_energy_is_the_difference_over_the_block_that_counts():
    readings = [Reading(joules=10.0), Reading(joules=20.0, throttle_reasons=HOT.throttle_reasons)]
    _, ask, _ = watched(*readings, Reading(joules=30.0), Reading(joules=70.0))
    assert ask("run", rounds=4, calls=1)["conditions"].energy == (Energy(Counter.GPU, 40.0, 2.0, 4),)


def test_without_a_counter_there_is_no_energy():
    _, ask, watch = watched(Reading())
    assert ask("run", rounds=4, calls=1)["conditions"].energy == ()
    assert watch.seconds_at_least("gpu") == 0.0


def test_with_a_counter_a_second_is_timed_where_energy_is_counted():
    assert watched(Reading(joules=1.0))[2].seconds_at_least("gpu") == 1.0
    assert watched(Reading(joules=1.0), counts_energy=False)[2].seconds_at_least("gpu") == 0.0


def test_blocks_add_up():
    one = Conditions(("hot",), ("capped",), (Energy(Counter.GPU, 1.0, 0.5, 2),), 1000, 1100, 50, 100.0)
    two = Conditions((), ("capped", "boost"), (Energy(Counter.GPU, 2.0, 0.5, 3),), 900, 1200, None, 200.0)
    assert merged([one, None, two]) == Conditions(
        ("hot",), ("capped", "boost"), (Energy(Counter.GPU, 3.0, 1.0, 5),), 900, 1200, 50, 200.0
    )
    assert merged([None, None]) is None


def test_energy_of_a_part_of_the_rounds_is_none_of_all():
    counted = Conditions(energy=(Energy(Counter.GPU, 1.0, 0.5, 2),))
    assert merged([counted, Conditions()]) == Conditions()
