"""A whole workload in float64 NumPy: embedding or mask, LSTM layers, head and loss, with all gradients.

Weights come in the order of Keras's ``trainable_variables`` (see :mod:`lstm_models.data`). Dropout is not here: its
random masks cannot be matched, so dropout cases are compared without them.
"""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Optional, Sequence, TypeVar

import numpy as np

from lstm_models.oracle_layers import LSTMGradients, LSTMWeights, Tape, lstm_backward, lstm_forward, sigmoid
from lstm_models.workloads import Workload

Array = np.ndarray[Any, Any]
_T = TypeVar("_T")


@dataclass(frozen=True)
class Pass:
    """One forward pass. ``logits`` are what the head's activation is applied to, (B, n) or (B, T, n); ``mask`` (B, T)
    tells which of their steps count, ``None`` for all. ``pull`` turns their gradient into that of every weight."""

    logits: Array
    mask: Optional[Array]
    pull: Callable[[Array], list[Array]]


class _Reader:
    """Hands out weight tensors in order and notices when there are too few or too many."""

    def __init__(self, weights: Sequence[Array]) -> None:
        self._left: Iterator[Array] = iter(weights)

    def take(self) -> Array:
        try:
            return np.asarray(next(self._left), np.float64)
        except StopIteration:
            raise ValueError("The workload needs more weight tensors than it was given.") from None

    def lstm(self, use_bias: bool) -> LSTMWeights:
        return LSTMWeights(self.take(), self.take(), self.take() if use_bias else None)

    def end(self) -> None:
        if sum(1 for _ in self._left):
            raise ValueError("The workload has fewer weight tensors than it was given.")


def _look_up(table: Array, tokens: Array) -> tuple[Array, Callable[[Array], Array]]:
    """Embedding of ``tokens`` (B, T), and the pull of its gradient to the table."""

    def pull(gradient: Array) -> Array:
        into = np.zeros_like(table)
        np.add.at(into, tokens.reshape(-1), gradient.reshape(-1, table.shape[1]))
        return into

    return table[tokens], pull


def _dense(values: Array, kernel: Array, bias: Array) -> tuple[Array, Callable[[Array], tuple[Array, Array, Array]]]:
    """``values`` (..., n) through a dense layer; the pull gives the gradients of values, kernel and bias."""
    flat = values.reshape(-1, values.shape[-1])

    def pull(gradient: Array) -> tuple[Array, Array, Array]:
        rows = gradient.reshape(-1, gradient.shape[-1])
        return (rows @ kernel.T).reshape(values.shape), flat.T @ rows, rows.sum(axis=0)

    return (flat @ kernel + bias).reshape(*values.shape[:-1], kernel.shape[1]), pull


class Stack:
    """[embedding or Masking] -> LSTM layers, one- or bidirectional -> dense head.

    ``zero_masked``: masked steps of the layers give zeros, as under cuDNN, not the output of the step before.
    """

    def __init__(self, workload: Workload, weights: Sequence[Array], zero_masked: bool = False) -> None:
        reader = _Reader(weights)
        self._workload = workload
        self._zero_masked = zero_masked
        self._table = reader.take() if workload.vocabulary else None
        directions = 2 if workload.bidirectional else 1
        self._layers = [[reader.lstm(workload.use_bias) for _ in range(directions)] for _ in range(workload.layers)]
        self._dense = (reader.take(), reader.take()) if workload.outputs else None
        reader.end()

    def forward(self, inputs: Sequence[Array]) -> Pass:
        """``inputs``: one array, tokens (B, T) or features (B, T, F)."""
        workload, (given,) = self._workload, inputs
        mask: Optional[Array] = None
        if workload.mask != "none":
            mask = given != 0 if workload.vocabulary else np.any(given != 0, axis=-1)
        pull_table = None
        values = np.asarray(given, np.float64)
        if self._table is not None:
            values, pull_table = _look_up(self._table, given)
        tapes: list[list[Tape]] = []
        for at, directions in enumerate(self._layers):
            sequences = at + 1 < len(self._layers) or workload.return_sequences
            run = functools.partial(
                lstm_forward,
                values,
                activation=workload.activation,
                mask=mask,
                zero_masked=self._zero_masked or (sequences and len(directions) == 2),
            )
            tapes.append(
                _side_by_side(
                    [
                        functools.partial(run, weights, go_backwards=direction == 1)
                        for direction, weights in enumerate(directions)
                    ]
                )
            )
            parts = [tape.sequence[:, ::-1] if tape.go_backwards else tape.sequence for tape in tapes[-1]]
            # Without sequences every direction gives its own final h, whatever stands at masked steps.
            values = np.concatenate(parts if sequences else [tape.states[0] for tape in tapes[-1]], axis=-1)
        pull_head = None
        if self._dense is not None:
            values, pull_head = _dense(values, *self._dense)

        def pull(gradient: Array) -> list[Array]:
            head: list[Array] = []
            if pull_head is not None:
                gradient, *head = pull_head(gradient)
            layers: list[list[Array]] = []
            for at in reversed(range(len(tapes))):
                sequences = at + 1 < len(tapes) or workload.return_sequences
                below, found = _pull_layer(tapes[at], gradient, sequences)
                layers.insert(0, found)
                gradient = below
            table = [] if pull_table is None else [pull_table(gradient)]
            return table + [tensor for layer in layers for tensor in layer] + head

        return Pass(values, mask if workload.return_sequences else None, pull)


def _pull_layer(tapes: Sequence[Tape], gradient: Array, sequences: bool) -> tuple[Array, list[Array]]:
    """Gradients of the layer's inputs and weights; ``gradient`` is that of its concatenated directions."""
    parts = np.split(gradient, len(tapes), axis=-1)

    def pull(tape: Tape, part: Array) -> LSTMGradients:
        if sequences:
            return lstm_backward(tape, sequence=part[:, ::-1] if tape.go_backwards else part)
        return lstm_backward(tape, states=(part, np.zeros_like(part)))

    pulled = _side_by_side([functools.partial(pull, tape, parts[at]) for at, tape in enumerate(tapes)])
    below = sum((one.inputs for one in pulled[1:]), pulled[0].inputs)
    return below, [tensor for one in pulled for tensor in one.weights]


def _side_by_side(calls: Sequence[Callable[[], _T]]) -> list[_T]:
    """The two directions of a layer in two threads: NumPy lets others run while it computes."""
    if len(calls) == 1:
        return [calls[0]()]
    with ThreadPoolExecutor(len(calls)) as pool:
        return [done.result() for done in [pool.submit(call) for call in calls]]


class EncoderDecoder:
    """Token encoder whose final h and c start a token decoder with a dense head at every step; no masks."""

    def __init__(self, workload: Workload, weights: Sequence[Array]) -> None:
        reader = _Reader(weights)
        self._activation = workload.activation
        self._encoder_table = reader.take()
        self._encoder = reader.lstm(workload.use_bias)
        self._decoder_table = reader.take()
        self._decoder = reader.lstm(workload.use_bias)
        self._dense = (reader.take(), reader.take())
        reader.end()

    def forward(self, inputs: Sequence[Array]) -> Pass:
        """``inputs``: tokens for the encoder (B, T) and for the decoder (B, T')."""
        source, target = inputs
        encoded, pull_source = _look_up(self._encoder_table, source)
        encoder = lstm_forward(encoded, self._encoder, activation=self._activation)
        embedded, pull_target = _look_up(self._decoder_table, target)
        decoder = lstm_forward(embedded, self._decoder, activation=self._activation, initial=encoder.states)
        logits, pull_dense = _dense(decoder.sequence, *self._dense)

        def pull(gradient: Array) -> list[Array]:
            above, *head = pull_dense(gradient)
            of_decoder = lstm_backward(decoder, sequence=above)
            of_encoder = lstm_backward(encoder, states=(of_decoder.hidden, of_decoder.cell))
            return [
                pull_source(of_encoder.inputs),
                *of_encoder.weights,
                pull_target(of_decoder.inputs),
                *of_decoder.weights,
                *head,
            ]

        return Pass(logits, None, pull)


def activated(head: str, logits: Array) -> Array:
    """The model's output: ``softmax``, ``sigmoid``, or the logits themselves for ``linear`` and ``none``."""
    if head == "softmax":
        raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=-1, keepdims=True))
    return sigmoid(logits) if head == "sigmoid" else logits


def loss_and_slope(head: str, logits: Array, targets: Array, mask: Optional[Array] = None) -> tuple[float, Array]:
    """Keras's mean loss of the head, and its gradient with respect to ``logits``.

    Sparse categorical cross-entropy for ``softmax``, binary cross-entropy for ``sigmoid``, else mean squared error.
    Masked steps count neither in the sum nor in the number it is divided by (``keras/src/losses/loss.py``).
    """
    output = activated(head, logits)
    width = logits.shape[-1]
    if head == "softmax":
        chosen = targets.astype(np.int64).reshape(logits.shape[:-1])[..., None]
        shifted = logits - logits.max(axis=-1, keepdims=True)
        losses = np.log(np.exp(shifted).sum(axis=-1)) - np.take_along_axis(shifted, chosen, axis=-1)[..., 0]
        slope = output.copy()
        np.put_along_axis(slope, chosen, np.take_along_axis(slope, chosen, axis=-1) - 1.0, axis=-1)
    else:
        wanted = np.asarray(targets, np.float64).reshape(logits.shape)
        if head == "sigmoid":
            # log(1 + exp(-|x|)) + max(x, 0) - x y: the cross-entropy on logits, without overflow
            losses = (np.log1p(np.exp(-np.abs(logits))) + np.maximum(logits, 0.0) - logits * wanted).mean(axis=-1)
            slope = (output - wanted) / width
        else:
            losses = ((logits - wanted) ** 2).mean(axis=-1)
            slope = 2.0 * (logits - wanted) / width
    if mask is None:
        return float(losses.mean()), slope / losses.size
    valid = max(int(mask.sum()), 1)
    return float(losses[mask].sum() / valid), np.where(mask[..., None], slope, 0.0) / valid
