"""Float64 NumPy LSTM with its analytic gradient: the reference for every kernel. No TensorFlow.

The equations are Keras's (``keras/src/layers/rnn/lstm.py``): gates in the order i, f, c, o, one bias, sigmoid gates::

    i, f, o = sigmoid(z_i), sigmoid(z_f), sigmoid(z_o)      z = x W + h U + b
    c' = f c + i act(z_c)                                   h' = o act(c')

A masked step leaves h and c as they are. What it *outputs* is the step before's output (zeros at the first step), or
zeros where ``zero_masked`` is set: Keras does that inside Bidirectional, and cuDNN does it always.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

Array = np.ndarray[Any, Any]

#: Steps whose gates are computed at once: large enough for one big matrix product, small enough that the gates of a
#: long sequence (1000 steps of 320 units, batch 32: 330 MB) are never all in memory.
_BLOCK = 64


@dataclass(frozen=True)
class LSTMWeights:
    """``kernel`` (features, 4 units), ``recurrent`` (units, 4 units), ``bias`` (4 units) or ``None``; float64."""

    kernel: Array
    recurrent: Array
    bias: Optional[Array]

    @property
    def units(self) -> int:
        return int(self.recurrent.shape[0])

    def as_list(self) -> list[Array]:
        """The tensors in the order of Keras's variables."""
        return [self.kernel, self.recurrent] + ([] if self.bias is None else [self.bias])

    @classmethod
    def of(cls, kernel: Array, recurrent: Array, bias: Optional[Array] = None) -> LSTMWeights:
        """From arrays of any float type."""
        return cls(
            np.asarray(kernel, np.float64),
            np.asarray(recurrent, np.float64),
            None if bias is None else np.asarray(bias, np.float64),
        )


@dataclass(frozen=True)
class Tape:
    """What :func:`lstm_backward` needs of a forward pass; time first, in the order in which steps were taken.

    ``inputs`` (T, B, features); ``hidden`` and ``cell`` (T + 1, B, units), the initial state at index 0; ``outputs``
    (T, B, units); ``mask`` (T, B) or ``None``.
    """

    weights: LSTMWeights
    activation: str
    inputs: Array
    hidden: Array
    cell: Array
    outputs: Array
    mask: Optional[Array]
    go_backwards: bool
    zero_masked: bool

    @property
    def sequence(self) -> Array:
        """(B, T, units). With ``go_backwards`` in the order of processing, as Keras returns it."""
        return self.outputs.transpose(1, 0, 2)

    @property
    def last(self) -> Array:
        """(B, units): the output without ``return_sequences``."""
        return np.asarray(self.outputs[-1])

    @property
    def states(self) -> tuple[Array, Array]:
        """Final h and c, (B, units) each: what an encoder hands to a decoder."""
        return self.hidden[-1], self.cell[-1]


def sigmoid(values: Array) -> Array:
    """Logistic function through tanh, which cannot overflow."""
    return np.asarray(0.5 * np.tanh(0.5 * values) + 0.5)


def _activate(name: str, values: Array) -> Array:
    if name == "tanh":
        return np.tanh(values)
    if name == "relu":
        return np.maximum(values, 0.0)
    raise ValueError(f"The oracle knows no activation {name!r}; it knows tanh and relu.")


def _slope(name: str, activated: Array) -> Array:
    """Derivative of the activation, from its value."""
    return 1.0 - activated**2 if name == "tanh" else (activated > 0.0).astype(np.float64)


def _gates(weights: LSTMWeights, activation: str, pre: Array) -> tuple[Array, Array, Array, Array]:
    units = weights.units
    return (
        sigmoid(pre[..., :units]),
        sigmoid(pre[..., units : 2 * units]),
        _activate(activation, pre[..., 2 * units : 3 * units]),
        sigmoid(pre[..., 3 * units :]),
    )


def _project(values: Array, matrix: Array) -> Array:
    """(T, B, n) times (n, m) as one matrix product."""
    return (values.reshape(-1, values.shape[-1]) @ matrix).reshape(*values.shape[:-1], matrix.shape[1])


def lstm_forward(
    inputs: Array,
    weights: LSTMWeights,
    *,
    activation: str = "tanh",
    mask: Optional[Array] = None,
    go_backwards: bool = False,
    initial: Optional[tuple[Array, Array]] = None,
    zero_masked: bool = False,
) -> Tape:
    """Run the layer over ``inputs`` (B, T, features).

    ``mask`` (B, T) is true where a step counts. ``initial`` is (h, c), zeros by default.
    """
    steps_first = np.asarray(inputs, np.float64).transpose(1, 0, 2)
    mask_first = None if mask is None else np.asarray(mask, bool).T
    if go_backwards:
        steps_first = steps_first[::-1]
        mask_first = None if mask_first is None else mask_first[::-1]
    steps, batch, _ = steps_first.shape
    hidden = np.zeros((steps + 1, batch, weights.units))
    cell = np.zeros_like(hidden)
    if initial is not None:
        hidden[0], cell[0] = initial
    outputs = hidden[1:] if mask_first is None else np.zeros((steps, batch, weights.units))
    for start in range(0, steps, _BLOCK):
        projected = _project(steps_first[start : start + _BLOCK], weights.kernel)
        if weights.bias is not None:
            projected += weights.bias
        for step, pre in enumerate(projected, start):
            i, f, g, o = _gates(weights, activation, pre + hidden[step] @ weights.recurrent)
            cell[step + 1] = f * cell[step] + i * g
            hidden[step + 1] = o * _activate(activation, cell[step + 1])
            if mask_first is not None:
                skipped = ~mask_first[step]
                outputs[step] = hidden[step + 1]
                outputs[step, skipped] = 0.0 if zero_masked or step == 0 else outputs[step - 1, skipped]
                hidden[step + 1, skipped] = hidden[step, skipped]
                cell[step + 1, skipped] = cell[step, skipped]
    return Tape(weights, activation, steps_first, hidden, cell, outputs, mask_first, go_backwards, zero_masked)


@dataclass(frozen=True)
class LSTMGradients:
    """Gradients of a scalar: ``inputs`` (B, T, features), ``weights`` in the order of Keras's variables, and the
    initial ``hidden`` and ``cell`` (B, units)."""

    inputs: Array
    weights: list[Array]
    hidden: Array
    cell: Array


def lstm_backward(
    tape: Tape,
    *,
    sequence: Optional[Array] = None,
    last: Optional[Array] = None,
    states: Optional[tuple[Array, Array]] = None,
) -> LSTMGradients:
    """Back-propagation through time.

    ``sequence`` (B, T, units), ``last`` (B, units) and ``states`` (h, c) are the scalar's gradients with respect to
    what the tape's properties of these names give; those left out are zero.
    """
    weights, units = tape.weights, tape.weights.units
    steps, batch, _ = tape.inputs.shape
    above = np.zeros_like(tape.outputs) if sequence is None else np.array(sequence, np.float64).transpose(1, 0, 2)
    if last is not None:
        above = above.copy()
        above[-1] += last
    d_hidden, d_cell = (np.zeros((batch, units)), np.zeros((batch, units))) if states is None else states
    carried = np.zeros((batch, units))  # gradient of an output that masked steps repeat
    d_inputs = np.empty_like(tape.inputs)
    d_weights = [np.zeros_like(tensor) for tensor in weights.as_list()]
    for start in reversed(range(0, steps, _BLOCK)):
        block = slice(start, min(start + _BLOCK, steps))
        before, inputs = tape.hidden[block], tape.inputs[block]
        pre = _project(inputs, weights.kernel) + _project(before, weights.recurrent)
        i, f, g, o = _gates(weights, tape.activation, pre if weights.bias is None else pre + weights.bias)
        d_pre = np.empty_like(pre)
        for at in reversed(range(block.stop - start)):
            step = start + at
            d_output = above[step] + carried
            kept = None if tape.mask is None else tape.mask[step][:, None]
            d_h = d_hidden + (d_output if kept is None else np.where(kept, d_output, 0.0))
            a = _activate(tape.activation, tape.cell[step + 1])
            d_c = d_cell + d_h * o[at] * _slope(tape.activation, a)
            d_pre[at, :, :units] = d_c * g[at] * i[at] * (1.0 - i[at])
            d_pre[at, :, units : 2 * units] = d_c * tape.cell[step] * f[at] * (1.0 - f[at])
            d_pre[at, :, 2 * units : 3 * units] = d_c * i[at] * _slope(tape.activation, g[at])
            d_pre[at, :, 3 * units :] = d_h * a * o[at] * (1.0 - o[at])
            if kept is None:
                d_hidden, d_cell = d_pre[at] @ weights.recurrent.T, d_c * f[at]
                continue
            d_pre[at] *= kept
            d_hidden = np.where(kept, d_pre[at] @ weights.recurrent.T, d_hidden)
            d_cell = np.where(kept, d_c * f[at], d_cell)
            if not tape.zero_masked:
                carried = np.where(kept, 0.0, d_output)
        flat = d_pre.reshape(-1, 4 * units)
        d_inputs[block] = _project(d_pre, weights.kernel.T)
        d_weights[0] += inputs.reshape(-1, inputs.shape[-1]).T @ flat
        d_weights[1] += before.reshape(-1, units).T @ flat
        if weights.bias is not None:
            d_weights[2] += flat.sum(axis=0)
    if tape.go_backwards:
        d_inputs = d_inputs[::-1]
    return LSTMGradients(d_inputs.transpose(1, 0, 2), d_weights, d_hidden, d_cell)
