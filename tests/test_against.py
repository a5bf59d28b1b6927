"""``pytest perf --perf-against SPEC``: two environments side by side, with a fake worker on each side.

The sides differ by a variable, which needs no build; builds have their own tests.
"""

from __future__ import annotations

from typing import Any

import pytest

from perf.harness import paired_file
from tests.project import Project, refused

ALPHA = "forward[alpha-b1-cpu-loop-float32]"
SIDES = ("--perf-against", "FAKE_WORKER_SIDE=baseline", "--perf-candidate", "FAKE_WORKER_SIDE=candidate")


def said(result: pytest.RunResult) -> str:
    return " ".join((result.stdout.str() + result.stderr.str()).split())


def against(
    project: Project, *options: str, candidate: dict[str, Any] | None = None, **script: Any
) -> pytest.RunResult:
    """A paired session in which the candidate's worker differs by ``candidate``."""
    project.script(sides={"candidate": candidate or {}}, **script)
    return project.run(*SIDES, *options)


def test_the_same_on_both_sides_is_green_and_keeps_raw_rounds(project: Project) -> None:
    result = against(project)
    text = said(result)
    assert result.ret == 0, text
    result.assert_outcomes(passed=5)  # three cases, and two settings whose kernels are traced
    assert "6 pairs of processes" in text
    assert "3 unchanged" in text
    (file,) = project.path.glob(".benchmarks/*/paired/*")
    assert file.name in text
    kept = paired_file.read(file)
    assert kept.sides == ("FAKE_WORKER_SIDE=baseline", "FAKE_WORKER_SIDE=candidate")
    assert [len(result.pairs) for result in kept.screening.results.values()] == [6, 6, 6]


def test_a_slower_candidate_is_confirmed_with_fresh_processes_and_fails(project: Project) -> None:
    slower = {"cases": {ALPHA: {"seconds_per_step": 0.0048}}}
    result = against(project, candidate=slower)
    text = said(result)
    assert result.ret == 1, text
    result.assert_outcomes(passed=4, failed=1)
    assert "confirming" in text
    assert "1.2" in text
    assert "python -m lstm_models run" in text
    assert "Traceback" not in text


def test_versions_of_both_sides_stand_above_the_verdicts(project: Project) -> None:
    newer = {"environment": {"versions": {"tensorflow": "9.9.0"}, "packages": {"tensorflow": "9.9.0"}}}
    assert "tensorflow 2.21.0 -> 9.9.0" in said(against(project, candidate=newer))


@pytest.mark.parametrize(
    ("difference", "named"),
    [
        ({"kernel": "unrolled"}, "unrolled"),
        ({"probe": [1.0, -0.4]}, "numbers changed"),
        ({"fault": "kill"}, "SIGKILL"),
    ],
    ids=["kernel", "numbers", "crash"],
)
def test_one_side_that_differs_exactly_fails_that_case_alone(
    project: Project, difference: dict[str, Any], named: str
) -> None:
    result = against(project, candidate={"cases": {ALPHA: difference}})
    text = said(result)
    assert result.ret == 1, text
    result.assert_outcomes(passed=4, failed=1)
    assert named in text
    assert "candidate" in text


def test_a_release_that_lost_cudnn_fails_naming_the_setting(project: Project) -> None:
    lost = {"selection": {"dropout/layer": "loop"}}
    result = against(project, "-k", "test_kernel", candidate=lost)
    text = said(result)
    assert result.ret == 1, text
    result.assert_outcomes(passed=1, failed=1)
    assert "test_kernel[dropout]" in text
    assert "lost cuDNN" in text
    assert project.opened() == 0


def test_a_release_that_gained_cudnn_is_green_and_says_so(project: Project) -> None:
    project.script(sides={"baseline": {"selection": {"dropout/layer": "loop"}}})
    result = project.run(*SIDES, "-k", "test_kernel")
    assert result.ret == 0, said(result)
    assert "gained" in said(result)


def test_a_side_that_cannot_trace_fails_those_tests_with_the_reason(project: Project) -> None:
    result = against(project, "-k", "test_kernel", candidate={"selection_fault": "crash"})
    assert result.ret == 1, said(result)
    result.assert_outcomes(failed=2)
    assert "exit status 3" in said(result)


def test_rounds_that_cannot_be_kept_are_said_and_still_judged(project: Project) -> None:
    (project.path / ".benchmarks").write_text("a file where the folder should be")
    result = against(project)
    text = said(result)
    assert result.ret == 0, text
    assert "3 unchanged" in text
    assert "warning:" in text
    assert "raw rounds of both sides" not in text


def test_an_exhausted_budget_names_what_is_left(project: Project) -> None:
    result = against(project, "--perf-budget", "0.001s")
    assert result.ret == 10, said(result)
    assert "budget" in said(result)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--perf-against", "X=1", "--benchmark-compare"], "two gates"),
        (["--perf-against", "X=1", "--benchmark-save=a"], "--benchmark-save"),
        (["--perf-candidate", "X=1"], "--perf-against"),
        (["--perf-against", "what is this"], "what"),
        (["--perf-against", "./nowhere/bin/python"], "nowhere"),
        (["--perf-against=-r nowhere.txt"], "nowhere.txt"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_no_side_is_refused(project: Project, options: list[str], named: str) -> None:
    assert named in refused(project.run(*options))
    assert project.opened() == 0


def test_collecting_builds_nothing(project: Project) -> None:
    result = project.run("--collect-only", "-q", "--perf-against", "tensorflow==0.0.1")
    assert result.ret == 0, said(result)
