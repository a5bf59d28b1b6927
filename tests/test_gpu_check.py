"""``pytest perf --perf-profile gpu-check`` on GPU hosts that are not there: a sound one, and one thing otherwise on
each."""

from __future__ import annotations

import json
from typing import Any

import pytest

from perf.harness.gpu_check.assumptions import assumptions
from perf.harness.gpu_check.judging import CHECKS
from tests.fake_hosts import (
    BROKEN_ASSUMPTIONS,
    BROKEN_DRIVERS,
    BROKEN_TOGETHER,
    SOUND_HOST,
    Host,
    broken_together,
)
from tests.harness.gpu_check.test_checks import OTHERWISE
from tests.project import CHECKOUT, Project, refused

#: Those that matter where Keras runs on TensorFlow.
LISTED = [one for one in assumptions() if not one.framework]
CHECKED = {one.id for one in LISTED if not one.unchecked}


def said(result: pytest.RunResult) -> str:
    return " ".join((result.stdout.str() + result.stderr.str()).split())


def on(project: Project, host: Host) -> None:
    project.cases(real=True)
    project.with_gpu(**host.nvml)
    project.script(costs=host.costs, **host.script)


def check(project: Project, *args: str) -> pytest.RunResult:
    return project.run("--perf-profile", "gpu-check", *args)


def kept(project: Project) -> dict[str, Any]:
    (file,) = project.path.glob(".benchmarks/*/gpu-check/*.json")
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def outcomes(project: Project, outcome: str) -> set[str]:
    return {id for id, one in kept(project)["assumptions"].items() if one["outcome"] == outcome}


def test_on_a_sound_host_all_that_can_be_checked_holds(project: Project) -> None:
    on(project, SOUND_HOST)
    result = check(project)
    assert result.ret == 0, said(result)
    assert outcomes(project, "not held") == set()
    assert outcomes(project, "held") == CHECKED
    result.assert_outcomes(passed=len(CHECKED), skipped=len(LISTED) - len(CHECKED))
    text = said(result)
    assert f"{len(CHECKED)} held, 0 not held, {len(LISTED) - len(CHECKED)} not checked here" in text
    assert "kept: .benchmarks" in text
    found = kept(project)
    assert found["ratios"]["forward layer-128-b32: loop on gpu / cudnn on gpu"] > 10
    assert found["ratios"]["forward layer-128-b32: loop on cpu / cudnn on gpu"] > 1
    assert len(found["pair"]["ratios"]) == 20
    assert found["peaks"][0]["transfer"]["seconds_per_mib"] > 0
    assert found["cases"]["forward[layer-128-b32-gpu-cudnn-float32]"]["gpu_joules_per_step"] > 0
    assert len(json.dumps(found)) < 50_000


@pytest.mark.parametrize("ids", BROKEN_TOGETHER, ids=lambda ids: ids[0])
def test_what_is_otherwise_is_said(project: Project, ids: tuple[str, ...]) -> None:
    on(project, broken_together(ids))
    result = check(project, "--perf-timeout", "3" if "time-limit-enough" in ids else "60")
    text = said(result)
    assert result.ret == 1, text
    found = kept(project)["assumptions"]
    for id in ids:
        assert found[id]["outcome"] == "not held", id
        assert {**BROKEN_ASSUMPTIONS, **BROKEN_DRIVERS}[id][1] in found[id]["said"]
        assert f"{id}: " in text
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text


def test_one_assumption_can_be_asked_for(project: Project) -> None:
    on(project, SOUND_HOST)
    result = check(project, "-k", "cudnn-in-the-graph")
    assert result.ret == 0, said(result)
    assert "1 held, 0 not held, 0 not checked here" in said(result)


def test_a_worker_that_cannot_start_leaves_everything_unchecked_with_its_reason(project: Project) -> None:
    on(project, SOUND_HOST.broken(startup="import", startup_process=2))
    result = check(project)
    assert result.ret == 10, said(result)
    assert "could not import what it needs" in kept(project)["assumptions"]["cudnn-in-the-graph"]["said"]


@pytest.mark.parametrize("budget", ["0.001s", "3s"])
def test_it_stops_in_time_and_says_what_it_did_not_check(project: Project, budget: str) -> None:
    hangs = {"-gpu-loop-float32": {"fault": "hang", "fault_at": "open"}}
    on(project, SOUND_HOST.broken(cases={**SOUND_HOST.script["cases"], **hangs}))
    result = check(project, "--perf-budget", budget)
    text = said(result)
    assert result.ret == 10, text
    assert "could not be checked, " in text
    assert f"because: the time limit of {float(budget[:-1]):g} s ended before: " in text
    assert "not checked here" in text
    assert kept(project)["seconds"] < 60


def test_without_a_gpu_it_is_refused_with_the_reasons_of_nvml_and_of_the_framework(project: Project) -> None:
    project.with_gpu(init_error="Driver Not Loaded")
    text = refused(check(project))
    assert "--perf-profile gpu-check: The NVIDIA driver does not answer (Driver Not Loaded)" in text
    project.with_gpu()
    project.script(environment={"versions": {"cuda": "12.5", "cudnn": "9"}, "devices": ["CPU:0"]})
    text = refused(check(project))
    assert "--perf-profile gpu-check: NVML lists 0 (NVIDIA H200, GPU-0)" in text
    assert "built for CUDA 12.5" in text
    assert project.opened() == 0


@pytest.mark.parametrize("option", [["--benchmark-compare"], ["--perf-against", "A=1"], ["--benchmark-save=a"]])
def test_what_does_not_go_with_it_is_refused(project: Project, option: list[str]) -> None:
    project.with_gpu()
    assert "--perf-profile gpu-check checks what the suite takes for granted" in refused(check(project, *option))


def test_in_other_profiles_no_assumption_is_a_test(project: Project) -> None:
    result = project.run("--collect-only", "-q")
    assert "test_assumption" not in said(result)
    assert "test_forward" in said(result)


# The list itself


def rows() -> list[tuple[str, ...]]:
    """Group, id, text, where and check, as the documentation's tables say them."""
    group, found = "", []
    text = (CHECKOUT / "docs" / "gpu-runner.md").read_text()
    for line in text[text.index("## What the suite takes for granted") :].splitlines():
        if line.endswith(":") and line[0].isupper():
            group = line[:-1]
        elif line.startswith("| `"):
            id, *cells = (cell.strip() for cell in line.strip("|").split(" | "))
            found.append((group, id.strip("` "), *cells))
    return found


def test_every_row_of_the_documentation_has_its_record_and_the_other_way_round() -> None:
    assert rows() == [(one.group, one.id, one.text, one.where, one.check) for one in assumptions()]


def test_each_has_a_check_or_a_reason() -> None:
    assert {one.id for one in assumptions() if not one.unchecked} == set(CHECKS)


def test_each_check_is_seen_to_fail() -> None:
    """Here on a host that is not there, or in test_checks on evidence that was made up."""
    assert set(BROKEN_ASSUMPTIONS) | set(BROKEN_DRIVERS) | set(OTHERWISE) == CHECKED
