"""``pytest perf --perf-report DIR`` and ``python -m perf report DIR RUN...`` as a user runs them, on a fake worker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.project import Project, refused
from tests.test_against import SIDES
from tests.test_expectations import COSTS, states

ALPHA = "forward[alpha-b1-cpu-loop-float32]"
SLOWER = {"cases": {ALPHA: {"seconds_per_step": 0.04}}}


def said(result: pytest.RunResult) -> str:
    return " ".join((result.stdout.str() + result.stderr.str()).split())


def data(project: Project, folder: str = "report") -> dict[str, Any]:
    """report.json, after a look that page and summary stand beside it."""
    names = sorted(path.name for path in (project.path / folder).iterdir())
    assert names == ["index.html", "report.json", "summary.md"]
    value: dict[str, Any] = json.loads((project.path / folder / "report.json").read_text())
    return value


def report(project: Project, *args: str) -> subprocess.CompletedProcess[str]:
    """``python -m perf report report <args>``."""
    storage = ["--storage", str(project.path / ".benchmarks"), "--baselines", str(project.baselines)]
    command = [sys.executable, "-m", "perf", "report", "report", *args, *storage]
    return subprocess.run(command, cwd=project.path, env=dict(os.environ), capture_output=True, text=True, check=False)


def test_a_session_that_compares_nothing_is_reported(project: Project) -> None:
    result = project.run("--perf-report", "report")
    assert result.ret == 0, said(result)
    assert "report: report/index.html" in said(result)
    found = data(project)
    assert found["status"] == "measured"
    assert found["counts"] == {"measured": 3}
    assert len(found["cases"][0]["sides"][0]["processes"]) == 3


def test_a_red_case_is_reported_as_it_was_judged(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.with_baseline()
    step = project.path / "step.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    project.upgrade()
    project.script(sides={"upgraded": SLOWER})
    result = project.run("--benchmark-compare", "--perf-report=report")
    assert result.ret == 1, said(result)
    found = data(project)
    assert found["status"] == "red"
    assert found["counts"]["regressed"] == 1
    red = next(case for case in found["cases"] if case["key"] == ALPHA)
    assert " ".join(red["reason"].split()) in said(result)
    assert [metric["metric"] for metric in red["metrics"]] == [
        "time per step, side by side",
        "time per step, stored numbers",
    ]
    assert len(red["metrics"][0]["ratios"]) >= 10
    (decided,) = [section for section in found["sections"] if section["id"] == "decided"]
    assert "1 measured side by side" in decided["paragraphs"][0]
    assert [name for name, _ in found["trend"]["runs"]][-1] == "this run"
    assert found["trend"]["cases"][ALPHA]["run"] == [0, 1, 2, 3]
    assert "regressed, time per step" in step.read_text()
    assert ALPHA in (project.path / "report" / "index.html").read_text()


def test_both_sides_and_the_kernels_of_a_paired_session_are_reported(project: Project) -> None:
    project.script(sides={"candidate": {**SLOWER, "selection": {"dropout/layer": "unrolled"}}})
    result = project.run(*SIDES, "--perf-report", "report")
    assert result.ret == 1, said(result)
    found = data(project)
    assert found["head"]["title"] == "FAKE_WORKER_SIDE=candidate against FAKE_WORKER_SIDE=baseline"
    red = next(case for case in found["cases"] if case["key"] == ALPHA)
    assert [side["name"] for side in red["sides"]] == ["baseline", "candidate"]
    assert len(red["metrics"][0]["ratios"]) >= 10
    (kernels,) = [section for section in found["sections"] if section["id"] == "kernels"]
    assert any("unrolled" in paragraph for paragraph in kernels["paragraphs"])


def test_a_lost_kernel_alone_is_red_too(project: Project) -> None:
    project.script(sides={"candidate": {"selection": {"dropout/layer": "unrolled"}}})
    result = project.run(*SIDES, "-k", "test_kernel", "--perf-report", "report")
    assert result.ret == 1, said(result)
    assert data(project)["status"] == "red"


def test_expectations_are_reported_as_they_were_judged(project: Project) -> None:
    project.cases("forward/alpha", expectations=True)
    project.script(costs=COSTS)
    result = project.run("--perf-processes", "4", "--perf-report", "report", "--benchmark-save", "run")
    assert result.ret == 0, said(result)
    found = data(project)
    (why,) = [section for section in found["sections"] if section["id"] == "why"]
    (used,) = [table for table in why["tables"] if table["headers"][1:2] == ["batch 1"]]
    assert [row[1].split("; ")[0] for row in used["rows"] if row[0] == "forward translation"] == ["xla on cpu"]
    words = [one["state"]["word"] for one in found["expectations"]]
    assert {state: words.count(state) for state in words} == states(result)
    assert all(one["points"] for one in found["expectations"] if one["state"]["word"] == "holds")
    assert words == sorted(words)  # those that hold stand before those that were skipped
    assert any(section["id"] == "costs" for section in found["sections"])
    done = report(project)
    assert done.returncode == 0, done.stderr
    stored = data(project)
    again = {one["id"]: one["found"] for one in stored["expectations"]}
    assert again == {one["id"]: one["found"] for one in found["expectations"] if one["state"]["word"] != "skipped"}
    assert [section for section in stored["sections"] if section["id"] == "why"] == [why]


def test_a_report_without_a_place_is_refused_before_measuring(project: Project) -> None:
    (project.path / "report").write_text("a file")
    assert "--perf-report" in refused(project.run("--perf-report", "report"))
    assert project.opened() == 0


def test_a_report_that_cannot_be_written_leaves_the_run_and_is_not_green(project: Project) -> None:
    (project.path / "report" / "index.html").mkdir(parents=True)
    result = project.save("run", "--perf-report", "report")
    assert result.ret == 10, said(result)
    assert "The report could not be written into" in said(result)
    assert len(project.saved) == 1
    assert "Traceback" not in said(result)


def test_a_session_that_only_collects_writes_no_report(project: Project) -> None:
    project.cases("forward/alpha")
    result = project.run("--perf-report", "report", "--collect-only")
    assert result.ret == 0, said(result)
    assert "report" not in [line.split(":")[0] for line in result.outlines]
    assert list((project.path / "report").iterdir()) == []


def test_stored_runs_draw_the_same_page_without_measuring(project: Project) -> None:
    project.with_baseline()
    opened = project.opened()
    done = report(project)
    assert done.returncode == 0, done.stderr
    assert "report/index.html" in done.stdout
    found = data(project)
    assert found["head"]["title"] == "3 stored runs, up to 0003_run"
    assert found["trend"]["cases"][ALPHA]["run"] == [0, 1, 2]
    assert found["trend"]["promotions"][ALPHA][0]["runs"] == ["0001_run", "0002_run", "0003_run"]
    assert project.opened() == opened
    assert len(project.saved) == 3


def test_a_single_run_and_a_name_are_taken_as_promote_takes_them(project: Project) -> None:
    project.with_baseline()
    assert report(project, "2").returncode == 0
    assert data(project)["head"]["title"] == "Run 0002_run"
    assert report(project, "1", str(project.saved[2])).returncode == 0
    assert data(project)["head"]["title"] == "2 stored runs, up to 0003_run"


def test_a_digest_changes_no_later_session(project: Project) -> None:
    project.with_baseline()
    assert report(project).returncode == 0
    project.script()
    result = project.run("--benchmark-compare", "--benchmark-save=later")
    assert result.ret == 0, said(result)
    assert "3 runs" in said(result)
    assert "0004_later.json" in said(result)


def unknown(project: Project) -> list[str]:
    return ["7"]


def broken(project: Project) -> list[str]:
    project.saved[1].write_text("{")
    return ["2"]


def none(project: Project) -> list[str]:
    for file in project.saved:
        file.unlink()
    return []


def other_hardware(project: Project) -> list[str]:
    value = json.loads(project.saved[0].read_text())
    value["lstm_perf"]["machine"]["identity"]["cores"] = "96"
    other = Path("elsewhere") / "0001_run.json"
    (project.path / other).parent.mkdir()
    (project.path / other).write_text(json.dumps(value))
    return [str(other), "2"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (unknown, "There is no run '7'"),
        (broken, "not valid JSON"),
        (none, "No run of this machine"),
        (other_hardware, "cores"),
    ],
)
def test_what_cannot_be_reported_is_refused_in_a_paragraph(project: Project, make: Any, words: str) -> None:
    project.with_baseline()
    done = report(project, *make(project))
    assert done.returncode == 4, done.stdout
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_run_among_others_is_left_out_and_named(project: Project) -> None:
    project.with_baseline()
    project.saved[1].write_text("{")
    done = report(project)
    assert done.returncode == 0, done.stderr
    assert "warning: left out of the history" in done.stdout
    assert any("0002_run.json" in remark for remark in data(project)["remarks"])
    assert len(data(project)["trend"]["runs"]) == 2
