"""Which kernel Keras would pick and why: found by tracing, on a machine without a GPU."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import pytest

from lstm_models import explain
from lstm_models.backends.tensorflow.trace import pretend_gpu, traced_kernel
from lstm_models.proof import Expected
from lstm_models.words import Framework, Path
from lstm_models.workloads import Workload, builtin

_TINY = {"features": 3, "units": 4, "timesteps": 6}


def workload(**options: Any) -> Workload:
    return Workload("tiny", "", **{**_TINY, **options})


def kernels(found: explain.Explanation) -> dict[str, set[str]]:
    return {
        device: {choice.kernel for (where, _), choice in found.choices.items() if where == device}
        for device in ("cpu", "gpu")
    }


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dropout": 0.2},
        {"stateful": True},
        {"mask": "right"},
        {"bidirectional": True, "layers": 2, "return_sequences": True},
        {"features": 0, "vocabulary": 9, "embedding": 3, "head": "softmax", "outputs": 9},
    ],
    ids=str,
)
def test_cudnn_is_picked_on_a_gpu_host(options: dict[str, Any]) -> None:
    found = explain.explain(workload(**options))
    assert kernels(found) == {"cpu": {"loop"}, "gpu": {"cudnn"}}
    assert not any(choice.jit_compile for choice in found.choices.values())
    assert (found.blocking, found.refusal) == ((), "")
    assert "On a GPU host Keras picks cuDNN." in explain.text(found)


@pytest.mark.parametrize(
    ("options", "setting", "jit_compile"),
    [
        ({"recurrent_dropout": 0.2}, "recurrent_dropout = 0.2", False),
        ({"activation": "relu"}, "activation = 'relu'", True),
        ({"use_bias": False}, "use_bias = False", True),
        ({"use_bias": False, "dropout": 0.1, "layers": 2}, "use_bias = False", True),
    ],
    ids=str,
)
def test_the_setting_that_keeps_cudnn_away_is_found(options: dict[str, Any], setting: str, jit_compile: bool) -> None:
    found = explain.explain(workload(**options))
    assert kernels(found)["gpu"] == {"loop"}
    assert found.blocking == (setting,)
    assert found.choices["gpu", "training"].jit_compile is jit_compile
    shown = explain.text(found)
    assert f"What keeps cuDNN away: {setting}." in shown
    assert ("neither cuDNN nor XLA" in " ".join(shown.split())) is not jit_compile
    assert ("GPU host, training               xla" in shown) is jit_compile


def test_two_settings_that_each_keep_cudnn_away_are_both_named() -> None:
    found = explain.explain(workload(activation="relu", use_bias=False, dropout=0.1))
    assert found.together
    assert found.blocking == ("activation = 'relu'", "use_bias = False")
    assert "each of them by itself" in explain.text(found)


def test_a_left_mask_is_picked_and_then_refused() -> None:
    found = explain.explain(workload(mask="left"))
    assert kernels(found)["gpu"] == {"cudnn"}
    assert "right-padded" in found.refusal
    assert "cuDNN refuses at run time" in explain.text(found)


def test_encoder_and_decoder_are_both_on_cudnn() -> None:
    chat = Workload(
        "chat", "", kind="encoder-decoder", vocabulary=9, embedding=3, units=4, timesteps=6, head="softmax", outputs=9,
        decode_tokens=2,
    )  # fmt: skip
    assert kernels(explain.explain(chat)) == {"cpu": {"loop"}, "gpu": {"cudnn"}}


BUILDERS = """
import keras

def unrolled(lstm):
    return keras.Sequential([keras.Input((6, 3)), keras.layers.LSTM(4, unroll=True)])

def off(lstm):
    return keras.Sequential([keras.Input((6, 3)), keras.layers.LSTM(4, use_cudnn=False)])

def cell(lstm):
    return keras.Sequential([keras.Input((6, 3)), keras.layers.RNN(keras.layers.LSTMCell(4))])

def one_of_two(lstm):
    return keras.Sequential([
        keras.Input((6, 3)), lstm(4, return_sequences=True), keras.layers.Bidirectional(lstm(4, recurrent_dropout=0.5))
    ])
"""


@pytest.mark.parametrize(
    ("builder", "kernel", "blocking", "words"),
    [
        ("unrolled", "unrolled", ("unroll = True",), "What keeps cuDNN away: unroll = True."),
        ("off", "loop", ("use_cudnn = False",), "What keeps cuDNN away: use_cudnn = False."),
        ("cell", "loop", (), "1 recurrent layer(s) are no keras.layers.LSTM"),
        ("one_of_two", "mixed: cudnn 1, loop 2", ("recurrent_dropout = 0.0, 0.5",), "What keeps cuDNN away"),
    ],
)
def test_a_users_model_is_explained(
    builder: str, kernel: str, blocking: tuple[str, ...], words: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "explained_builders.py").write_text(BUILDERS)
    monkeypatch.syspath_prepend(str(tmp_path))
    own = Workload("own", "", kind="builder", builder=f"explained_builders:{builder}", head="linear", timesteps=6)
    found = explain.explain(own)
    assert kernels(found)["gpu"] == {kernel}
    assert found.blocking == blocking
    assert words in " ".join(explain.text(found).split())


def test_versions_are_shown() -> None:
    import keras
    import tensorflow as tf

    choices = {("gpu", mode): explain.Choice("cudnn", False) for mode in ("inference", "training")}
    found = explain.Explanation(workload(), choices, (), False, "", 0)
    assert f"TensorFlow {tf.__version__}, Keras {keras.__version__}" in explain.text(found)


def test_the_pretended_gpu_is_gone_afterwards() -> None:
    import tensorflow as tf

    recurrence = importlib.import_module("keras.src.backend.tensorflow.rnn")
    before, listed = recurrence._is_gpu_available, tf.config.list_physical_devices

    def fails_inside() -> None:
        with pretend_gpu():
            assert recurrence._is_gpu_available()
            assert [device.device_type for device in tf.config.list_physical_devices("GPU")] == ["GPU"]
            assert {device.device_type for device in tf.config.list_physical_devices()} == {"CPU", "GPU"}
            raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        fails_inside()
    assert recurrence._is_gpu_available is before
    assert tf.config.list_physical_devices is listed


def test_built_in_obstacles_are_what_tracing_finds() -> None:
    """The reasons by which cases are skipped are Keras's own, not only ours."""
    from lstm_models import kernels as words

    for name in ("layer-128-recurrent-dropout", "layer-128-relu", "layer-128-no-bias", "layer-128-dropout"):
        found = explain.explain(builtin()[name])
        obstacles = [obstacle.split(" = ")[0] for obstacle in words.obstacles(builtin()[name])]
        assert [setting.split(" = ")[0] for setting in found.blocking] == obstacles
    left = builtin()["layer-128-mask-left"]
    assert bool(words.breaks_cudnn(left)) == bool(explain.explain(left).refusal)


def test_an_open_length_is_taken_from_the_workload() -> None:
    import keras

    model = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(4)])
    expected = Expected.of(Workload("own", "", kind="builder", timesteps=6), Path.FORWARD)
    assert traced_kernel(model, training=False, gpu=False, expected=expected) == "loop"


def test_cudnn_whose_result_is_thrown_away_is_said() -> None:
    """As every Keras 3.14 does on PyTorch; and a mask is named where it alone keeps cuDNN away."""
    places = [(device, mode) for device in ("cpu", "gpu") for mode in ("inference", "training")]
    both = dict.fromkeys(places, explain.Choice("mixed: cudnn 1, loop 1", False))
    found = explain.Explanation(workload(), both, (), False, "", 0, Framework.TORCH)
    told = " ".join(explain.text(found, "as asked").split())
    assert "Keras throws its result away, and then runs the loop as well." in told
    loop = dict.fromkeys(places, explain.Choice("loop", False))
    told = explain.text(replace(found, workload=workload(mask="left"), choices=loop), "as asked")
    assert "Keras on torch leaves cuDNN for every mask." in " ".join(told.split())
    assert "XLA" not in told
