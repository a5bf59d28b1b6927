"""The real engine on real TensorFlow, with tiny workloads: what is proved, timed and refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path as FilePath
from time import perf_counter
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from lstm_models import data, engine, models, rounds
from lstm_models.backends import backend
from lstm_models.engine import Engine
from lstm_models.problem import Problem
from lstm_models.words import Device, Kernel, Path, Precision
from lstm_models.workloads import Workload
from tests.lstm_models import tiny

BUILDER = Workload(
    "mine", "", kind="builder", timesteps=4, head="linear", builder="tests.lstm_models.test_models:a_model"
)


@pytest.fixture
def opened() -> Iterator[Engine]:
    """An engine that is closed again."""
    found = Engine()
    yield found
    found.close()


def builtins(value: Any) -> bool:
    """Whether a reply is made of what a channel carries: no NumPy scalars, no tuples of them."""
    if isinstance(value, dict):
        return all(type(key) is str and builtins(item) for key, item in value.items())
    if isinstance(value, list):
        return all(builtins(item) for item in value)
    return value is None or type(value) in (str, int, float, bool)


@pytest.mark.parametrize(
    ("path", "kernel"),
    [
        *((path, Kernel.XLA) for path in Path),
        (Path.FIT, Kernel.LOOP),
        (Path.PREDICT, Kernel.LOOP),
        (Path.BACKWARD, Kernel.UNROLLED),
        (Path.FORWARD, Kernel.AUTO),
    ],
)
def test_every_path_and_kernel_opens_proved_and_runs(opened: Engine, path: Path, kernel: Kernel) -> None:
    case = tiny.case(tiny.TOKENS, path, kernel)
    reply = opened.open(case.to_plain())
    facts = reply["facts"]
    assert builtins(reply)
    assert facts["kernel"] == ("loop" if kernel is Kernel.AUTO else kernel)
    assert facts["device"] == "cpu"
    assert facts["first_call_traces"] >= 1
    assert facts["output_error"] <= facts["tolerance"] == 1e-5
    assert (facts["gradient_error"] is not None) == (path in (Path.BACKWARD, Path.FIT))
    assert facts["resolved"]["jit_compile"] == str(kernel is Kernel.XLA)
    assert 0 < len(facts["probe"]) <= 16
    assert reply["first_call_seconds"] > 0
    assert reply["bytes_peak"] >= 0
    run = opened.run(3, 2)
    assert builtins(run)
    assert len(run["seconds"]) == 3
    assert run["traces"] == 0
    assert run["call_seconds"] == []


@pytest.mark.parametrize("name", [name for name in tiny.ALL if name != "tokens"])
def test_every_option_of_a_workload_opens(opened: Engine, name: str) -> None:
    path = Path.PREDICT if name == "chatbot" else Path.BACKWARD
    facts = opened.open(tiny.case(tiny.ALL[name], path).to_plain())["facts"]
    assert facts["kernel"] == "loop"
    assert facts["output_error"] <= facts["tolerance"]
    assert opened.run(2, 2)["traces"] == 0


@pytest.mark.parametrize("precision", [Precision.MIXED_FLOAT16, Precision.MIXED_BFLOAT16])
@pytest.mark.parametrize("path", [Path.FORWARD, Path.FIT])
def test_mixed_precision_opens(opened: Engine, path: Path, precision: Precision) -> None:
    facts = opened.open(tiny.case(tiny.TOKENS, path, precision=precision).to_plain())["facts"]
    assert 1e-6 < max(facts["output_error"], facts["gradient_error"] or 0) <= facts["tolerance"]


def test_single_predictions_are_kept_one_by_one(opened: Engine) -> None:
    opened.open(tiny.case(tiny.TOKENS, Path.PREDICT, batch=1).to_plain())
    run = opened.run(2, 3)
    assert len(run["call_seconds"]) == 6
    for number, seconds in enumerate(run["seconds"]):
        calls = run["call_seconds"][3 * number : 3 * number + 3]
        assert sum(calls) <= seconds
        assert min(calls) > 0


def test_wrong_numbers_are_not_timed(opened: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """One recurrent weight that the oracle does not know of."""
    right = data.weights(tiny.FEATURES)
    wrong = [array.copy() for array in right]
    wrong[1][0, 0] += 0.1
    monkeypatch.setattr(models, "_assign", lambda workload, variables: _assign(variables, wrong))
    with pytest.raises(Problem, match="float64 reference") as caught:
        opened.open(tiny.case(tiny.FEATURES).to_plain())
    assert caught.value.stage == "oracle"
    with pytest.raises(Problem, match="No case is open"):
        opened.run(1, 1)


def _assign(variables: list[Any], arrays: list[Any]) -> None:
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)


def test_a_new_trace_during_the_rounds_is_reported(opened: Engine) -> None:
    opened.open(tiny.case(tiny.FEATURES).to_plain())
    step = opened._open[0].step
    step.evidence(tf.zeros((3, 4, 5)))
    assert opened.run(1, 1)["traces"] == 0  # traced before the round
    batches = iter(range(4, 50))
    object.__setattr__(step, "call", lambda: step.evidence(tf.zeros((next(batches), 4, 5))))
    assert opened.run(2, 1)["traces"] == 2


def test_a_builder_is_held_against_its_loop_and_a_saved_model_gives_a_probe(opened: Engine, tmp_path: FilePath) -> None:
    facts = opened.open(tiny.case(BUILDER, Path.BACKWARD, Kernel.UNROLLED).to_plain())["facts"]
    assert facts["output_error"] <= 1e-5
    assert facts["gradient_error"] <= 1e-5
    model = models.build(BUILDER, Kernel.AUTO, Precision.FLOAT32, 2).model
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras's own, about NumPy 2, while it saves
        model.save(tmp_path / "mine.keras")
    saved = Workload("mine", "", kind="saved", timesteps=4, head="linear", saved=str(tmp_path / "mine.keras"))
    loop, xla = (
        opened.open(tiny.case(saved, Path.FORWARD, kernel).to_plain())["facts"] for kernel in (Kernel.LOOP, Kernel.XLA)
    )
    assert loop["output_error"] is None
    assert (loop["kernel"], xla["kernel"]) == ("loop", "xla")
    np.testing.assert_allclose(loop["probe"], xla["probe"], atol=1e-5)


def test_a_case_for_a_gpu_that_is_not_there_is_refused(opened: Engine) -> None:
    with pytest.raises(Problem, match="sees no GPU"):
        opened.open(tiny.case(tiny.FEATURES, device=Device.GPU).to_plain())


def test_a_cpu_case_where_a_gpu_is_visible_is_refused(opened: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend(), "has_gpu", lambda: True)
    with pytest.raises(Problem, match='CUDA_VISIBLE_DEVICES=""'):
        opened.open(tiny.case(tiny.FEATURES).to_plain())


def test_another_backend_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keras.backend.backend", lambda: "jax")
    with pytest.raises(Problem, match=r"'jax'.*KERAS_BACKEND"):
        Engine().describe()


def test_describe_says_what_the_process_runs_with(opened: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    found = opened.describe()
    assert builtins(found)
    assert found["versions"]["tensorflow"] == tf.__version__
    assert {"python", "keras", "numpy", "cuda", "cudnn"} <= set(found["versions"])
    assert {"onednn", "intra_op_threads", "inter_op_threads", "tf32", "determinism"} <= set(found["settings"])
    assert found["variables"]["OMP_NUM_THREADS"] == "2"
    assert all(name.startswith(("TF_", "KERAS_", "XLA_", "OMP_", "LSTM_PERF_")) for name in found["variables"])
    assert "keras" in found["packages"]
    assert found["devices"][0] == "CPU:0"


def test_cases_in_two_slots_take_turns_in_one_process(opened: Engine) -> None:
    loop = opened.open(tiny.case(tiny.FEATURES).to_plain())
    xla = opened.open(tiny.case(tiny.TOKENS, kernel=Kernel.XLA).to_plain(), 1)
    assert loop["bytes_peak"] is not None
    assert xla["bytes_peak"] is None  # not alone: what the other freed would be used again
    assert xla["facts"]["kernel"] == "xla"
    for slot in (0, 1, 1, 0):
        found = opened.run(2, 3, slot)
        assert len(found["seconds"]) == 2
        assert found["traces"] == 0
    opened.close(0)
    assert opened.run(1, 1, 1)["traces"] == 0
    with pytest.raises(Problem, match="slot 0"):
        opened.run(1, 1)
    opened.close(1)


@pytest.mark.parametrize(("left", "known"), [(10 * 2**20, True), (20 * 2**20, False)])
def test_a_peak_above_what_others_left_on_the_gpu_is_in_doubt(
    opened: Engine, monkeypatch: pytest.MonkeyPatch, left: int, known: bool
) -> None:
    # A CPU, which keeps no count, is made to keep one: nothing here is about the device.
    monkeypatch.setattr(engine, "_device_bytes", lambda device: 10 * 2**20)
    monkeypatch.setattr(backend(), "reset_device_peak", lambda: None)
    monkeypatch.setattr(backend(), "device_peak", lambda: 99 * 2**20)
    opened.warm_up()
    monkeypatch.setattr(engine, "_device_bytes", lambda device: left)
    reply = opened.open(tiny.case(tiny.FEATURES).to_plain())
    assert reply["device_bytes_peak"] == (99 * 2**20 - left if known else None)


def test_warm_up_leaves_nothing_open(opened: Engine) -> None:
    opened.warm_up()
    with pytest.raises(Problem, match="No case is open"):
        opened.run(1, 1)


class TestRounds:
    """The timed loop itself, with calls that are counted and not timed."""

    def test_every_round_starts_from_reset_and_makes_its_calls(self) -> None:
        events: list[str] = []
        found = rounds.timed(lambda: events.append("call"), lambda: events.append("reset"), 2, 3, keeps_calls=False)
        assert events == ["reset", "call", "call", "call"] * 2
        assert len(found.seconds) == 2
        assert found.call_seconds == []

    def test_a_slowdown_makes_each_call_last_that_much_longer(self) -> None:
        inner: list[float] = []

        def call() -> None:
            start = perf_counter()
            sum(range(20_000))
            inner.append(perf_counter() - start)

        found = rounds.timed(call, lambda: None, 1, 20, keeps_calls=True, factor=3.0)
        assert all(whole >= 3.0 * part for whole, part in zip(found.call_seconds, inner, strict=True))

    def test_a_slowdown_makes_a_round_last_that_much_longer(self) -> None:
        inner: list[float] = []

        def call() -> None:
            start = perf_counter()
            sum(range(20_000))
            inner.append(perf_counter() - start)

        found = rounds.timed(call, lambda: None, 1, 20, keeps_calls=False, factor=3.0)
        assert found.seconds[0] >= 3.0 * sum(inner)

    @pytest.mark.parametrize("text", ["fast", "0.5", "nan", "inf", ""])
    def test_a_slowdown_that_is_no_factor_is_refused(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(rounds.SLOWDOWN, text)
        with pytest.raises(Problem, match="a factor from 1"):
            rounds.slowdown()

    def test_the_slowdown_is_read_from_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(rounds.SLOWDOWN, raising=False)
        assert rounds.slowdown() == 1.0
        monkeypatch.setenv(rounds.SLOWDOWN, "1.25")
        assert rounds.slowdown() == 1.25


def test_float32_is_float32_on_every_gpu() -> None:
    """TensorFlow's default are products of ten bits where a GPU has them; a worker says what it computes with."""
    engine = Engine()
    engine.warm_up()
    assert engine.describe()["settings"]["tf32"] == "off"
