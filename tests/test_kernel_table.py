"""Which kernels Keras would pick on a GPU host, through ``pytest perf``: kept with runs, promoted, compared.

A fake worker answers with a small table of two settings; everything else is the real thing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from perf.harness.runs import read_run
from tests.project import Project, refused
from tests.test_gate import BETA, FIT, edit, said

DROPOUT_LOOPS = {"dropout/layer": "loop", "dropout/bidirectional": "2x loop"}
#: What a newer environment says of itself.
NEWER = {"versions": {"keras": "9.9.9"}}


def asked(project: Project) -> int:
    """How many times a worker was asked for the table since the last :meth:`Project.script`."""
    return (project.path / "script.json.log").read_text().count(" selection")


def table(project: Project) -> dict[str, str] | None:
    """Kernels by row in the newest saved run."""
    found = read_run(project.saved[-1]).selection
    return None if found is None else {row.row: row.kernel for row in found.rows}


# A run


@pytest.mark.parametrize("option", ["--benchmark-save=night", "--benchmark-autosave"])
def test_a_run_keeps_the_table_and_shows_it(project: Project, option: str) -> None:
    result = project.run(option)
    text = said(result)
    assert result.ret == 0, text
    result.assert_outcomes(passed=5)  # three cases and two settings
    assert asked(project) == 1
    assert "Kernel that Keras would pick on a GPU host (tensorflow 2.21.0, keras 3.15.1; found by tracing" in text
    assert "Keras's defaults" in text
    found = table(project)
    assert found is not None
    assert (len(found), found["dropout/bidirectional"]) == (5, "2x cudnn")
    assert read_run(project.saved[-1]).complete


def test_a_worker_that_cannot_trace_fails_those_tests_and_the_cases_are_kept(project: Project) -> None:
    result = project.save(selection_fault="crash")
    assert result.ret == 1, said(result)
    result.assert_outcomes(passed=3, failed=2)
    assert "exit status 3" in said(result)
    assert table(project) is None
    assert len(read_run(project.saved[-1]).cases) == 3


@pytest.mark.parametrize(
    ("expression", "settings", "complete"),
    [("not test_kernel", set(), True), ("forward or dropout", {"dropout"}, False), ("forward", set(), False)],
)
def test_a_selection_keeps_only_what_was_collected(
    project: Project, expression: str, settings: set[str], complete: bool
) -> None:
    assert project.save("part", "-k", expression).ret == 0
    assert {row.split("/")[0] for row in table(project) or {}} == settings
    assert asked(project) == bool(settings)
    assert read_run(project.saved[-1]).complete is complete


def test_the_table_alone_is_no_run(project: Project) -> None:
    result = project.save("kernels", "-k", "test_kernel")
    assert result.ret == 0, said(result)
    result.assert_outcomes(passed=2, deselected=3)
    assert project.saved == []
    assert "The table of kernels alone is no run and was not saved" in said(result)
    assert list(project.path.glob(".benchmarks/*/journal/*")) == []


def test_a_file_that_is_gone_is_no_selection(project: Project) -> None:
    (project.path / "perf" / "test_kernel_selection.py").unlink()
    result = project.run()
    assert result.ret == 10, said(result)
    assert "2 settings are without a collected test: kernel[default], kernel[dropout]" in said(result)


def test_disabled_benchmarks_look_at_nothing(project: Project) -> None:
    result = project.run("--benchmark-disable")
    result.assert_outcomes(skipped=5, errors=1)
    assert result.ret == 10


# Against a baseline


def test_unchanged_kernels_are_green_and_said(project: Project) -> None:
    project.with_baseline()
    result = project.run("--benchmark-compare")
    assert result.ret == 0, said(result)
    assert "No kernel that Keras would pick on a GPU host changed (10 compared)." in said(result)


def test_a_lost_cudnn_fails_naming_setting_and_versions(project: Project) -> None:
    project.with_baseline()
    project.script(selection=DROPOUT_LOOPS, environment=NEWER)
    result = project.run("--benchmark-compare", "--benchmark-save=lost")
    text = said(result)
    assert result.ret == 1, text
    result.assert_outcomes(passed=4, failed=1)
    assert "test_kernel[dropout]" in text
    lost = (
        "dropout=0.2, inference and training: cudnn under keras 3.15.1, loop under keras 9.9.9 (everywhere, 2 places)"
    )
    assert f"lost cuDNN: {lost}" in text
    assert read_run(project.saved[-1]).red.keys() == {"kernel[dropout]"}
    before = project.baseline.read_text()
    done = project.promote("lost")
    assert done.returncode == 0, done.stderr
    assert "red in run 0004_lost" in done.stdout
    promoted = [json.loads(text)["selection"]["dropout"] for text in (before, project.baseline.read_text())]
    assert promoted[0] == promoted[1]


def test_a_gained_cudnn_is_green_and_said(project: Project) -> None:
    assert project.save("before", selection=DROPOUT_LOOPS).ret == 0
    assert project.promote("before").returncode == 0
    project.script(environment=NEWER)
    result = project.run("--benchmark-compare")
    assert result.ret == 0, said(result)
    assert "gained: dropout=0.2, inference and training: loop under keras 3.15.1, cudnn under keras 9.9.9" in said(
        result
    )


def test_a_run_that_was_named_is_compared_with(project: Project) -> None:
    assert project.save("monday").ret == 0
    project.script(selection=DROPOUT_LOOPS)
    result = project.run("--benchmark-compare=monday")
    assert result.ret == 1, said(result)
    assert "cudnn before, loop now, both under tensorflow 2.21.0, keras 3.15.1" in said(result)


def test_what_this_keras_lacks_is_said_and_green(project: Project) -> None:
    project.with_baseline()
    project.script(selection={"dropout/layer": "not comparable"})
    result = project.run("--benchmark-compare")
    assert result.ret == 0, said(result)
    assert "not comparable: dropout=0.2, inference and training" in said(result)


def test_a_baseline_without_a_table_is_not_green_until_one_is_promoted(project: Project) -> None:
    assert project.save("part", "-k", "not test_kernel").ret == 0
    assert project.promote("part").returncode == 0
    project.script()
    result = project.run("--benchmark-compare", "--benchmark-save=whole")
    text = said(result)
    assert result.ret == 10, text
    result.assert_outcomes(passed=5, errors=1)
    assert "the baseline holds none of the kernels that Keras would pick on a GPU host" in text
    assert "2 settings are without a baseline in the table of kernels (new): kernel[default], kernel[dropout]" in text
    assert "python -m perf promote 0002_whole -k kernel --reason TEXT" in text
    done = project.promote("0002_whole", "-k", "kernel")
    assert done.returncode == 0, done.stderr
    assert "2 settings (0 replaced): default, dropout" in done.stdout
    assert "2 promoted, 3 as they were" in done.stdout
    project.script()
    again = project.run("--benchmark-compare")
    assert again.ret == 0, said(again)


def test_files_of_the_first_form_are_read_and_hold_no_table(project: Project) -> None:
    project.with_baseline()

    def first_form(data: Any) -> None:
        data["schema"] = 1
        del data["selection"]

    edit(project.baseline, first_form)
    for file in project.saved:
        edit(file, lambda data: first_form(data["lstm_perf"]))
    result = project.run("--benchmark-compare")
    assert result.ret == 10, said(result)
    assert "3 unchanged" in said(result)
    assert "3 runs" in said(result)
    done = project.promote("1", "2", "3")
    assert done.returncode == 0, done.stderr
    assert json.loads(project.baseline.read_text())["selection"] == {}


def test_a_place_that_is_new_is_not_green(project: Project) -> None:
    project.with_baseline()
    project.script(selection={"dropout/saved": "cudnn"})
    result = project.run("--benchmark-compare")
    assert result.ret == 10, said(result)
    assert "new: dropout/saved is not in the baseline's table of kernels" in said(result)
    assert "looked at in other places than in the baseline (changed): kernel[dropout]" in said(result)


@pytest.mark.parametrize(
    "options",
    [("-k", "forward"), ("-k", "default"), ("perf/test_layer.py",), ("--deselect", "perf/test_kernel_selection.py")],
    ids=" ".join,
)
def test_what_the_user_left_out_is_not_missed(project: Project, options: tuple[str, ...]) -> None:
    project.with_baseline()
    arguments = options if options[0].startswith("perf/") else ("perf", *options)
    result = project.pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments, "--benchmark-compare")
    assert result.ret == 0, said(result)
    assert "missing" not in said(result)


def test_last_failed_looks_at_the_red_setting_alone(project: Project) -> None:
    project.with_baseline()
    project.script(selection=DROPOUT_LOOPS)
    assert project.pytester.runpytest_subprocess("perf", "--benchmark-compare").ret == 1
    project.script(selection=DROPOUT_LOOPS)
    again = project.pytester.runpytest_subprocess("--lf", "perf", "--benchmark-compare")
    assert again.ret == 1, said(again)
    again.assert_outcomes(failed=1)
    project.script()
    better = project.pytester.runpytest_subprocess("--lf", "perf", "--benchmark-compare")
    assert better.ret == 0, said(better)
    better.assert_outcomes(passed=1)
    assert project.opened() == 0


def test_a_setting_that_is_gone_is_missed_until_it_is_retired(project: Project) -> None:
    project.with_baseline()

    def renamed(data: Any) -> None:
        data["selection"]["old"] = json.loads(json.dumps(data["selection"]["dropout"]).replace("dropout/", "old/"))

    edit(project.baseline, renamed)
    result = project.run("--benchmark-compare")
    assert result.ret == 10, said(result)
    assert "1 setting is in the baseline's table of kernels and not looked at (missing): kernel[old]" in said(result)
    assert "python -m perf retire 'kernel[SETTING]'" in said(result)
    done = project.retire("kernel[old]")
    assert (done.returncode, "1 taken out, 5 left" in done.stdout) == (0, True), done.stdout + done.stderr
    project.script()
    assert project.run("--benchmark-compare").ret == 0


def test_settings_of_other_workloads_are_not_missed(project: Project) -> None:
    project.with_baseline()

    def of_another_file(data: Any) -> None:
        data["selection"]["workload:ours"] = json.loads(
            json.dumps(data["selection"]["dropout"])
            .replace("dropout/", "workload:ours/")
            .replace("built-in", "mine.toml")
        )

    edit(project.baseline, of_another_file)
    result = project.run("--benchmark-compare")
    assert result.ret == 0, said(result)


# Damage


def _with(place: tuple[str | int, ...], value: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for step in place[:-1]:
            data = data[step]
        data[place[-1]] = value

    return change


DAMAGE: dict[str, Callable[[Any], None]] = {
    "kernel": _with(("selection", "dropout", "table", "rows", 0, "kernel"), None),
    "mode": _with(("selection", "dropout", "table", "rows", 0, "mode"), "dreaming"),
    "promoted": _with(("selection", "dropout", "promoted"), "yesterday"),
    "rows": _with(("selection", "dropout", "table", "rows"), []),
    "stand under": lambda data: data["selection"].update(other=data["selection"].pop("dropout")),
    "selection": lambda data: data.pop("selection"),
}


@pytest.mark.parametrize("named", DAMAGE)
def test_a_damaged_table_in_the_baseline_is_refused_before_measuring(project: Project, named: str) -> None:
    project.with_baseline(runs=1)
    edit(project.baseline, DAMAGE[named])
    text = refused(project.run("--benchmark-compare"))
    assert project.baseline.name in text
    assert named in text
    assert project.opened() == 0


def test_a_damaged_table_in_a_named_run_is_refused(project: Project) -> None:
    assert project.save("monday").ret == 0
    edit(project.saved[0], lambda data: data["lstm_perf"]["selection"]["rows"].pop())
    project.script()
    text = refused(project.run("--benchmark-compare=monday"))
    assert "lstm_perf.selection.rows" in text
    assert "0001_monday.json" in text


# With cases


def test_a_red_case_and_a_red_kernel_are_both_said(project: Project) -> None:
    project.with_baseline()
    project.script(selection=DROPOUT_LOOPS, cases={FIT: {"kernel": "unrolled"}})
    result = project.run("--benchmark-compare")
    assert result.ret == 1, said(result)
    result.assert_outcomes(passed=3, failed=2)


def test_missing_cases_are_still_missed(project: Project) -> None:
    project.with_baseline()
    project.cases("forward/alpha", "fit/alpha")
    result = project.run("--benchmark-compare")
    assert result.ret == 10, said(result)
    assert f"missing: {BETA}" in said(result)
