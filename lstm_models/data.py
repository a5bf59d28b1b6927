"""Seeded weights, inputs and targets: the same numbers in every process and under every framework version.

All come from ``numpy.random.RandomState``, whose streams NumPy promises never to change; a framework's own
initialisers differ between versions, and results could then not be compared.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, Optional, Sequence

import numpy as np

from lstm_models.workloads import Workload

Array = Any  # numpy.ndarray; the versions of NumPy in use disagree on its type parameters

#: The token that starts a decoder's sequence. 0 is padding; drawn tokens may be any but 0.
START = 1


@dataclass(frozen=True)
class Dataset:
    """Inputs and targets of one or more whole batches; the first axis counts samples.

    ``inputs`` has one array per model input: tokens ``(samples, timesteps)`` int32 or features
    ``(samples, timesteps, features)`` float32; an encoder-decoder has two, the encoder's and the decoder's tokens.
    ``targets``: class numbers int32 for a softmax head, 0 or 1 float32 for sigmoid, else float32 of the output's shape.
    """

    inputs: tuple[Array, ...]
    targets: Array

    def first(self, samples: int) -> Dataset:
        """The first ``samples`` samples."""
        return Dataset(tuple(array[:samples] for array in self.inputs), self.targets[:samples])


def weights(workload: Workload) -> list[Array]:
    """Weights in canonical order, float32.

    ``[embedding]``, then per LSTM layer ``kernel (in, 4u), recurrent (u, 4u), bias (4u)`` (no bias without
    ``use_bias``; bidirectional: forward, then backward), then ``[dense kernel, dense bias]``. Encoder-decoder:
    encoder embedding, encoder LSTM, decoder embedding, decoder LSTM, dense. Raises ``ValueError`` for a builder's or
    a saved model, whose shapes only the model knows.
    """
    random = _random(workload, "weights")
    if workload.kind == "encoder-decoder":
        found = []
        for _ in ("encoder", "decoder"):
            found.append(_uniform(random, (workload.vocabulary, workload.embedding), 1.0))
            found += _lstm(random, workload, workload.embedding)
        return found + _dense(random, workload.units, workload.outputs)
    if workload.kind != "stack":
        raise ValueError(f"{workload.name}: the weights of a {workload.kind} workload depend on its model.")
    width = workload.embedding if workload.vocabulary else workload.features
    found = [_uniform(random, (workload.vocabulary, width), 1.0)] if workload.vocabulary else []
    directions = 2 if workload.bidirectional else 1
    for _ in range(workload.layers):
        for _ in range(directions):
            found += _lstm(random, workload, width)
        width = workload.units * directions
    return found + (_dense(random, width, workload.outputs) if workload.outputs else [])


def weights_like(workload: Workload, shapes: Sequence[Sequence[int]]) -> list[Array]:
    """Weights for a builder's model, one array per shape, float32, scaled as :func:`weights` scales a kernel."""
    random = _random(workload, "weights")
    found = [tuple(shape) for shape in shapes]
    return [_glorot(random, shape) if len(shape) > 1 else _uniform(random, shape, 0.1) for shape in found]


def dataset(workload: Workload, batch: int, batches: int) -> Dataset:
    """``batches`` batches of ``batch`` samples for a workload of kind stack or encoder-decoder.

    The first batches are the same however many there are. Masked workloads have lengths drawn from timesteps/2 to
    timesteps; the rest of a sample is 0, at its start or end.
    """
    if workload.kind == "encoder-decoder":
        return _translations(workload, batch * batches)
    width = workload.units * (2 if workload.bidirectional else 1)
    last = workload.outputs or width
    output = (workload.timesteps, last) if workload.return_sequences else (last,)
    features = None if workload.vocabulary else workload.features
    return dataset_like(workload, [(workload.timesteps, features)], output, batch * batches)


def dataset_like(
    workload: Workload,
    inputs: Sequence[tuple[int, Optional[int]]],
    output: Sequence[int],
    samples: int,
) -> Dataset:
    """Data for a model of known shapes: per input ``(timesteps, features)``, features ``None`` for tokens.

    ``output`` is the shape of one sample's output.
    """
    arrays = []
    for number, (timesteps, features) in enumerate(inputs):
        random = _random(workload, f"input {number}")
        if features is None:
            array = random.randint(1, workload.vocabulary, (samples, timesteps)).astype(np.int32)
        else:
            array = _uniform(random, (samples, timesteps, features), 1.0)
        arrays.append(_padded(_random(workload, "lengths"), array, workload.mask))
    return Dataset(tuple(arrays), _targets(_random(workload, "targets"), workload.head, (samples, *output)))


def _translations(workload: Workload, samples: int) -> Dataset:
    """Source tokens, and target tokens twice: shifted behind START as the decoder's input, and as its targets."""
    shape = (samples, workload.timesteps)
    source = _random(workload, "input 0").randint(1, workload.vocabulary, shape).astype(np.int32)
    target = _random(workload, "targets").randint(1, workload.vocabulary, shape).astype(np.int32)
    shifted = np.concatenate([np.full((samples, 1), START, np.int32), target[:, :-1]], axis=1)
    return Dataset((source, shifted), target)


def _targets(random: Any, head: str, shape: tuple[int, ...]) -> Array:
    if head == "softmax":
        return random.randint(0, shape[-1], shape[:-1]).astype(np.int32)
    if head == "sigmoid":
        # One in four is 1: with as many of both, the output bias's gradient nearly cancels and only rounding is left.
        return (random.randint(0, 4, shape) == 0).astype(np.float32)
    return _uniform(random, shape, 1.0)


def _padded(random: Any, array: Array, mask: str) -> Array:
    if mask == "none":
        return array
    samples, timesteps = array.shape[:2]
    lengths = random.randint((timesteps + 1) // 2, timesteps + 1, samples)
    steps = np.arange(timesteps)
    kept = steps < lengths[:, None] if mask == "right" else steps >= (timesteps - lengths)[:, None]
    return array * kept.reshape(kept.shape + (1,) * (array.ndim - 2)).astype(array.dtype)


def _random(workload: Workload, purpose: str) -> Any:
    """A stream per workload name and purpose: each array has its own, so that its first samples never depend on how
    many samples are drawn of the others."""
    return np.random.RandomState(zlib.crc32(f"{workload.name}/{purpose}".encode()))


def _uniform(random: Any, shape: tuple[int, ...], limit: float) -> Array:
    return ((random.random_sample(shape) * 2 - 1) * limit).astype(np.float32)


def _glorot(random: Any, shape: tuple[int, ...]) -> Array:
    return _uniform(random, shape, float(np.sqrt(6.0 / (shape[-2] + shape[-1]))))


def _lstm(random: Any, workload: Workload, width: int) -> list[Array]:
    """One LSTM's arrays in Keras's gate order i, f, c, o. Each gate's block has Glorot's limit of its own shape."""
    units = workload.units
    kernel = np.concatenate([_glorot(random, (width, units)) for _ in range(4)], axis=1)
    recurrent = np.concatenate([_glorot(random, (units, units)) for _ in range(4)], axis=1)
    if not workload.use_bias:
        return [kernel, recurrent]
    bias = _uniform(random, (4 * units,), 0.1)
    bias[units : 2 * units] += 1.0  # Keras's unit_forget_bias
    return [kernel, recurrent, bias]


def _dense(random: Any, width: int, outputs: int) -> list[Array]:
    # By its inputs alone: Glorot's limit for 10 000 outputs would make every distribution nearly uniform, and a fault
    # in the LSTM below would hardly show in it.
    return [_uniform(random, (width, outputs), float(np.sqrt(6.0 / width))), _uniform(random, (outputs,), 0.1)]
