"""Which kernel would run, found by tracing a model and not running it; for a GPU host on any machine.

Keras picks cuDNN while it traces, by asking whether there is a GPU. Answered "yes" for the length of a trace, the
graph is the one of a GPU host. This shows what Keras picks, not whether it then runs (see :mod:`lstm_models.explain`
for masks that cuDNN refuses).
"""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Callable, Iterator, Optional, Sequence

from lstm_models.backends.tensorflow.graph import count_graph
from lstm_models.backends.tensorflow.proof import classify
from lstm_models.proof import Expected


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


def traced_kernel(
    model: Any,
    *,
    training: bool,
    gpu: bool,
    expected: Expected,
    batch: int = 2,
    call: Optional[Callable[..., Any]] = None,
    gradients: bool = True,
) -> str:
    """Kernel of ``model``'s graph, in words of :func:`lstm_models.backends.tensorflow.proof.classify`, but for XLA.

    ``training``: the graph of the gradients of all weights, with dropout; without ``gradients`` that of the forward
    pass only, which is where Keras picks (``expected.training`` is then false: no second loop). Call it within
    :func:`pretend_gpu` when ``gpu`` is set. Lengths that the model leaves open are taken as ``expected.timesteps``.
    ``call``: what is traced with the model's inputs in its place, such as its only layer.
    """
    import tensorflow as tf

    from lstm_models.backends.tensorflow.steps import raw

    function = model if call is None else call
    variables = [raw(variable) for variable in model.trainable_variables]

    @tf.function  # type: ignore[untyped-decorator]
    def run(*inputs: Any) -> Any:
        given = list(inputs) if len(inputs) > 1 else inputs[0]
        if not (training and gradients):
            return tf.nest.flatten(function(given, training=training))
        with tf.GradientTape() as tape:
            outputs = tf.nest.flatten(function(given, training=True))
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


def refusal(mask: Any) -> str:
    """What Keras 3's run-time check says of a mask (batch, timesteps; bool) for cuDNN; empty where it passes.

    Keras 2 has no such check: it looks at each mask and takes the loop instead.
    """
    import tensorflow as tf

    try:
        check = importlib.import_module("keras.src.backend.tensorflow.rnn")._assert_valid_mask
    except (ImportError, AttributeError):
        return ""
    try:
        check(tf.constant(mask))
    except tf.errors.InvalidArgumentError as error:
        return str(error.message).split("b'")[-1].split('b"')[-1].strip("'\" ")
    return ""
