from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from lstm_models import backends
from perf.harness.errors import Refusal
from perf.harness.frameworks import FRAMEWORKS, JAX, TENSORFLOW, chosen, distribution_of, framework_of
from perf.harness.installed import Installed, why_no_worker
from perf.harness.wanted import wanted


def a_home(folder: Path, text: str) -> str:
    (folder / ".keras").mkdir()
    (folder / ".keras" / "keras.json").write_text(text)
    return str(folder)


@pytest.mark.parametrize(
    ("variables", "configured", "expected"),
    [
        ({}, None, "tensorflow"),
        ({"KERAS_BACKEND": "jax"}, None, "jax"),
        ({"KERAS_BACKEND": ""}, "torch", "torch"),
        ({}, "torch", "torch"),
        ({"KERAS_BACKEND": "jax"}, "torch", "jax"),
        ({"KERAS_BACKEND": "jax", "TF_USE_LEGACY_KERAS": "1"}, None, "tensorflow"),
        ({"KERAS_BACKEND": "numpy"}, None, "numpy"),
    ],
)
def test_the_framework_is_the_one_that_keras_takes(
    tmp_path: Path, variables: dict[str, str], configured: str | None, expected: str
) -> None:
    """The harness and the worker, which may not know each other, say the same."""
    home = a_home(tmp_path, json.dumps({"backend": configured})) if configured else str(tmp_path)
    assert chosen(variables, {"HOME": home}) == expected
    assert backends.name({**variables, "HOME": home}) == expected


@pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
def test_a_damaged_configuration_is_none(tmp_path: Path, text: str) -> None:
    home = a_home(tmp_path, text)
    assert chosen({}, {"HOME": home}) == backends.name({"HOME": home}) == "tensorflow"


def test_a_variable_that_is_unset_counts_as_unset(tmp_path: Path) -> None:
    inherited = {"HOME": str(tmp_path), "KERAS_BACKEND": "jax"}
    assert chosen({}, inherited) == "jax"
    assert chosen({"KERAS_BACKEND": None}, inherited) == "tensorflow"


def test_what_no_worker_knows_is_refused_by_name() -> None:
    assert framework_of({"KERAS_BACKEND": "jax"}) is JAX
    with pytest.raises(Refusal, match=r"'numpy'.*KERAS_BACKEND.*tensorflow, jax, torch"):
        framework_of({"KERAS_BACKEND": "numpy"})


def test_the_two_lists_of_frameworks_agree() -> None:
    assert tuple(FRAMEWORKS) == backends.NAMES


def test_a_framework_is_found_by_any_of_its_distributions() -> None:
    assert distribution_of(TENSORFLOW, {"tensorflow_cpu": "2.21.0"}) == ("tensorflow-cpu", "2.21.0")
    assert distribution_of(JAX, {"tensorflow": "2.21.0", "jaxlib": "0.9"}) is None


def test_an_environment_without_the_framework_has_no_worker() -> None:
    assert why_no_worker(Installed("3.11", "", {}, ("jax", "keras")), JAX) == "has no jax and no keras"
    assert why_no_worker(Installed("3.11", "", {"tensorflow": "2.14.1"}, ()), JAX) == ""
    assert "2.15 or newer" in why_no_worker(Installed("3.11", "", {"tensorflow": "2.14.1"}, ()), TENSORFLOW)


@pytest.mark.parametrize(
    ("named", "held", "unnamed"),
    [
        pytest.param({}, {"tensorflow": "2.21.0", "keras": "3.15.1"}, ("jax", "keras"), id="the other has another"),
        pytest.param({"jax": "jax==0.9"}, {"tensorflow": "2.21.0", "keras": "3.15.1"}, ("keras",), id="named"),
        pytest.param({"keras": "keras==3.14.1"}, {"jax": "0.9", "keras": "3.15.1"}, ("jax",), id="held"),
        pytest.param({"keras": "keras==3.14.1"}, {"tensorflow": "2.20"}, ("jax",), id="keras named"),
        pytest.param({"jax": "jax"}, {"tensorflow": "2.15", "numpy": "1.26"}, ("keras", "numpy"), id="no keras there"),
    ],
)
def test_another_framework_comes_with_its_keras_and_without_tensorflow(
    named: Mapping[str, str], held: Mapping[str, str], unnamed: tuple[str, ...]
) -> None:
    assert wanted(named, held, False, JAX).unnamed == unnamed
