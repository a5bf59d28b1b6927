"""A recorded environment is brought back, and what cannot be is said."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from perf.harness.errors import Refusal
from perf.harness.rebuild import left_out, rebuild, spec_of, why_not_rebuildable
from perf.harness.records import Environment

PACKAGES = {"tensorflow-cpu": "2.17.1", "keras": "3.15.1", "numpy": "1.26.4", "Rich": "13.0"}


def recorded(packages: Mapping[str, str] = PACKAGES, **variables: str) -> Environment:
    return Environment({"python": platform.python_version()}, packages, {}, variables, ("CPU:0",))


def test_what_was_recorded_comes_back(cache: Path) -> None:
    extra = {"lstm-perf": "0.1.0", "pip": "23.2.1", "My.App": "1.0 (from a local path)"}
    environment = recorded({**PACKAGES, **extra}, TF_X="1")
    built = rebuild(environment, {"TF_X": "2", "LSTM_PERF_SLOWDOWN": "1.25"}, lambda text: None)
    assert {name.lower(): version for name, version in built.packages.items()} == {
        name.lower(): version for name, version in PACKAGES.items()
    }
    assert built.side.variables == {"TF_X": "1", "LSTM_PERF_SLOWDOWN": None}
    assert built.released == ("my-app 1.0 (from a local path) -> left out, no index has it",)
    assert rebuild(environment, {}, lambda text: None).cached


def test_versions_that_do_not_go_together_come_back_as_they_were(cache: Path) -> None:
    built = rebuild(recorded({**PACKAGES, "numpy": "2.4.6"}), {}, lambda text: None)
    assert built.packages["numpy"] == "2.4.6"  # TensorFlow 2.17 asks for NumPy below 2; somebody forced it


def test_another_patch_release_of_python_stands_in_and_is_named(cache: Path) -> None:
    minor = platform.python_version().rpartition(".")[0]
    built = rebuild(replace(recorded(), versions={"python": f"{minor}.99"}), {}, lambda text: None)
    assert built.released == (f"python {minor}.99 -> another {minor}",)


def test_versions_that_no_index_has_are_refused_with_what_uv_says(cache: Path) -> None:
    with pytest.raises(Refusal, match=r"keras==3\.99\.0"):
        rebuild(recorded({**PACKAGES, "keras": "3.99.0"}), {}, lambda text: None)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("keras", "3.12.0 (from a local path)"),
        ("tensorflow-cpu", "2.21.0+corp.1"),
        ("nvidia-cudnn-cu12", "9.3 (from a local path)"),
        ("tensorflow-metal", "1.2 (from a local path)"),
        ("numpy", "unknown"),
    ],
)
def test_what_computes_must_be_on_an_index(name: str, version: str) -> None:
    environment = recorded({**PACKAGES, name: version})
    assert why_not_rebuildable(environment) == f"no index has {name} {version}"
    with pytest.raises(Refusal, match="cannot be rebuilt: no index has"):
        rebuild(environment, {}, lambda text: None)


def test_what_does_not_compute_is_left_out_and_named() -> None:
    environment = recorded({**PACKAGES, "app": "1.0+local", "tool": "2 (from a local path)"})
    assert why_not_rebuildable(environment) == ""
    assert left_out(environment) == ("app 1.0+local", "tool 2 (from a local path)")
    assert not {"app", "tool"} & {text.partition("==")[0] for text in spec_of(environment, {}).requirements}


def test_a_package_from_version_control_comes_from_there() -> None:
    environment = recorded({**PACKAGES, "keras": "3.12.0 @ git+https://x/keras@abc"})
    assert why_not_rebuildable(environment) == ""
    assert "keras@ git+https://x/keras@abc" in [t.replace(" @", "@") for t in spec_of(environment, {}).requirements]


def test_without_python_or_tensorflow_there_is_nothing_to_rebuild() -> None:
    assert "Python" in why_not_rebuildable(replace(recorded(), versions={}))
    assert "TensorFlow" in why_not_rebuildable(recorded({"keras": "3.15.1"}))
