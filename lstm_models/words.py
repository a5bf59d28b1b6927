"""The words a case is made of.

Plain ``str`` enums, so that a member *is* the string that stands in ids, files and messages.
This module and everything that :mod:`lstm_models.case` needs is Python 3.9 code without TensorFlow: it
runs in workers of old frameworks and in the pytest process alike.
"""

from __future__ import annotations

from enum import Enum


class Word(str, Enum):
    """A closed vocabulary; ``str(member)`` is the plain word."""

    def __str__(self) -> str:
        return str(self.value)


class Path(Word):
    """What one step does with the model."""

    FORWARD = "forward"
    BACKWARD = "backward"
    FIT = "fit"
    EVALUATE = "evaluate"
    PREDICT = "predict"


class Framework(Word):
    """What Keras runs on, as ``KERAS_BACKEND`` spells it. The first is Keras's default."""

    TENSORFLOW = "tensorflow"
    JAX = "jax"
    TORCH = "torch"


class Kernel(Word):
    """How the recurrence is computed. Not every framework has every kernel (:data:`lstm_models.kernels.EXIST`)."""

    AUTO = "auto"
    CUDNN = "cudnn"
    LOOP = "loop"
    UNROLLED = "unrolled"
    XLA = "xla"
    INDUCTOR = "inductor"
    CUDNN_LAYER = "cudnn-layer"


class Device(Word):
    """Where a step runs."""

    CPU = "cpu"
    GPU = "gpu"


class Inputs(Word):
    """Where the inputs lie that a forward call is given: on its device, or as NumPy arrays on the host."""

    DEVICE = "device"
    HOST = "host"


class Precision(Word):
    """Keras dtype policy."""

    FLOAT32 = "float32"
    MIXED_FLOAT16 = "mixed_float16"
    MIXED_BFLOAT16 = "mixed_bfloat16"
