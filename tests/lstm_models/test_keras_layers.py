"""Which Keras a worker measures."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from lstm_models.keras_layers import keras
from lstm_models.problem import Problem


@pytest.mark.parametrize(("value", "name"), [("1", "tf_keras"), ("True", "tf_keras"), ("0", "keras"), (None, "keras")])
def test_keras_is_what_tensorflow_calls_so(value: str | None, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("keras", "tf_keras"):
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
    if value is None:
        monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)
    else:
        monkeypatch.setenv("TF_USE_LEGACY_KERAS", value)
    assert keras() is sys.modules[name]


def test_without_tf_keras_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    monkeypatch.setitem(sys.modules, "tf_keras", None)
    with pytest.raises(Problem, match="the package tf-keras"):
        keras()
