"""Floating point operations and input bytes of a step, from the workload's record alone. No TensorFlow here.

Only products of matrices are counted, a multiplication and an addition as two operations: they are what a kernel
shares with the matrix multiplication that its rate is held against. Gates, activations, the optimizer and embeddings
(a look-up) are left out, so a share of the peak that follows from these numbers is a little too low, never too high.
"""

from __future__ import annotations

from typing import Optional

from lstm_models.case import Case
from lstm_models.words import Path
from lstm_models.workloads import Workload

#: Forward is one product; its gradient is two of the same size, one for the weights and one for the inputs. Nobody
#: asks for the gradient of features, so that part of the first layer's is not there.
TRAINING = 3


def flops_per_sample(case: Case) -> Optional[float]:
    """Operations per sample of one step; ``None`` for a user's own model, of which the record does not tell.

    A step of decoding is a token: it runs the decoder's cell and the head, and its part of the encoder.
    """
    workload = case.workload
    if workload.kind not in ("stack", "encoder-decoder"):
        return None
    forward: float
    if workload.kind == "stack":
        forward = _stack(workload)
    elif case.path is Path.PREDICT:
        forward = _decoded_token(workload)
    else:
        forward = 2 * _sequence(workload) + workload.timesteps * _dense(workload.units, workload.vocabulary)
    if case.path not in (Path.BACKWARD, Path.FIT):
        return float(forward)
    return float(TRAINING * forward - _gradient_of_features(workload))


def input_bytes_per_sample(case: Case) -> Optional[float]:
    """Bytes of one sample's inputs as they are copied to a device: int32 tokens or float32 features, no targets."""
    workload = case.workload
    if workload.kind not in ("stack", "encoder-decoder") or (case.path is Path.PREDICT and workload.decode_tokens):
        return None
    per_step = 1 if workload.vocabulary else workload.features
    return float(4 * workload.timesteps * per_step * (2 if workload.kind == "encoder-decoder" else 1))


def lstm_step(units: int, inputs: int) -> int:
    """One cell, one sample: four gates, each a product with the inputs and one with the state."""
    return 2 * 4 * units * (units + inputs)


def _dense(inputs: int, outputs: int) -> int:
    return 2 * inputs * outputs


def _stack(workload: Workload) -> int:
    inputs = workload.embedding if workload.vocabulary else workload.features
    directions = 2 if workload.bidirectional else 1
    total = 0
    for _ in range(workload.layers):
        total += workload.timesteps * directions * lstm_step(workload.units, inputs)
        inputs = workload.units * directions
    positions = workload.timesteps if workload.return_sequences else 1
    return total + positions * _dense(inputs, workload.outputs)


def _gradient_of_features(workload: Workload) -> int:
    directions = 2 if workload.bidirectional else 1
    return workload.timesteps * directions * _dense(workload.features, 4 * workload.units)


def _sequence(workload: Workload) -> int:
    """The encoder, or the decoder, over its whole sequence."""
    return workload.timesteps * lstm_step(workload.units, workload.embedding)


def _decoded_token(workload: Workload) -> float:
    head = _dense(workload.units, workload.vocabulary)
    return lstm_step(workload.units, workload.embedding) + head + _sequence(workload) / workload.decode_tokens
