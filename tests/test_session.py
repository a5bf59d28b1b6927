"""What a person meets at the command line: files, selection, interruption, wrong usage."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from perf.harness import runs
from perf.harness.replay import replay_timer
from tests.fake_suite import CHECKOUT
from tests.project import Project, refused


def said(result: pytest.RunResult) -> str:
    return " ".join((result.stdout.str() + result.stderr.str()).split())


# The file


def test_the_saved_run_is_a_plain_pytest_benchmark_file(project: Project) -> None:
    assert project.save("one").ret == 0
    assert project.save("two").ret == 0
    text = project.saved[0].read_text()
    assert "UNSERIALIZABLE" not in text
    data = json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} in the file"))
    assert len(data["benchmarks"]) == 3
    for command in (["compare", "--csv=out"], ["list"]):
        done = subprocess.run(
            [sys.executable, "-m", "pytest_benchmark", *command],
            cwd=project.path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "0001_one" in done.stdout
    assert "test_forward[alpha-b1-cpu-loop-float32]" in (project.path / "out.csv").read_text()


def test_pytest_benchmarks_statistics_are_those_of_the_raw_rounds(project: Project) -> None:
    assert project.save(default={"process_noise": 0.1}).ret == 0
    run = runs.read_run(project.saved[0])
    for bench in json.loads(project.saved[0].read_text())["benchmarks"]:
        key = bench["extra_info"]["lstm_perf"]["spec"]["key"]
        samples = run.cases[key].samples
        assert [sample.process for sample in samples] == [1, 2, 3]
        per_step = [seconds / sample.steps_per_round for sample in samples for seconds in sample.seconds_per_round]
        assert bench["stats"]["rounds"] == len(per_step)
        assert bench["stats"]["mean"] == pytest.approx(sum(per_step) / len(per_step), rel=1e-6)
        assert bench["stats"]["min"] == pytest.approx(min(per_step), rel=1e-6)
        assert bench["stats"]["max"] == pytest.approx(max(per_step), rel=1e-6)


def test_the_replay_timer_passes_one_round_between_two_readings() -> None:
    timer = replay_timer([0.25, 0.1, 3.0])
    spans = []
    for _ in range(3):
        start = timer()
        spans.append(timer() - start)
    assert spans == [0.25, 0.1, 3.0]


def test_a_run_that_cannot_be_saved_says_so_and_is_not_green(project: Project) -> None:
    folder = project.path / ".benchmarks"
    folder.write_text("a file where the folder should be")
    result = project.save("lost")
    text = said(result)
    assert result.ret == 10, text
    assert "could not be saved" in text
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text


# Where and how it is called


@pytest.mark.parametrize("where", ["name", "absolute", "inside", "dot"])
def test_every_way_to_call_it_finds_the_same_cases_and_one_history(project: Project, where: str) -> None:
    arguments = {"name": ["perf"], "absolute": [str(project.path / "perf")], "inside": [], "dot": ["."]}[where]
    folder = project.path / "perf" if where == "inside" else project.path
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, "--benchmark-save=here", "-v", "-p", "no:cacheprovider"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    saved = json.loads(project.saved[0].read_text())
    assert [bench["fullname"] for bench in saved["benchmarks"]] == [
        "perf/test_layer.py::test_forward[alpha-b1-cpu-loop-float32]",
        "perf/test_layer.py::test_forward[beta-b1-cpu-loop-float32]",
        "perf/test_model.py::test_fit[alpha-b1-cpu-loop-float32]",
    ]


def test_collecting_measures_nothing_and_needs_no_baseline(project: Project) -> None:
    result = project.run("--collect-only", "-q")
    assert result.ret == 0
    assert project.opened() == 0
    assert "test_forward[alpha-b1-cpu-loop-float32]" in said(result)


def test_an_empty_selection_keeps_pytests_status(project: Project) -> None:
    assert project.run("-k", "nothing_of_this_name").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert project.opened() == 0


def test_last_failed_runs_the_red_case_again(project: Project) -> None:
    project.with_baseline()
    project.upgrade(cases={"fit": {"seconds_per_step": 0.01}})
    assert project.pytester.runpytest_subprocess("perf", "--benchmark-compare").ret == 1
    result = project.pytester.runpytest_subprocess("perf", "--benchmark-compare", "--lf")
    assert result.ret == 1, said(result)
    result.assert_outcomes(failed=1)


def test_stopping_at_the_first_failure_loses_nothing(project: Project) -> None:
    project.script(cases={"forward[alpha": {"fault": "crash"}})
    result = project.run("-x", "--benchmark-save=stopped")
    assert result.ret == 1, said(result)
    assert "Traceback" not in said(result)
    # The first case failed, so no test came to its benchmark; the other two were measured all the same.
    (journal,) = project.path.glob(".benchmarks/*/journal/*.jsonl")
    assert journal.name in said(result)
    assert "fit[alpha" in journal.read_text()


def test_progress_says_which_process_and_how_many_are_left(project: Project) -> None:
    assert "measuring: process 2, 3 of 9 done" in said(project.run())


def test_tests_outside_perf_run_without_it(project: Project) -> None:
    (project.path / "test_other.py").write_text("def test_other():\n    pass\n")
    result = project.pytester.runpytest_subprocess("test_other.py", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    assert "lstm-perf" not in said(result)
    assert project.opened() == 0


# Ctrl-C


def test_ctrl_c_keeps_what_was_measured_and_leaves_no_process(project: Project) -> None:
    project.script(cases={"fit": {"fault": "hang"}})
    command = [
        sys.executable,
        "-m",
        "pytest",
        "perf",
        "--benchmark-save=cut",
        "--perf-seed=1",
        "--perf-report=report",
        "-p",
        "no:cacheprovider",
    ]
    with subprocess.Popen(
        command, cwd=project.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        log = project.path / "script.json.log"
        # Bounded by the hang itself: the fake worker reaches the case and stays in it.
        while not (log.exists() and "open fit" in log.read_text()):
            assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 2, output
    assert "Traceback" not in output
    assert "Interrupted" in output
    assert "journal" in output
    assert "No report was written" in output
    (journal,) = project.path.glob(".benchmarks/*/journal/*.jsonl")
    assert journal.read_text().count("\n") >= 1
    assert project.saved == []
    workers = {int(line.split()[0]) for line in log.read_text().splitlines()}
    assert [pid for pid in workers if Path(f"/proc/{pid}").exists()] == []


def test_a_finished_session_leaves_no_journal(project: Project) -> None:
    assert project.save().ret == 0
    assert list(project.path.glob(".benchmarks/*/journal/*")) == []


# Wrong usage: one paragraph, exit 4


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--perf-profile", "weekly"], "smoke"),
        (["--perf-device", "tpu"], "auto"),
        (["--perf-processes", "0"], "--perf-processes"),
        (["--perf-processes", "three"], "--perf-processes"),
        (["--perf-margin", "-1"], "--perf-margin"),
        (["--perf-margin", "nan"], "--perf-margin"),
        (["--perf-timeout", "0"], "--perf-timeout"),
        (["--perf-budget", "soon"], "--perf-budget"),
        (["--perf-device", "gpu", "--perf-gpu", "7"], "--perf-gpu 7"),
        (["--perf-inconclusive", "maybe"], "warn"),
        (["--perf-require", "gpu", "--perf-device", "cpu"], "--perf-require gpu"),
        (["--benchmark-compare-fail", "mean:5%"], "--perf-margin"),
        (["--benchmark-storage", "elasticsearch+http://localhost"], "--benchmark-storage"),
    ],
    ids=" ".join,
)
def test_wrong_options_are_refused_naming_them(project: Project, options: list[str], named: str) -> None:
    assert named in refused(project.run(*options))
    assert project.opened() == 0


@pytest.mark.parametrize("arguments", [["--benchmark-compare", "perf"], ["--benchmark-compare"]], ids=" ".join)
def test_comparing_without_the_folder_is_explained(project: Project, arguments: list[str]) -> None:
    assert "folder first" in refused(project.pytester.runpytest_subprocess(*arguments))


def test_a_path_through_a_link_is_the_same_folder(project: Project) -> None:
    link = project.path.with_name(project.path.name + "-link")
    link.symlink_to(project.path)
    result = project.pytester.runpytest_subprocess(str(link / "perf"), "--benchmark-compare", "-p", "no:cacheprovider")
    assert "no baseline for this machine" in refused(result)


@pytest.mark.parametrize("options", [["-p", "no:benchmark"], ["-p", "no:terminal"]], ids=" ".join)
def test_missing_plugins_end_in_no_traceback(project: Project, options: list[str]) -> None:
    result = project.run(*options)
    assert result.ret == (4 if "no:benchmark" in options else 0), said(result)
    assert "Traceback" not in said(result)


def test_a_checkout_that_cannot_be_written_is_measured(project: Project) -> None:
    (project.path / ".pytest_cache").write_text("a file where the folder should be")
    shutil.copy(CHECKOUT / "pytest.ini", project.path / "pytest.ini")
    result = project.pytester.runpytest_subprocess("perf")
    assert result.ret == 0, said(result)


def test_a_terminal_without_unicode_gets_readable_tables(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = project.run()
    assert result.ret == 0
    assert "\\n" not in result.stdout.str()
    assert any(line.startswith("forward alpha-b1") for line in result.outlines)


def test_a_budget_that_runs_out_names_what_is_left_and_is_not_green(project: Project) -> None:
    result = project.save("short", "--perf-budget", "0.001s")
    assert result.ret == 10, said(result)
    assert "budget" in said(result)


def test_promoting_into_a_place_that_cannot_be_written_is_refused(project: Project) -> None:
    assert project.save().ret == 0
    project.baselines.write_text("a file where the folder should be")
    done = project.promote("1")
    assert done.returncode == 4
    assert "Traceback" not in done.stderr


def test_other_tests_beside_it_ask_for_no_verdict(project: Project) -> None:
    (project.path / "test_other.py").write_text("def test_other():\n    pass\n")
    assert project.pytester.runpytest_subprocess(".", "-k", "test_other", "-p", "no:cacheprovider").ret == 0
    assert project.opened() == 0
