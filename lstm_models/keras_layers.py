"""The LSTM layers of a kernel, on Keras 2.15 and every Keras 3: here is all that differs between the versions.

TensorFlow is imported inside functions, so that importing this module costs nothing.
"""

from __future__ import annotations

import inspect
import os
from contextlib import contextmanager
from typing import Any, Callable, Iterator

from lstm_models import backends, cudnn_layer, kernels
from lstm_models.problem import Problem
from lstm_models.words import Framework, Kernel, Precision

#: Loss scale of mixed_float16: large enough that small gradients do not vanish, far from overflow.
LOSS_SCALE = 1024.0


def keras() -> Any:
    """Keras as the environment has it: what ``tf.keras`` is there.

    That is Keras 3, the Keras 2 that TensorFlow 2.15 comes with, or the Keras 2 of tf-keras where
    ``TF_USE_LEGACY_KERAS`` asks for it. Raises :class:`Problem` where that is not installed.
    """
    # As TensorFlow reads it, in tensorflow/python/util/keras_deps and its lazy loader.
    if os.environ.get("TF_USE_LEGACY_KERAS") in ("true", "True", "1"):
        try:
            import tf_keras as module
        except ModuleNotFoundError as error:
            raise Problem(
                "open",
                f"TF_USE_LEGACY_KERAS asks for Keras 2, the package tf-keras of TensorFlow's version ({error}). "
                "Install it, or unset the variable.",
            ) from error
    else:
        import keras as module
    return module


def is_keras_2() -> bool:
    return str(keras().__version__).startswith("2.")


def has_use_cudnn() -> bool:
    """Whether ``LSTM`` can be told to leave cuDNN alone; Keras 2 has no such argument."""
    return "use_cudnn" in inspect.signature(keras().layers.LSTM.__init__).parameters


@contextmanager
def policy(precision: Precision) -> Iterator[None]:
    """Layers made inside compute in ``precision``; the policy before is put back."""
    mixed = keras().mixed_precision
    before = mixed.global_policy() if hasattr(mixed, "global_policy") else mixed.dtype_policy()
    setter = getattr(mixed, "set_global_policy", None) or mixed.set_dtype_policy
    setter(str(precision))
    try:
        yield
    finally:
        setter(before)


def lstm_maker(kernel: Kernel) -> Callable[..., Any]:
    """A function ``lstm(units, **options)`` that makes the kernel's LSTM layer; options as ``keras.layers.LSTM``.

    ``use_cudnn`` and ``unroll`` are the kernel's and not the caller's.
    """

    def lstm(units: int, **options: Any) -> Any:
        settings = kernels.settings(kernel)
        if kernel is Kernel.CUDNN_LAYER:
            return cudnn_layer.layer(keras(), units, options)
        options = {key: value for key, value in options.items() if key not in ("use_cudnn", "unroll")}
        if settings.unroll is not None:
            options["unroll"] = settings.unroll
        if settings.use_cudnn is None:
            return keras().layers.LSTM(units, **options)
        if has_use_cudnn():
            return keras().layers.LSTM(units, use_cudnn=settings.use_cudnn, **options)
        if settings.use_cudnn:
            return keras().layers.LSTM(units, **options)
        return _without_cudnn(units, options)

    return lstm


def _without_cudnn(units: int, options: dict[str, Any]) -> Any:
    """``RNN(LSTMCell)``: what a loop is on a Keras whose LSTM would pick its kernel by itself."""
    of_layer = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "name", "dtype")
    outer = {key: value for key, value in options.items() if key in of_layer}
    inner = {key: value for key, value in options.items() if key not in of_layer}
    return keras().layers.RNN(keras().layers.LSTMCell(units, **inner), **outer)


def recurrent_layers(model: Any) -> list[Any]:
    """Every LSTM or RNN layer of a model, those inside wrappers included."""
    return [layer for layer in model._flatten_layers() if hasattr(layer, "cell") and hasattr(layer, "unroll")]


def enforce(model: Any, kernel: Kernel) -> None:
    """Set the kernel's choices on layers that are already made.

    Needed for loaded models, and for Bidirectional, which makes its layers anew from their configuration: before
    Keras 3.12 these forgot ``use_cudnn``, and ``supports_jit`` is theirs by default still, which would turn
    ``jit_compile=True`` off on a GPU host.
    """
    settings = kernels.settings(kernel)
    if settings.use_cudnn is None:
        return
    for layer in recurrent_layers(model):
        layer.unroll = settings.unroll
        if hasattr(layer, "use_cudnn"):
            layer.use_cudnn = settings.use_cudnn
    if settings.jit_compile is True:
        for layer in model._flatten_layers():
            layer.supports_jit = True


def _rates(model: Any) -> list[tuple[Any, str]]:
    """Where a model keeps its dropout rates: owner and attribute. A recurrent layer reads those of its cell."""
    found = [(layer, "rate") for layer in model._flatten_layers()]
    found += [(layer.cell, name) for layer in recurrent_layers(model) for name in ("dropout", "recurrent_dropout")]
    return [(owner, name) for owner, name in found if isinstance(getattr(owner, name, None), (int, float))]


def drops(model: Any) -> bool:
    """Whether training draws dropout masks, so that no two calls give the same numbers."""
    return any(getattr(owner, name) for owner, name in _rates(model))


def stop_dropping(model: Any) -> None:
    """Set every dropout rate to 0. Only before the first trace: a graph keeps the rates it was traced with."""
    for owner, name in _rates(model):
        setattr(owner, name, 0.0)


def compile_model(model: Any, kernel: Kernel, precision: Precision, loss: Any) -> None:
    """Compile for plain SGD with learning rate 0: every step does all the work, and the weights stay as they are."""
    optimizer = keras().optimizers.SGD(learning_rate=0.0)
    if precision is Precision.MIXED_FLOAT16:
        places = (keras().optimizers, keras().mixed_precision)
        wrapper = next(place.LossScaleOptimizer for place in places if hasattr(place, "LossScaleOptimizer"))
        optimizer = wrapper(optimizer, initial_scale=LOSS_SCALE)
    jit_compile: Any = kernels.settings(kernel).jit_compile
    if is_keras_2():
        jit_compile = jit_compile is True  # Keras 2 knows no "auto" and compiles only when told to
    if backends.name() == Framework.JAX:
        jit_compile = jit_compile or True  # a loop is no less compiled there; False would run every operation by itself
    model.compile(optimizer=optimizer, loss=loss, jit_compile=jit_compile)


def jit_compiled(model: Any) -> bool:
    """Whether Keras compiles this model's steps with XLA, as it decided in ``compile``."""
    return bool(getattr(model, "jit_compile", None) or getattr(model, "_jit_compile", None))


def resolved(model: Any) -> dict[str, str]:
    """The settings in force after Keras decided, as text; layers that differ are listed with commas."""
    layers = recurrent_layers(model)

    def of(read: Callable[[Any], Any]) -> str:
        return ", ".join(sorted({str(read(layer)) for layer in layers})) or "no layer that has it"

    return {
        "jit_compile": str(jit_compiled(model)),
        "use_cudnn": of(lambda layer: getattr(layer, "use_cudnn", "not known to this Keras")),
        "unroll": of(lambda layer: layer.unroll),
        "implementation": of(lambda layer: getattr(layer.cell, "implementation", "not known to this Keras")),
    }
