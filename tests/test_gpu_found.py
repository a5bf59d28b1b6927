"""Finding and pinning a GPU through ``pytest perf``, on hosts that are not there."""

from __future__ import annotations

import json

import pytest

from tests.project import Project, refused

BUILT_FOR_CUDA = {"versions": {"cuda": "12.5", "cudnn": "9"}, "devices": ["CPU:0"]}
CARDS = [{"uuid": "GPU-a", "processes": {"4242": 1000}}, {"uuid": "GPU-b"}]


def said(result: pytest.RunResult) -> str:
    return " ".join((result.stdout.str() + result.stderr.str()).split())


def test_the_first_idle_one_is_pinned_for_gpu_workers_and_none_for_cpu_workers(project: Project) -> None:
    project.cases("forward/alpha")
    project.with_gpu(cards=CARDS)
    project.script(tell=["CUDA_VISIBLE_DEVICES"])
    result = project.run("--perf-processes", "1")
    assert result.ret == 0, said(result)
    assert "gpu: 1 (NVIDIA H200, GPU-b), the first idle one" in said(result)
    log = (project.path / "script.json.log").read_text()
    assert "start CUDA_VISIBLE_DEVICES=GPU-b" in log
    assert "start CUDA_VISIBLE_DEVICES=\n" in log
    assert "GPU-a" not in log


def test_the_baselines_gpu_is_taken_again(project: Project) -> None:
    project.cases("forward/alpha")
    project.with_gpu(cards=CARDS)
    assert project.save("one", "--perf-processes", "1").ret == 0
    project.with_gpu(cards=[{"uuid": "GPU-a"}, {"uuid": "GPU-b"}])  # now the first is idle too
    machine = json.loads(project.saved[-1].read_text())["lstm_perf"]["machine"]
    assert machine["informs"]["gpu used"] == "GPU-b"
    assert machine["identity"]["gpu"] == "2 x NVIDIA H200 140 GiB 700 W"
    project.script()
    result = project.run("--benchmark-compare=one", "--perf-processes", "1")
    assert "gpu: 1 (NVIDIA H200, GPU-b), the baseline's" in said(result)


def test_a_driver_that_does_not_answer_is_refused(project: Project) -> None:
    project.with_gpu(init_error="Driver Not Loaded")
    text = refused(project.run("--perf-require", "gpu"))
    assert "--perf-require gpu: The NVIDIA driver does not answer (Driver Not Loaded)" in text
    assert project.opened() == 0


def test_a_hidden_gpu_is_refused(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.with_gpu()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    text = refused(project.run("--perf-require", "gpu"))
    assert "CUDA_VISIBLE_DEVICES='' hides every GPU" in text
    assert project.opened() == 0


def test_a_cuda_library_that_cannot_be_loaded_is_refused_with_what_tensorflow_says(project: Project) -> None:
    project.with_gpu()
    project.script(environment={**BUILT_FOR_CUDA, "stderr": "Could not load dynamic library 'libcudnn.so.9'"})
    text = refused(project.run("--perf-require", "gpu"))
    assert "NVML lists 0 (NVIDIA H200, GPU-0) with driver 570.1, but a GPU worker cannot use it" in text
    assert "built for CUDA 12.5 and cuDNN 9" in text
    assert "Could not load dynamic library 'libcudnn.so.9'" in text
    assert project.opened() == 0


def test_not_required_the_gpu_cases_fail_with_the_reason_and_the_others_are_measured(project: Project) -> None:
    project.cases("forward/alpha")
    project.with_gpu()
    project.script(environment=BUILT_FOR_CUDA)
    result = project.run("--perf-processes", "1")
    assert result.ret == 1, said(result)
    assert "1 measured, 1 failed" in said(result)
    assert "sees no GPU in a worker" in said(result)
