"""The gate through ``pytest perf``, each case of bad or good input with its exit status and what it says.

A fake worker speaks the real protocol; everything else is the real thing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.project import Project, refused

ALPHA = "forward[alpha-b1-cpu-loop-float32]"
BETA = "forward[beta-b1-cpu-loop-float32]"
FIT = "fit[alpha-b1-cpu-loop-float32]"


def edit(file: Path, change: Callable[[Any], None]) -> None:
    """Changes a stored file as a hand or an accident would."""
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))


def said(result: pytest.RunResult) -> str:
    """All output with white space folded, so that line breaks do not matter."""
    return " ".join((result.stdout.str() + result.stderr.str()).split())


# Nothing to compare with


def test_no_baseline_is_refused_with_the_commands_that_make_one(project: Project) -> None:
    text = refused(project.run("--benchmark-compare"))
    assert "no baseline for this machine" in text
    assert "pytest perf --benchmark-save=" in text
    assert "python -m perf promote" in text
    assert project.opened() == 0


def test_unknown_run_is_refused_and_lists_what_there_is(project: Project) -> None:
    assert project.save("monday").ret == 0
    project.script()
    text = refused(project.run("--benchmark-compare=tuesday"))
    assert "tuesday" in text
    assert "0001_monday" in text
    assert project.opened() == 0


def test_a_named_run_is_compared_with(project: Project) -> None:
    assert project.save("monday").ret == 0
    project.script()
    result = project.run("--benchmark-compare=monday")
    assert result.ret == 0, said(result)
    assert "0001_monday" in said(result)


# Other hardware, other software


@pytest.mark.parametrize("field", ["cpu", "cores", "gpu"])
def test_baseline_from_other_hardware_is_refused_naming_the_field(project: Project, field: str) -> None:
    project.with_baseline()
    here = json.loads(project.baseline.read_text())["machine"]["identity"][field]
    edit(project.baseline, lambda data: data["machine"]["identity"].update({field: "something else"}))
    text = refused(project.run("--benchmark-compare"))
    assert field in text
    assert here in text
    assert "something else" in text
    assert project.opened() == 0


def test_baseline_of_another_machine_only_names_what_differs(project: Project) -> None:
    project.with_baseline()
    other = project.baseline.with_name("linux-other-machine-00000000.json")
    project.baseline.rename(other)
    edit(other, lambda data: data["machine"].update(id="linux-other-machine-00000000"))
    edit(other, lambda data: data["machine"]["identity"].update(cores="96"))
    text = refused(project.run("--benchmark-compare"))
    assert "cores" in text
    assert "96" in text


def test_other_versions_and_host_name_are_compared_and_shown(project: Project) -> None:
    project.with_baseline()
    edit(project.baseline, lambda data: data["machine"]["informs"].update({"host name": "elsewhere"}))
    new = {"tensorflow": "9.9.0", "keras": "8.8.0", "python": "3.99.0"}
    project.script(environment={"versions": new, "packages": {"tensorflow": "9.9.0", "keras": "8.8.0"}})
    result = project.run("--benchmark-compare")
    text = said(result)
    assert result.ret == 0, text
    for old, now in (("2.21.0", "9.9.0"), ("3.15.1", "8.8.0"), ("3.11.9", "3.99.0")):
        assert old in text
        assert now in text
    assert "3 unchanged" in text


# A baseline file that is not what was written


def without(key: str) -> Callable[[Path], None]:
    return lambda file: edit(file, lambda data: data.pop(key))


def with_time(value: Any) -> Callable[[Path], None]:
    def change(data: Any) -> None:
        data["cases"][ALPHA]["runs"][0]["result"]["samples"][0]["seconds_per_round"][0] = value

    return lambda file: edit(file, change)


NO_TIMES = (float("nan"), float("inf"), 0, -1.0, "fast", None, True, 10**400)
BROKEN: dict[str, Callable[[Path], None]] = {
    "truncated": lambda file: file.write_text(file.read_text()[: len(file.read_text()) // 2]) and None,
    "empty": lambda file: file.write_text("") and None,
    "not JSON": lambda file: file.write_text("PK\x03\x04 this is no JSON") and None,
    "binary": lambda file: file.write_bytes(b"\xff\xfe\x00\x80") and None,
    "a list": lambda file: file.write_text("[]") and None,
    "no environments": lambda file: edit(file, lambda data: data.update(environments={})),
    "newer schema": lambda file: edit(file, lambda data: data.update(schema=99)),
    **{f"{key} missing": without(key) for key in ("schema", "machine", "cases")},
    **{f"time is {value!r:.9}": with_time(value) for value in NO_TIMES},
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_baseline_is_refused_naming_file_and_entry(project: Project, kind: str) -> None:
    project.with_baseline(runs=1)
    BROKEN[kind](project.baseline)
    text = refused(project.run("--benchmark-compare"))
    assert project.baseline.name in text
    if kind.startswith("time is"):
        assert "seconds_per_round" in text or "not finite" in text or "NaN" in text or "Infinity" in text
    if "missing" in kind:
        assert kind.split()[0] in text
    assert project.opened() == 0


def test_broken_named_run_is_refused_and_no_older_one_taken(project: Project) -> None:
    for _ in range(2):
        assert project.save("nightly").ret == 0
    project.script()
    project.saved[-1].write_text(project.saved[-1].read_text()[:1000])
    text = refused(project.run("--benchmark-compare=2"))
    assert project.saved[-1].name in text
    assert project.opened() == 0


# Cases that come and go


def test_renamed_removed_and_added_cases_are_named_and_not_green(project: Project) -> None:
    project.with_baseline()
    project.cases("forward/renamed", "forward/beta")
    result = project.run("--benchmark-compare")
    text = said(result)
    assert result.ret == 10, text
    assert "2 cases are in the baseline and not measured (missing)" in text
    assert "1 case is without a baseline (new): forward[renamed-b1-cpu-loop-float32]" in text
    assert ALPHA in text
    assert FIT in text
    assert "python -m perf promote" in text
    assert result.stdout.str().rstrip().splitlines()[-1].count("1 error") == 1
    assert "python -m perf retire" in text
    done = project.retire(ALPHA, FIT)
    assert done.returncode == 0, done.stderr
    assert list(json.loads(project.baseline.read_text())["cases"]) == [BETA]
    assert project.retire(ALPHA).returncode == 4
    assert project.retire(BETA).returncode == 4  # an empty baseline is none


@pytest.mark.parametrize(
    ("cases", "named"),
    [
        (("forward/alpha", "forward/beta"), f"missing): {FIT}"),
        (("forward/alpha", "forward/beta", "fit/alpha", "fit/beta"), "new): fit[beta-b1-cpu-loop-float32]"),
    ],
    ids=["removed", "added"],
)
def test_one_case_removed_or_added_is_not_green(project: Project, cases: tuple[str, ...], named: str) -> None:
    project.with_baseline()
    project.cases(*cases)
    result = project.run("--benchmark-compare")
    assert result.ret == 10, said(result)
    assert named in said(result)


def test_a_selection_compares_only_that_and_is_saved_as_partial(project: Project) -> None:
    project.with_baseline()
    before = json.loads(project.baseline.read_text())
    result = project.save("part", "--benchmark-compare", "-k", "test_fit", cases={"fit": {"seconds_per_step": 0.004}})
    text = said(result)
    assert result.ret == 0, text
    assert "2 deselected" in text
    assert "(partial)" in text
    assert json.loads(project.saved[-1].read_text())["lstm_perf"]["complete"] is False
    done = project.promote("4")
    assert done.returncode == 0, done.stderr
    after = json.loads(project.baseline.read_text())
    for key in (ALPHA, BETA):
        assert after["cases"][key] == before["cases"][key]
    assert after["cases"][FIT] != before["cases"][FIT]


def test_a_test_that_is_gone_is_no_selection(project: Project) -> None:
    project.with_baseline()
    (project.path / "perf" / "test_model.py").unlink()
    result = project.run("--benchmark-compare")
    assert result.ret == 10, said(result)
    assert f"1 case is without a collected test: {FIT}" in said(result)
    assert f"(missing): {FIT}" in said(result)
    result = project.run()
    assert result.ret == 10, said(result)


def test_other_profiles_and_other_workloads_are_not_missed(project: Project) -> None:
    project.cases("forward/alpha", nightly=("forward/beta",))
    assert project.save("all", "--perf-profile", "nightly").ret == 0
    assert project.promote("1").returncode == 0
    project.script()
    assert project.run("--benchmark-compare").ret == 0
    project.cases("forward/alpha")
    result = project.run("--benchmark-compare", "--perf-profile", "nightly")
    assert result.ret == 10
    assert f"(missing): {BETA}" in said(result)
    project.cases("forward/own")
    result = project.run("--benchmark-compare", "--perf-workloads", "own.toml")
    assert "missing" not in said(result)
    assert "(new): forward[own-b1-cpu-loop-float32]" in said(result)


def test_a_node_id_is_a_selection_too(project: Project) -> None:
    project.with_baseline()
    node = f"perf/test_layer.py::test_forward[{ALPHA[8:-1]}]"
    result = project.pytester.runpytest_subprocess(node, "--benchmark-compare")
    assert result.ret == 0, said(result)
    assert "1 unchanged" in said(result)


# Nothing measured


def test_all_cases_skipped_is_not_green(project: Project) -> None:
    project.cases(skipped={"forward/alpha": "cudnn on cpu", "fit/alpha": "cudnn on cpu"})
    result = project.run()
    assert result.ret == 10, said(result)
    assert "Nothing was measured" in said(result)
    assert "cudnn on cpu" in said(result)


def test_disabled_benchmarks_are_not_green(project: Project) -> None:
    result = project.run("--benchmark-disable")
    assert result.ret == 10, said(result)
    assert "Nothing was measured" in said(result)


@pytest.mark.parametrize("option", ["--benchmark-disable", "--benchmark-skip"])
def test_comparing_with_benchmarks_off_is_refused(project: Project, option: str) -> None:
    project.with_baseline(runs=1)
    assert option in refused(project.run("--benchmark-compare", option))


@pytest.mark.parametrize("options", [("-n", "2"), ("-n", "2", "--benchmark-compare")])
def test_xdist_is_refused(project: Project, options: tuple[str, ...]) -> None:
    text = refused(project.run(*options))
    assert "will not measure or gate under pytest-xdist" in text
    assert project.opened() == 0


def test_a_gpu_that_is_not_there_skips_its_cases_with_the_reason(project: Project) -> None:
    result = project.run("--perf-device", "gpu")
    assert result.ret == 10, said(result)
    assert "no GPU:" in said(result)


def test_a_required_gpu_that_is_not_there_is_refused(project: Project) -> None:
    assert "--perf-require gpu" in refused(project.run("--perf-require", "gpu"))
    assert project.opened() == 0


# Regressions


def test_twice_as_slow_fails_that_test_with_a_message_to_act_on(project: Project) -> None:
    project.with_baseline()
    project.upgrade(cases={ALPHA: {"seconds_per_step": 0.008}})
    result = project.run("--benchmark-compare")
    text = said(result)
    assert result.ret == 1, text
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["FAILED perf/test_layer.py::test_forward?alpha-b1-cpu-loop-float32?*"])
    baseline = json.loads(project.baseline.read_text())["cases"][ALPHA]
    assert "2.0" in text
    assert baseline["promoted"][:10] in text
    for part in (project.baseline.name, "2.21.0", "3.15.1", "python -m lstm_models run", "absent -> upgraded"):
        assert part in text, part
    assert "Traceback" not in text


def test_twice_as_slow_is_red_with_a_single_run_behind_the_baseline(project: Project) -> None:
    project.with_baseline(runs=1)
    project.upgrade(cases={ALPHA: {"seconds_per_step": 0.0082}})
    result = project.run("--benchmark-compare")
    result.assert_outcomes(passed=4, failed=1)


def test_faster_is_improved_and_green(project: Project) -> None:
    project.with_baseline()
    project.script(cases={ALPHA: {"seconds_per_step": 0.002}})
    result = project.run("--benchmark-compare")
    assert result.ret == 0, said(result)
    assert "1 improved" in said(result)


def test_a_red_run_is_kept_cannot_be_promoted_and_moves_nothing(project: Project) -> None:
    project.with_baseline()
    before = project.baseline.read_text()
    project.upgrade(cases={ALPHA: {"seconds_per_step": 0.008}})
    assert project.run("--benchmark-compare", "--benchmark-save=slow").ret == 1
    assert len(project.saved) == 4
    done = project.promote("slow", "-k", "alpha and forward")
    assert done.returncode == 4
    assert ALPHA in done.stderr
    assert project.baseline.read_text() == before


def test_a_saved_regression_stays_red_night_after_night(project: Project) -> None:
    names = [f"forward/w{number}" for number in range(20)]
    project.cases(*names)
    for _ in range(3):
        assert project.save().ret == 0
    assert project.promote("1", "2", "3").returncode == 0
    nights = []
    for _ in range(3):
        project.upgrade(cases={"forward[w7-": {"seconds_per_step": 0.008}})
        nights.append(project.run("--benchmark-compare", "--benchmark-save=nightly"))
    assert [night.ret for night in nights] == [1, 1, 1]
    for night in nights:
        night.assert_outcomes(passed=21, failed=1)


def test_fewer_processes_than_the_baselines_are_refused(project: Project) -> None:
    project.with_baseline()
    assert "--perf-processes 2" in refused(project.run("--benchmark-compare", "--perf-processes", "2"))


def test_a_run_in_which_nothing_was_judged_is_not_green(project: Project) -> None:
    project.with_baseline()
    project.script(default={"drift": 30.0, "drift_rounds": 70})
    result = project.run("--benchmark-compare")
    assert result.ret == 10, said(result)
    assert "(unsteady)" in said(result)
    assert "nothing judged is never green" in said(result)


def test_nights_each_four_percent_slower_are_red_by_the_third(project: Project) -> None:
    project.with_baseline()
    statuses = []
    for night in range(1, 6):
        project.upgrade(default={"noise": 0.01, "process_noise": 0.005, "seconds_per_step": 0.004 * 1.04**night})
        statuses.append(project.run("--benchmark-compare", "--benchmark-save=nightly").ret)
    assert statuses[2:] == [1] * 3, statuses


def test_another_kernel_fails_whatever_the_time(project: Project) -> None:
    project.with_baseline()
    edit(
        project.baseline,
        lambda data: [
            sample["facts"].update(kernel="cudnn")
            for run in data["cases"][ALPHA]["runs"]
            for sample in run["result"]["samples"]
        ],
    )
    result = project.run("--benchmark-compare")
    text = said(result)
    assert result.ret == 1, text
    result.assert_outcomes(passed=4, failed=1)
    assert "kernel changed" in text
    assert "cudnn" in text
    assert "loop" in text


def test_other_numbers_fail_whatever_the_time(project: Project) -> None:
    project.with_baseline()
    project.script(cases={ALPHA: {"probe": [1.0, -0.4]}})
    result = project.run("--benchmark-compare")
    assert result.ret == 1, said(result)
    assert "numbers changed" in said(result)


# Faults of single cases


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ({"fault": "kill"}, "SIGKILL"),
        ({"fault": "crash", "stderr": "the last words"}, "the last words"),
        ({"fault": "exception"}, "exception"),
        ({"fault": "nan"}, "seconds"),
        ({"fault": "zero"}, "seconds"),
        ({"fault": "nonsense"}, "protocol"),
        ({"fault": "problem", "fault_at": "open"}, "tolerated"),
        ({"traces": 1}, "trace"),
        ({"kernel": "unrolled"}, "unrolled"),
        ({"device": "gpu"}, "gpu"),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_a_case_that_goes_wrong_fails_alone(project: Project, fault: dict[str, Any], told: str) -> None:
    project.with_baseline()
    result = project.save("bad", "--benchmark-compare", cases={ALPHA: fault})
    text = said(result)
    assert result.ret == 1, text
    result.assert_outcomes(passed=4, failed=1)
    assert told in text
    assert "2 unchanged" in text
    assert "INTERNALERROR" not in text
    assert ALPHA in json.loads(project.saved[-1].read_text())["lstm_perf"]["failed"]


def test_a_hanging_case_ends_at_the_time_limit(project: Project) -> None:
    project.script(cases={ALPHA: {"fault": "hang"}})
    result = project.run("--perf-timeout", "1.5", "--perf-processes", "2")
    assert result.ret == 1, said(result)
    result.assert_outcomes(passed=4, failed=1)
    assert "--perf-timeout" in said(result)


def test_a_worker_that_cannot_start_fails_every_case_with_the_reason(project: Project) -> None:
    project.script(startup="import")
    result = project.run()
    assert result.ret == 1, said(result)
    result.assert_outcomes(failed=5)
    assert "No module named 'tensorflow'" in said(result)


def test_a_worker_that_prints_does_not_break_the_protocol(project: Project) -> None:
    project.script(default={"fault": "print"})
    result = project.run()
    result.assert_outcomes(passed=5)


# Undecided


def test_inconclusive_is_green_unless_it_is_to_fail(project: Project) -> None:
    project.with_baseline(runs=1)
    result = project.run("--benchmark-compare")
    assert result.ret == 0, said(result)
    assert "3 inconclusive" in said(result)
    result = project.run("--benchmark-compare", "--perf-inconclusive", "fail")
    assert result.ret == 10, said(result)
    assert "--perf-inconclusive" in said(result)


def test_a_case_whose_work_changed_is_not_judged_and_not_green(project: Project) -> None:
    project.with_baseline()
    edit(
        project.baseline,
        lambda data: [
            data["cases"][ALPHA].update(hash="f" * 16),
            [run["result"]["spec"].update(hash="f" * 16) for run in data["cases"][ALPHA]["runs"]],
        ],
    )
    result = project.run("--benchmark-compare")
    assert result.ret == 10, said(result)
    assert "case changed" in said(result)
