"""What stored numbers suspect, decided side by side through ``pytest perf --benchmark-compare``, with a fake worker."""

from __future__ import annotations

import json
from typing import Any

import pytest

from perf.harness import paired_file
from tests.project import Project
from tests.test_gate import ALPHA, edit, said

SLOW = {"seconds_per_step": 0.008}


def test_a_slower_machine_is_a_drift_and_nothing_is_red(project: Project) -> None:
    project.with_baseline()
    project.script(cases={ALPHA: SLOW})  # in whatever environment
    result = project.save("drifted", "--benchmark-compare", cases={ALPHA: SLOW})
    text = said(result)
    assert result.ret == 10, text
    result.assert_outcomes(passed=5, errors=1)
    assert "1 case is drifted with the machine" in text
    assert "it is the machine, or what both sides share" in text
    assert "1 suspect of the stored numbers, 1 measured side by side" in text
    assert json.loads(project.saved[-1].read_text())["lstm_perf"]["red"] == {}
    (file,) = project.path.glob(".benchmarks/*/paired/*.json")
    assert file.name in text
    assert list(paired_file.read(file).outcome().results) == [ALPHA]
    assert not list(project.path.glob(".benchmarks/*/paired/*.jsonl"))


def test_a_slower_framework_on_a_slower_machine_is_red_and_the_rest_drifts(project: Project) -> None:
    project.with_baseline()
    project.upgrade()
    project.script(
        cases={"alpha": SLOW, "beta": SLOW}, sides={"upgraded": {"cases": {ALPHA: {"seconds_per_step": 0.016}}}}
    )
    result = project.run("--benchmark-compare")
    text = said(result)
    assert result.ret == 1, text
    result.assert_outcomes(passed=4, failed=1, errors=0)
    assert "1 regressed, 2 drifted" in text


def test_numbers_that_are_off_by_a_little_are_no_regression_either(project: Project) -> None:
    project.with_baseline()
    edit(project.baseline, lambda data: _scale(data, ALPHA, 0.93))
    result = project.run("--benchmark-compare")
    text = said(result)
    assert "side by side" in text
    assert "regressed" not in text
    assert "1 suspect of the stored numbers, 1 measured side by side" in text
    assert json.loads(next(project.path.glob(".benchmarks/*/paired/*.json")).read_text())["verdicts"] == {
        ALPHA: "unchanged"
    }


def _scale(data: Any, key: str, factor: float) -> None:
    for run in data["cases"][key]["runs"]:
        for sample in run["result"]["samples"]:
            sample["seconds_per_round"] = [seconds * factor for seconds in sample["seconds_per_round"]]


def test_an_environment_that_no_index_has_leaves_it_to_the_stored_numbers(project: Project) -> None:
    project.with_baseline()
    environment = {"packages": {"tensorflow": "2.19.0+ours"}}
    edit(project.baseline, lambda data: [one.update(environment) for one in data["environments"].values()])
    project.script(cases={ALPHA: SLOW})
    result = project.run("--benchmark-compare")
    text = said(result)
    assert result.ret == 1, text
    result.assert_outcomes(passed=4, failed=1)
    assert "decided by the stored numbers alone" in text
    assert "no index has tensorflow 2.19.0+ours" in text


def test_saving_says_that_the_environment_cannot_be_rebuilt(project: Project) -> None:
    result = project.save("private", environment={"packages": {"tensorflow": "2.19.0+ours"}})
    assert result.ret == 0, said(result)
    assert "this environment cannot be rebuilt: no index has tensorflow 2.19.0+ours" in said(result)


def test_of_many_suspects_eight_are_decided_and_the_rest_named(project: Project) -> None:
    project.cases(*(f"forward/w{number}" for number in range(10)))
    for _ in range(3):
        assert project.save().ret == 0
    assert project.promote("1", "2", "3").returncode == 0
    project.script(default={"seconds_per_step": 0.008})
    result = project.run("--benchmark-compare")
    text = said(result)
    assert result.ret == 10, text
    result.assert_outcomes(passed=12, errors=1)
    assert "2 cases are suspected by the stored numbers and not decided side by side" in text
    assert "8 drifted" in text
    assert "2 inconclusive" in text


@pytest.mark.parametrize("fault", ["crash", "unsupported"])
def test_a_case_that_the_baselines_environment_no_longer_runs_is_left_to_the_stored_numbers(
    project: Project, fault: str
) -> None:
    project.with_baseline()
    project.upgrade()
    slow = {"cases": {ALPHA: {**SLOW, "fault": None}}}
    project.script(cases={ALPHA: {"fault": fault, "fault_at": "open"}}, sides={"upgraded": slow})
    result = project.run("--benchmark-compare")
    text = said(result)
    assert result.ret == 1, text
    assert "does not run in the baseline's environment now" in text


def test_pairs_that_cannot_be_kept_are_said_and_still_decided(project: Project) -> None:
    project.with_baseline()
    project.script(cases={ALPHA: SLOW})
    folder = next(project.path.glob(".benchmarks/*"))
    (folder / "paired").write_text("a file where the folder should be")
    result = project.run("--benchmark-compare")
    text = said(result)
    assert result.ret == 10, text
    assert "warning:" in text
    assert "drifted" in text
