"""Which kernel would run, found by tracing a model and not running it; for a GPU host on any machine.

Keras picks cuDNN while it traces, by asking whether there is a GPU. Answered "yes" for the length of a trace, the
graph is the one of a GPU host. This shows what Keras picks, not whether it then runs (see :mod:`lstm_models.explain`
for masks that cuDNN refuses).
"""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Iterator, Sequence

from lstm_models.proof import Expected, classify
from lstm_models.proof_graph import count_graph


@contextmanager
def pretend_gpu() -> Iterator[None]:
    """Keras 3 sees a GPU: layers made and models compiled inside choose as on a GPU host. Nothing can *run* inside.

    Two questions are answered: ``cudnn_ok``'s and that of ``jit_compile="auto"``. Keras 2 asks neither; its graphs
    hold both implementations. (``import keras.src.backend.tensorflow.rnn as x`` gives the function of that name.)
    """
    import tensorflow as tf

    try:
        recurrence: Any = importlib.import_module("keras.src.backend.tensorflow.rnn")
    except ImportError:
        recurrence = SimpleNamespace(_is_gpu_available=None)
    asked, listed = recurrence._is_gpu_available, tf.config.list_physical_devices

    def devices(device_type: Any = None) -> list[Any]:
        found = [device for device in listed() if device.device_type != "GPU"]
        found.append(SimpleNamespace(name="/physical_device:GPU:0", device_type="GPU"))
        return [device for device in found if device_type in (None, device.device_type)]

    recurrence._is_gpu_available = lambda: True
    tf.config.list_physical_devices = devices
    try:
        yield
    finally:
        recurrence._is_gpu_available = asked
        tf.config.list_physical_devices = listed


def traced_kernel(model: Any, *, training: bool, gpu: bool, expected: Expected, batch: int = 2) -> str:
    """Kernel of ``model``'s graph, in words of :func:`lstm_models.proof.classify`; XLA is not asked here.

    ``training``: the graph of the gradients of all weights, with dropout. Call it within :func:`pretend_gpu` when
    ``gpu`` is set. Lengths that the model leaves open are taken as ``expected.timesteps``.
    """
    import tensorflow as tf

    from lstm_models import keras_layers

    variables = [keras_layers.raw(variable) for variable in model.trainable_variables]

    @tf.function  # type: ignore[untyped-decorator]
    def run(*inputs: Any) -> Any:
        given = list(inputs) if len(inputs) > 1 else inputs[0]
        if not training:
            return model(given, training=False)
        with tf.GradientTape() as tape:
            outputs = tf.nest.flatten(model(given, training=True))
            total = tf.add_n([tf.reduce_sum(tf.cast(output, tf.float32)) for output in outputs])
        return tape.gradient(total, variables)

    signature = [
        tf.TensorSpec(_closed(tensor.shape, batch, expected.timesteps), tensor.dtype) for tensor in model.inputs
    ]
    graph = run.get_concrete_function(*signature).graph.as_graph_def()
    return classify(count_graph(graph, prefer="GPU" if gpu else "CPU"), expected)


def _closed(shape: Sequence[Any], batch: int, timesteps: int) -> list[int]:
    """A shape without open dimensions."""
    first, *others = list(shape)
    return [batch if first is None else int(first)] + [timesteps if size is None else int(size) for size in others]
