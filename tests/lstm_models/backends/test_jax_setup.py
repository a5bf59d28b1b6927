"""What is refused and told before and beside JAX. Needs no JAX."""

from __future__ import annotations

import pytest

from lstm_models.backends.jax import Jax, setup
from lstm_models.problem import Problem


@pytest.mark.parametrize("name", ["JAX_DISABLE_JIT", "KERAS_NNX_ENABLED"])
def test_a_variable_that_changes_what_runs_is_refused(name: str) -> None:
    with pytest.raises(Problem, match=f"{name}=True is not allowed"):
        setup.refuse({name: "True"})
    setup.refuse({name: "0"})
    setup.refuse({})


@pytest.mark.parametrize(("number", "text"), [(8907, "8.9.7"), (91002, "9.10.2"), (90100, "9.1.0")])
def test_cudnns_number_is_read_as_nvidia_writes_it(number: int, text: str) -> None:
    assert setup._cudnn(number) == text


def test_a_peak_below_an_earlier_one_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX's mark cannot be set back: a case that stays below it has an unknown peak and not the other case's."""
    counts = {"peak_bytes_in_use": 100}
    monkeypatch.setattr(setup, "memory", counts.get)
    framework = Jax()
    framework.reset_device_peak()
    assert framework.device_peak() is None
    counts["peak_bytes_in_use"] = 130
    assert framework.device_peak() == 130
    framework.reset_device_peak()
    assert framework.device_peak() is None
    counts.clear()  # an allocator that keeps no counts
    framework.reset_device_peak()
    assert framework.device_peak() is None
    assert framework.device_in_use() is None
