"""Energy by device, and where a GPU begins to need less of it."""

import math

import pytest

from perf.harness.conditions import Conditions, Counter, Energy
from perf.harness.energy import counted_per_step, crossings, joules_per_step
from perf.harness.records import CaseResult
from perf.harness.report.energy import energy_lines
from tests.harness import makers


def case(device: str, batch: int, joules: list[float], *, cpu: bool = True, kernel: str = "loop") -> CaseResult:
    """A case whose processes needed so many joules per step, all of it on its device."""
    key = f"forward[w-b{batch}-{device}-{kernel}-float32]"
    spec = makers.spec(key=key, id=key, workload="w", batch=batch, device=device, kernel=kernel)
    samples = []
    for process, one in enumerate(joules):
        counted = {Counter.GPU: one if device == "gpu" else 0.0, Counter.CPU: one if device == "cpu" else 1e-9}
        energy = tuple(
            Energy(counter, value * 40, 1.0, 10)  # 10 rounds of 4 steps
            for counter, value in counted.items()
            if (cpu or counter is Counter.GPU) and (device == "gpu" or counter is Counter.CPU)
        )
        samples.append(makers.sample(0.01, process, conditions=Conditions(energy=energy)))
    return CaseResult(spec, tuple(samples))


def keyed(*results: CaseResult) -> dict[str, CaseResult]:
    return {result.spec.key: result for result in results}


def test_a_gpu_case_needs_the_cpu_too():
    (sample,) = case("gpu", 1, [2.0]).samples
    assert joules_per_step(sample, "gpu") == pytest.approx(2.0)
    (alone,) = case("gpu", 1, [2.0], cpu=False).samples
    assert joules_per_step(alone, "gpu") is None
    assert counted_per_step(alone, Counter.GPU) == pytest.approx(2.0)
    assert counted_per_step(makers.sample(), Counter.CPU) is None


def test_a_counter_that_stood_still_counted_nothing():
    (sample,) = case("gpu", 1, [0.0]).samples
    assert counted_per_step(sample, Counter.GPU) is None


def test_the_crossing_is_where_both_need_the_same():
    # The CPU needs 1 J a sample; the GPU 4 J a step and 0.25 J a sample: they meet where 4 / b + 0.25 = 1.
    results = []
    for batch in (1, 4, 16, 64):
        results += [case("cpu", batch, [batch, 1.1 * batch]), case("gpu", batch, [4 + batch / 4, 4 + batch / 4])]
    (found,) = crossings(keyed(*results))
    assert found.cpu[16] == pytest.approx(1.05)
    assert found.crossings[0] == pytest.approx(16 / 3, rel=0.1)  # interpolated between 4 and 16
    assert found.crossings[1] < found.crossings[0]
    assert "the GPU needs less from batch 5 on, 5–6 in 2 processes" in energy_lines(keyed(*results), {})


@pytest.mark.parametrize(
    ("gpu", "crossing", "text"),
    [
        ([5.0, 200.0], math.inf, "the CPU needs less at every batch"),
        ([0.5, 2.0], 0.0, "the GPU needs less at every batch"),
    ],
)
def test_curves_that_do_not_cross(gpu, crossing, text):
    results = keyed(case("cpu", 1, [1.0]), case("cpu", 64, [64.0]), case("gpu", 1, [gpu[0]]), case("gpu", 64, [gpu[1]]))
    (found,) = crossings(results)
    assert found.crossings == (crossing,)
    assert text in energy_lines(results, {})


def test_the_least_of_each_device_counts():
    results = [case("gpu", 1, [9.0]), case("gpu", 1, [3.0], kernel="cudnn"), case("cpu", 1, [1.0])]
    results += [case("gpu", 8, [3.0], kernel="cudnn"), case("cpu", 8, [8.0])]
    (found,) = crossings(keyed(*results))
    assert found.kernels == {1: ("loop", "cudnn"), 8: ("loop", "cudnn")}
    assert (found.gpu[1], found.gpu[8]) == (pytest.approx(3.0), pytest.approx(0.375))


def test_what_is_not_counted_crosses_nowhere_and_is_said():
    results = keyed(case("gpu", 1, [2.0], cpu=False), case("gpu", 8, [2.0], cpu=False), makers.result(0.01))
    assert crossings(results) == ()
    text = energy_lines(results, {Counter.CPU: "there is no counter"})
    assert "energy of the CPU is not counted: there is no counter." in text
    assert "GPU per step" in text
    assert "CPU per step" not in text
    assert max(map(len, text.splitlines())) <= 120
    assert energy_lines({}, {Counter.CPU: "there is no counter"}) == ""
