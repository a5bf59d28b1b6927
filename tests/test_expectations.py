"""Expectations through ``pytest perf`` on a host with a GPU that is not there: every one of them holding, broken,
inside the band, and too noisy to say. The fake worker has a cost model of such a host.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from lstm_models import workloads
from lstm_models.case import Case
from perf import expectations
from perf.harness.crossover import asserted_sizes
from perf.harness.expectation_records import Kind, State
from perf.harness.paired_evidence import Metric
from tests import fake_costs
from tests.project import Project, refused

#: Seconds and bytes of a host whose GPU wins where it should.
COSTS: dict[str, dict[str, float]] = {
    "cpu": {"fixed": 1e-4, "per_timestep": 2.5e-5, "per_sample": 1e-5, "first_call": 0.1},
    "cpu xla": {"fixed": 5e-5, "per_timestep": 5e-6, "first_call": 0.4},
    "cpu xla host": {"fixed": 2.5e-4},
    "cpu unrolled": {"per_timestep": 1.5e-5, "first_call_per_timestep": 0.01},
    "cpu loop mixed_bfloat16": {"per_timestep": 6e-5},
    "cpu loop backward": {"per_timestep": 6e-5, "per_sample": 3e-5},
    "cpu loop predict": {"fixed": 0.035},
    "cpu loop fit": {"fixed": 2e-3, "per_timestep": 7e-5, "per_sample": 4e-5},
    "gpu": {"fixed": 4e-4, "per_timestep": 1e-5, "per_sample": 2e-7, "bytes_fixed": 1e8, "bytes_per_sample": 1e7},
    "gpu host": {"fixed": 7e-4, "per_sample": 2e-6},
    "gpu loop": {"fixed": 2e-4, "per_timestep": 2e-4},
    "gpu loop predict": {"fixed": 0.045},
    "gpu fit": {"fixed": 6e-3},
    "gpu cudnn mixed_float16": {"per_sample": 5e-8, "bytes_per_sample": 5e6},
}
HOST = expectations.Host(("cpu", "gpu"), frozenset())
EXPECTED, CASES = expectations.of_suite(None, workloads.builtin(), HOST, own=False, profile="smoke")
BY_KEY = {case.key: case for case in CASES}
NEEDS_GPU = tuple(each for each in EXPECTED if "gpu" in (each.first.device, each.second.device))
ON_GPU = tuple(each for each in NEEDS_GPU if each.kind is not Kind.OBSERVED)
OBSERVED = tuple(each for each in EXPECTED if each.kind is Kind.OBSERVED and each not in NEEDS_GPU)
NAMES = " or ".join(each.id for each in ON_GPU)


@pytest.fixture
def gpu_host(project: Project) -> Project:
    project.cases(expectations=True)
    project.with_gpu()
    return project


def costs(case: Case) -> dict[str, Any]:
    return fake_costs.entry(COSTS, case.to_plain())


def laid_over(distance: float) -> dict[str, dict[str, Any]]:
    """One contender of each expectation where it is asserted, so that the promise is missed by ``distance``: the slower
    one is not slow enough, or one of two equals is too slow."""
    entries: dict[str, dict[str, Any]] = {}
    for each in ON_GPU:
        for size in asserted_sizes(each):
            name = "bytes_peak" if each.metric is Metric.MEMORY else "seconds_per_step"
            moved, other = each.second.cases[size], each.first.cases[size]
            factor = each.ratio / distance
            if each.kind is Kind.EQUAL:
                moved, other, factor = other, moved, each.ratio * distance
            value = costs(BY_KEY[other])[name] * factor
            peaks = dict.fromkeys((name, "device_bytes_peak"), round(value))
            entries[moved] = peaks if name == "bytes_peak" else {name: value}
    return entries


def states(result: pytest.RunResult) -> dict[str, int]:
    """Counts by state, from the table's first line."""
    (line,) = [line for line in result.outlines if line.startswith("Expectations:")]
    counts = re.match(r"Expectations: (.*);", line)
    assert counts
    found = {state: int(count) for count, state in re.findall(r"(\d+) ([a-z ]+)", counts[1])}
    return {state.replace("hold", "holds") if state == "hold" else state: count for state, count in found.items()}


def said(result: pytest.RunResult) -> str:
    return " ".join((result.stdout.str() + result.stderr.str()).split())


def test_all_hold_where_the_gpu_wins_where_it_should(gpu_host: Project) -> None:
    gpu_host.script(costs=COSTS)
    result = gpu_host.run("-k", NAMES)
    assert result.ret == 0, said(result)
    assert states(result) == {State.HOLDS: len(ON_GPU)}
    result.assert_outcomes(passed=len(ON_GPU))
    assert "they cross at batch" in said(result)


def test_each_is_broken_where_it_is_missed_by_half(gpu_host: Project) -> None:
    gpu_host.script(costs=COSTS, cases=laid_over(1.5))
    result = gpu_host.run("-k", NAMES)
    assert result.ret == 1, said(result)
    result.assert_outcomes(failed=len(ON_GPU))
    text = said(result)
    for each in ON_GPU:
        assert f"{each.id}: broken: expected was that {each.promise}" in text
        assert each.reason in text
    # the curve as a small table
    assert "batch gpu cudnn cpu loop gpu cudnn / cpu loop, 95 %" in text


def test_each_is_inside_the_band_where_it_is_just_met(gpu_host: Project) -> None:
    gpu_host.script(default={"noise": 0.001, "process_noise": 0.002}, costs=COSTS, cases=laid_over(1.0))
    result = gpu_host.run("-k", NAMES)
    assert result.ret == 0, said(result)
    assert states(result) == {State.IN_BAND: len(ON_GPU)}


def test_each_is_too_noisy_to_say_where_processes_differ_by_a_third(gpu_host: Project) -> None:
    gpu_host.script(default={"process_noise": 0.35}, costs=COSTS, cases=laid_over(1.0))
    result = gpu_host.run("-k", NAMES)
    assert result.ret == 0, said(result)
    # Peaks of memory do not vary in the fake worker.
    assert states(result) == {State.NOISY: len(ON_GPU) - 1, State.IN_BAND: 1}
    assert "--perf-processes K measures more" in said(result)
    result = gpu_host.run("-k", "auto-is-cudnn-fit", "--perf-inconclusive", "fail")
    assert result.ret == 10, said(result)


# A host without a GPU


@pytest.fixture
def cpu_host(project: Project) -> Project:
    project.cases("forward/alpha", expectations=True)
    project.script(costs=COSTS)
    return project


def test_what_needs_a_gpu_is_skipped_and_counted(cpu_host: Project) -> None:
    result = cpu_host.run("-k", "not test_kernel")
    assert result.ret == 0, said(result)
    held = len(EXPECTED) - len(NEEDS_GPU) - len(OBSERVED)
    result.assert_outcomes(passed=held + len(OBSERVED) + 1, skipped=len(NEEDS_GPU))
    assert f"skipped: {len(NEEDS_GPU)} × no gpu is measured here" in said(result)
    assert f"{held} hold, {len(OBSERVED)} observed, {len(NEEDS_GPU)} skipped" in said(result)
    assert "expectations: process 6," in said(result)


def test_a_selection_measures_only_what_it_needs(cpu_host: Project) -> None:
    result = cpu_host.run("-k", "forward-beats-backward", "--perf-processes", "4")
    assert result.ret == 0, said(result)
    log = (cpu_host.path / "script.json.log").read_text()
    opened = {line.split()[2] for line in log.splitlines() if " open " in line}
    assert opened == {f"{path}[translation-b1-cpu-loop-float32]" for path in ("forward", "backward")}
    assert log.count(" open ") == 8


def test_a_broken_one_fails_again_with_last_failed(cpu_host: Project) -> None:
    slow = {"forward[translation-b1-cpu-xla": {"seconds_per_step": 0.01}}
    cpu_host.script(costs=COSTS, cases=slow)
    result = cpu_host.pytester.runpytest_subprocess("perf", "-k", "xla")
    assert result.ret == 1, said(result)
    # Its backward is another case, and its first call does not depend on it.
    result.assert_outcomes(failed=2, passed=2)
    result = cpu_host.pytester.runpytest_subprocess("perf", "--lf")
    result.assert_outcomes(failed=2)
    text = said(result)
    assert "xla-beats-loop-at-batch-1: broken" in text
    assert "batch xla loop xla / loop, 95 %" in text


def test_a_contender_that_cannot_be_measured_fails_its_expectations(cpu_host: Project) -> None:
    cpu_host.script(costs=COSTS, cases={"backward[translation-b1-cpu-loop": {"fault": "problem"}})
    result = cpu_host.run("-k", "backward")
    assert result.ret == 1, said(result)
    assert "a contender could not be measured: the outputs are 0.3 apart" in said(result)


def test_a_budget_that_ends_first_is_not_green_and_names_them(cpu_host: Project) -> None:
    result = cpu_host.run("-k", "xla", "--perf-budget", "0.001s")
    assert result.ret == 10, said(result)
    assert "The budget ended before 4 expectations could be judged" in said(result)


def test_fewer_than_four_processes_say_nothing(cpu_host: Project) -> None:
    result = cpu_host.run("-k", "forward-beats-backward", "--perf-processes", "2")
    assert result.ret == 0, said(result)
    assert states(result) == {State.NOISY: 1}


def test_side_by_side_with_another_environment_they_are_left_out(cpu_host: Project) -> None:
    result = cpu_host.run("--perf-against", "TF_ENABLE_ONEDNN_OPTS=0", "-v")
    assert result.ret == 0, said(result)
    assert "test_expectation" not in said(result)
    assert "expectations are checked without --perf-against" in said(result)


# A user's own file

OWN = """
[expectation.my-layer-is-fast]
kind = "ordering"
workload = "rows"
path = "forward"
first = { kernel = "xla" }
second = { kernel = "loop", variables = { LSTM_PERF_SLOWDOWN = "1.5" } }
batch = 64
ratio = 1.2
reason = "we saw it"
source = "us"
"""


def test_a_users_file_is_checked_with_the_others(cpu_host: Project) -> None:
    (cpu_host.path / "own.toml").write_text(OWN)
    result = cpu_host.run("--perf-expectations", "own.toml", "-k", "my-layer or forward-beats-backward", "-v")
    assert result.ret == 0, said(result)
    assert "test_expectation[my-layer-is-fast] PASSED" in said(result)
    assert "LSTM_PERF_SLOWDOWN=1.5 loop" in said(result)
    assert states(result) == {State.HOLDS: 2}


@pytest.mark.parametrize(
    ("options", "text", "named"),
    [
        ([], "", "holds [expectation.NAME] tables"),
        ([], OWN.replace("ordering", "order"), "kind = 'order' is not allowed"),
        ([], OWN.replace("my-layer-is-fast", "forward-beats-backward"), "built-in expectation of this name"),
        (["--perf-against", "TF_ENABLE_ONEDNN_OPTS=0"], OWN, "--perf-against measures two"),
    ],
)
def test_a_bad_file_is_refused_before_measuring(cpu_host: Project, options: list[str], text: str, named: str) -> None:
    (cpu_host.path / "own.toml").write_text(text)
    assert named in refused(cpu_host.run("--perf-expectations", "own.toml", *options))
    assert cpu_host.opened() == 0


def test_a_file_that_is_not_there_is_refused(cpu_host: Project) -> None:
    assert "cannot be read" in refused(cpu_host.run("--perf-expectations", "nowhere.toml"))


# Then and now


def test_curves_are_kept_promoted_and_shown_side_by_side(cpu_host: Project) -> None:
    assert cpu_host.save("first", "-k", "alpha or xla", costs=COSTS).ret == 0
    done = cpu_host.promote("1")
    assert done.returncode == 0, done.stderr
    assert "with the curves of 4 expectations: xla-beats-loop-at-batch-1" in done.stdout
    moved = {"forward[translation-b64-cpu-xla": {"seconds_per_step": 0.002}}
    cpu_host.script(costs=COSTS, cases=moved)
    result = cpu_host.run("--benchmark-compare", "-k", "alpha or xla")
    assert result.ret == 0, said(result)
    text = said(result)
    assert "Expectations then (0001_first of " in text
    (line,) = [line for line in result.outlines if "they cross above batch 64" in line and "they cross at" in line]
    assert line.index("above batch 64") < line.index("they cross at")
    result = cpu_host.run("--benchmark-compare=first", "-k", "alpha or xla-beats")
    assert "Expectations then (0001_first of " in said(result)
