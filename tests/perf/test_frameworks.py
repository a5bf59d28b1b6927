"""The same suite where Keras runs on another framework."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from lstm_models import kernels, workloads
from lstm_models.case import Case
from lstm_models.words import Framework, Kernel
from perf import cases
from perf.cases import suite
from perf.harness.errors import Refusal
from perf.harness.suite import PROFILES, Suite, SuiteRequest

OTHERS = [Framework.JAX, Framework.TORCH]


@pytest.fixture(autouse=True)
def all_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases.importlib.util, "find_spec", lambda name: importlib.machinery.ModuleSpec(name, None))


def of(framework: Framework, profile: str = "smoke", *devices: str, against: Framework | None = None) -> Suite:
    frameworks = (framework,) if against is None else (framework, against)
    return suite(SuiteRequest(profile, devices or ("cpu",), None, against is not None, None, frameworks))


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("framework", OTHERS)
def test_ids_say_the_framework_and_lead_back(framework: Framework, profile: str) -> None:
    found = of(framework, profile, "cpu", "gpu")
    assert {spec.path for spec in found.specs} == {"forward", "backward", "fit", "evaluate", "predict"}
    for spec in (*found.specs, *found.contenders.values()):
        assert spec.id.endswith(f"-{framework}")
        assert spec.payload["framework"] == framework
        assert Kernel(spec.kernel) in kernels.EXIST[framework]
    available = workloads.builtin()
    for spec in found.specs:
        assert Case.parse(spec.key, available).hash == spec.hash


@pytest.mark.parametrize("devices", [("cpu",), ("gpu",), ("cpu", "gpu")], ids="+".join)
@pytest.mark.parametrize("framework", OTHERS)
def test_smoke_covers_all_paths_and_nothing_in_it_is_skipped(framework: Framework, devices: tuple[str, ...]) -> None:
    found = of(framework, "smoke", *devices)
    assert 7 <= len(found.specs) <= 24
    assert [spec.key for spec in found.specs if spec.skip] == []
    assert {spec.device for spec in found.specs} == set(devices)


@pytest.mark.parametrize("framework", OTHERS)
def test_expectations_are_other_ones_by_name_and_all_can_be_measured(framework: Framework) -> None:
    found = of(framework, "full", "cpu", "gpu")
    assert found.expectations
    ids = {one.id for one in of(Framework.TENSORFLOW, "full", "cpu", "gpu").expectations}
    for one in found.expectations:
        assert one.id.removesuffix(f"-{framework}") in ids
        assert one.id not in ids
        assert one.skip is None or "this CPU has" in one.skip


@pytest.mark.parametrize("framework", OTHERS)
def test_its_baseline_misses_no_case_of_another(framework: Framework) -> None:
    assert of(framework).name == f"built-in on {framework}"
    assert not {spec.key for spec in of(framework).specs} & {spec.key for spec in of(Framework.TENSORFLOW).specs}


def test_without_tracing_the_table_of_kernels_says_why_it_is_not_there() -> None:
    assert of(Framework.TENSORFLOW).selection
    assert of(Framework.TENSORFLOW).selection_absent == ""
    assert of(Framework.TORCH).selection == of(Framework.TENSORFLOW).selection
    for found in (of(Framework.JAX), of(Framework.TENSORFLOW, against=Framework.JAX)):
        assert found.selection == {}
        assert "on jax it shows on a GPU host only" in found.selection_absent


def test_a_framework_that_is_not_installed_is_refused_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Refusal, match=r"no torch and no keras .*pip install -e '\.\[torch\]'.*KERAS_BACKEND"):
        of(Framework.TORCH)


def test_a_users_file_may_promise_for_some_frameworks_only(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        '[expectation.mine]\nkind = "ordering"\nworkload = "translation"\npath = "forward"\n'
        'first = { kernel = "loop" }\nsecond = { kernel = "loop", path = "predict" }\nbatch = 1\n'
        'reason = "a call"\nsource = "a test"\nframeworks = ["torch"]\n'
    )

    def ids(framework: Framework) -> list[str]:
        request = SuiteRequest("smoke", ("cpu",), None, False, file, (framework,))
        return [one.id for one in suite(request).expectations if one.id.startswith("mine")]

    assert ids(Framework.TORCH) == ["mine-torch"]
    assert ids(Framework.JAX) == ids(Framework.TENSORFLOW) == []
    file.write_text(file.read_text().replace('["torch"]', '["mxnet"]'))
    with pytest.raises(Refusal, match="frameworks is a list of tensorflow, jax, torch"):
        ids(Framework.TORCH)
