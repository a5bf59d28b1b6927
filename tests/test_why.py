"""The account of why through ``pytest perf``, on a host with a GPU that is not there: what to use flips where the
model of its costs crosses, and what nobody measured is said not to be."""

from __future__ import annotations

import re

import pytest

from perf.harness import expectation_store, runs
from perf.harness.report.page.why_page import why_sections
from perf.harness.report.why import why_section
from perf.harness.why import store
from perf.harness.why.account import account
from tests.project import Project
from tests.test_expectations import COSTS, said

#: One request, a training batch, a large one, on the CPU's and the GPU's best kernel.
OBSERVED = "kernels-by-batch or devices-by-batch"


@pytest.fixture
def gpu_host(project: Project) -> Project:
    project.cases("forward/alpha", expectations=True)
    project.with_gpu()
    return project


def recommended(result: pytest.RunResult) -> list[str]:
    """What the table says for batch 1, 32 and 256 of the translation workload's forward."""
    (row,) = [line for line in result.outlines if re.match(r"forward translation  +\S+ on ", line)]
    return re.findall(r"(\w+ on \w+)", row)


@pytest.mark.parametrize(
    ("fixed", "expected"),
    [
        # Seconds: CPU 1.5e-4 + 1e-5 x batch, GPU fixed + 2e-4 + 2e-7 x batch, so that they cross at batch 15, 46, 500.
        (1e-4, ["xla on cpu", "cudnn on gpu", "cudnn on gpu"]),
        (4e-4, ["xla on cpu", "xla on cpu", "cudnn on gpu"]),
        (5e-3, ["xla on cpu", "xla on cpu", "xla on cpu"]),
    ],
)
def test_the_device_flips_where_the_costs_cross(gpu_host: Project, fixed: float, expected: list[str]) -> None:
    gpu_host.script(costs={**COSTS, "gpu": {**COSTS["gpu"], "fixed": fixed}})
    result = gpu_host.run("-k", OBSERVED, "--perf-processes", "4")
    assert result.ret == 0, said(result)
    result.assert_outcomes(passed=2, deselected=result.parseoutcomes()["deselected"])
    assert recommended(result) == expected


def test_a_saved_run_gives_the_same_account(gpu_host: Project) -> None:
    result = gpu_host.save("why", "-k", f"alpha or {OBSERVED}", "--perf-processes", "4", costs=COSTS)
    assert result.ret == 0, said(result)
    text = said(result)
    assert "forward translation, loop on cpu: at batch 1 bound by launching small operations" in text
    assert "at batch 256 bound by arithmetic" in text
    assert "Factors not measured in this session: network size, sequence length, data set size" in text
    (file,) = gpu_host.saved
    kept = expectation_store.of_run(file, runs.BLOCK)
    evidence = store.of_run(file, runs.BLOCK)
    assert {(peak.process, peak.device) for peak in evidence.peaks} == {
        (p, d) for p in (1, 2, 3, 4) for d in ("cpu", "gpu")
    }
    again = account(
        evidence,
        runs.read_run(file).cases,
        expectation_store.judged(kept),
        {id: one.observed for id, one in kept.items()},
    )
    (section,) = why_sections(again)
    assert [table.headers[0] for table in section.tables] == ["factor", ""]
    assert section.paragraphs[-1] in " ".join(text.split())
    # Numbers are stored with seven digits, and none of them shows the eighth.
    assert why_section(again).split() == text[text.index("Why Matrix") : text.index("=====", text.index("Why"))].split()


def test_where_inputs_lie_is_the_factor_transfer(gpu_host: Project) -> None:
    gpu_host.script(costs=COSTS)
    result = gpu_host.run("-k", "arrays-of-the-host or inputs-on-the-gpu", "--perf-processes", "4")
    assert result.ret == 0, said(result)
    rows = [line for line in result.outlines if line.startswith("transfer ")]
    moved = "inputs on the host -> inputs on the device"
    for on in ("forward rows-b1 cpu xla", "forward layer-128-b1 gpu cudnn", "forward layer-128-b1024 gpu cudnn"):
        assert any(moved in row and row.endswith(on) for row in rows), on
    assert len(rows) == 3
    assert "transfer" not in next(line for line in result.outlines if line.startswith("Factors not measured"))


@pytest.mark.parametrize("fault", ["crash", "exception"])
def test_without_a_peak_nothing_is_the_worse_for_it(project: Project, fault: str) -> None:
    project.script(peak_fault=fault)
    result = project.run()
    assert result.ret == 0, said(result)
    assert "Matrix products" not in said(result)


def test_an_observed_pair_is_never_red(gpu_host: Project) -> None:
    gpu_host.script(costs={**COSTS, "cpu xla": {"fixed": 1.0}})
    result = gpu_host.run("-k", "kernels-by-batch", "--perf-processes", "2")
    assert result.ret == 0, said(result)
    assert "Expectations: 1 observed" in said(result)
