"""The whole suite through ``pytest perf`` on GPU hosts that are not there: sound ones, and every way to be broken."""

from __future__ import annotations

import pytest

from perf.harness import runs
from perf.harness.conditions import Counter
from perf.harness.energy import counted_per_step
from tests import fake_hosts
from tests.fake_hosts import FAULTS, Host
from tests.project import Project


def said(result: pytest.RunResult) -> str:
    return " ".join((result.stdout.str() + result.stderr.str()).split())


def on(project: Project, host: Host) -> None:
    """From now on the project runs there, with the real cases of the smoke profile."""
    project.cases(real=True)
    project.with_gpu(**host.nvml)
    project.script(costs=host.costs, **host.script)


def run(project: Project, *args: str) -> pytest.RunResult:
    return project.run("--perf-processes", "1", "-k", "not kernel_selection", *args)


def test_an_a100_is_measured(project: Project) -> None:
    on(project, fake_hosts.A100_HOST)
    result = run(project, "--benchmark-save=a100", "--perf-require", "gpu")
    text = said(result)
    assert result.ret == 0, text
    assert "20 measured; nothing was compared" in text
    assert "gpu: 0 (NVIDIA A100-SXM4-40GB, GPU-0), the only one" in text
    assert "peak GPU MiB" in text
    assert "void and repeated" not in text
    stored = runs.read_run(project.saved[0])
    assert stored.machine.identity["gpu"] == "NVIDIA A100-SXM4-40GB 40 GiB 400 W"
    (sample,) = stored.cases["forward[translation-b32-gpu-cudnn-float32]"].samples
    assert sample.device_bytes_peak is not None
    assert sample.conditions is not None
    assert (sample.conditions.sm_clock_mhz_lowest, sample.conditions.celsius_highest) == (1410, 45)


def test_energy_is_what_the_board_drew_while_the_rounds_ran(project: Project) -> None:
    on(project, fake_hosts.A100_HOST)
    result = run(project, "--benchmark-save=a100")
    assert "GPU per step" in said(result)
    assert "energy of the CPU is not counted: this host has no counter" in said(result)
    for case in runs.read_run(project.saved[0]).cases.values():
        (sample,) = case.samples
        joules = counted_per_step(sample, Counter.GPU)
        if case.spec.device == "cpu":
            assert joules is None
            continue
        assert sum(sample.seconds_per_round) >= 1.0
        mean = sum(sample.seconds_per_round) / len(sample.seconds_per_round) / sample.steps_per_round
        assert joules == pytest.approx(210.0 * mean, rel=0.01)


def test_without_a_counter_of_energy_its_reason_is_shown(project: Project) -> None:
    on(project, fake_hosts.A100_HOST.broken(nvml={"energy_counter": False}))
    result = run(project)
    assert result.ret == 0, said(result)
    assert "energy of the GPU is not counted: this GPU or its driver has no counter" in said(result)
    assert "per sample watts" not in said(result)


def test_a_t4_at_its_power_cap_is_measured_and_it_is_noted(project: Project) -> None:
    on(project, fake_hosts.T4_HOST)
    result = run(project)
    assert result.ret == 0, said(result)
    assert "noted of the GPU: software power cap (in 10 cases)" in said(result)


def test_a_block_that_was_hit_is_repeated_and_said(project: Project) -> None:
    now_and_then = {"from": 5, "every": 5, "throttle_reasons": fake_hosts.POWER_BRAKE}
    on(project, fake_hosts.T4_HOST.broken(nvml={"changes": [now_and_then]}))
    result = run(project, "--benchmark-save=hit")
    assert result.ret == 0, said(result)
    why = "the GPU was throttled (hardware power brake, 74 °C, 68 W, SM clock 1005 MHz)"
    assert "void and repeated:" in said(result)
    assert why in said(result)
    cases = runs.read_run(project.saved[0]).cases.values()
    void = [sample.conditions.blocks_void for case in cases for sample in case.samples if sample.conditions]
    assert {text for texts in void for text in texts} == {why}


def test_side_by_side_blocks_are_watched_too(project: Project) -> None:
    now_and_then = {"from": 5, "every": 5, "throttle_reasons": fake_hosts.POWER_BRAKE}
    on(project, fake_hosts.T4_HOST.broken(nvml={"changes": [now_and_then]}))
    result = project.run("--perf-against", "TF_ENABLE_ONEDNN_OPTS=0", "-k", "fit and cudnn")
    assert result.ret == 0, said(result)
    assert "1 unchanged" in said(result)
    assert "of rounds of fit[translation-b32-gpu-cudnn-float32]: the GPU was throttled" in said(result)
    assert "another process" not in said(result)  # the two workers are ours


def test_blocks_of_expectations_are_watched_too(project: Project) -> None:
    now_and_then = {"from": 5, "every": 5, "throttle_reasons": fake_hosts.POWER_BRAKE}
    on(project, fake_hosts.T4_HOST.broken(nvml={"changes": [now_and_then]}))
    project.cases(real=True, expectations=True)
    result = project.run("--perf-processes", "4", "-k", "fit-gains-from-cudnn")
    assert result.ret == 0, said(result)
    assert "of rounds of fit[layer-128-b32-gpu-cudnn-float32]: the GPU was throttled" in said(result)


def test_devices_cross_in_energy_elsewhere_than_in_time(project: Project) -> None:
    on(project, fake_hosts.A100_HOST)
    project.with_cpu_counter(watts=65.0)
    result = project.run("--perf-processes", "2", "-k", "forward and translation")
    assert result.ret == 0, said(result)
    text = said(result)
    assert "GPU per step CPU per step per sample" in text
    assert "is not counted" not in text
    assert "energy per sample, forward translation float32: the CPU needs less at every batch" in text
    assert "gpu cudnn" in text


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_host_fails_with_its_reason(project: Project, fault: str) -> None:
    host, parts = FAULTS[fault]
    on(project, host)
    result = run(project, "--perf-timeout", "3" if "hangs" in fault else "60")
    text = said(result)
    assert result.ret == 1, text
    for part in parts:
        assert part in text, part
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
