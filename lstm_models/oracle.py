"""Does a case compute an LSTM? Its numbers against the float64 reference, before anything is timed.

Compared is one batch from zero states: the outputs of forward and predict, the loss of the other paths, and all
gradients where the path makes them. Decoding is compared along the tokens that the framework chose: each of its
distributions must be the reference's after those tokens. (A chosen token is then the likeliest one, up to twice the
tolerance; had another been fed back, the next distribution would be off.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Optional, Sequence

import numpy as np

from lstm_models import agreement, kernels
from lstm_models.agreement import Agreement, Array
from lstm_models.case import Case
from lstm_models.data import START, Dataset
from lstm_models.oracle_network import EncoderDecoder, Stack, activated, loss_and_slope
from lstm_models.words import Device, Framework, Kernel, Path, Precision

#: Paths that yield outputs; the others yield a loss.
_WITH_OUTPUTS = (Path.FORWARD, Path.PREDICT)
_WITH_GRADIENTS = (Path.BACKWARD, Path.FIT)


@dataclass(frozen=True)
class Reference:
    """What a case should compute: ``result`` as ``Step.result``, ``gradients`` as ``Step.gradients``."""

    result: Array
    gradients: Optional[list[Array]]


def check(case: Case, dataset: Dataset, weights: Optional[Sequence[Array]], step: Any) -> Agreement:
    """How far ``step`` (a :class:`lstm_models.step.Step` after its first call) is from the reference.

    ``weights`` in canonical order; not read for a builder's model, whose reference is the model itself under the loop
    kernel in float32 (one more first call), and for a saved one, which has none in this process: its probe is compared
    across processes.
    """
    result = np.asarray(step.result())
    gradients = step.gradients() if case.path in _WITH_GRADIENTS else None
    found = agreement.probe(result)
    tolerance = agreement.TOLERANCE[case.precision]
    batch = dataset.first(case.batch)
    if case.workload.kind in ("stack", "encoder-decoder"):
        assert weights is not None
        reference = expected(case, batch, weights, result)
    elif case.workload.kind == "builder" and (case.kernel, case.precision) != (Kernel.LOOP, Precision.FLOAT32):
        reference = _under_loop(case, batch)
    else:
        return Agreement(None, None, tolerance, found)
    output_error = agreement.relative_error(result, reference.result)
    worst = f"{'outputs' if case.path in _WITH_OUTPUTS else 'loss'}, shape {tuple(reference.result.shape)}"
    factor = agreement.GRADIENT_FACTOR[case.precision]
    if reference.gradients is None:
        return Agreement(output_error, None, tolerance, found, factor, worst)
    assert gradients is not None
    compared = len(reference.gradients) - (1 if _stagnates(case) else 0)
    gradient_error, tensor = agreement.gradient_error(gradients[:compared], reference.gradients[:compared])
    if gradient_error > factor * output_error:
        worst = tensor
    return Agreement(output_error, gradient_error, tolerance, found, factor, worst)


def _stagnates(case: Case) -> bool:
    """Whether the head's bias, the last tensor, is left out.

    Its gradient is a sum over all samples and steps, and TensorFlow adds bfloat16 numbers one after another, so that
    the sum stops growing: off by 27 % on ``chatbot`` (1280 rows), in an operation that is not the LSTM's. XLA's CPU
    code for JAX does so with float16 too: off by 6 % there.
    """
    in_order = case.framework is Framework.JAX and case.precision is Precision.MIXED_FLOAT16
    return (in_order or case.precision is Precision.MIXED_BFLOAT16) and bool(case.workload.outputs)


def expected(case: Case, batch: Dataset, weights: Sequence[Array], result: Array) -> Reference:
    """The reference for one batch in float64. ``result``: the framework's, for the tokens that decoding chose."""
    workload = case.workload
    head = "softmax" if workload.kind == "encoder-decoder" else workload.head
    if workload.kind == "encoder-decoder":
        network: Any = EncoderDecoder(workload, weights)
    else:
        network = Stack(workload, weights, zero_masked=_zero_masked(case))
    inputs = list(batch.inputs)
    if workload.kind == "encoder-decoder" and case.path is Path.PREDICT:
        inputs[1] = _fed_back(result)
    passed = network.forward(inputs)
    if case.path in _WITH_OUTPUTS:
        return Reference(activated(head, passed.logits), None)
    loss, slope = loss_and_slope(head, passed.logits, batch.targets, passed.mask)
    return Reference(np.asarray(loss), passed.pull(slope) if case.path in _WITH_GRADIENTS else None)


def _fed_back(distributions: Array) -> Array:
    """The tokens (B, tokens) that greedy decoding fed to its decoder, from what came out (B, tokens, vocabulary)."""
    chosen = np.argmax(distributions, axis=-1)
    return np.concatenate([np.full((len(chosen), 1), START), chosen[:, :-1]], axis=1)


def _zero_masked(case: Case) -> bool:
    """cuDNN puts out zeros at masked steps, Keras's loop the output of the step before."""
    may_be_cudnn = case.device is Device.GPU and case.kernel in (Kernel.CUDNN, Kernel.AUTO)
    return may_be_cudnn and not kernels.obstacles(case.workload, case.framework)


def _under_loop(case: Case, batch: Dataset) -> Reference:
    """What a builder's model yields under the loop kernel in float32, on the same weights and data."""
    from lstm_models import models, paths

    plain = replace(case, kernel=Kernel.LOOP, precision=Precision.FLOAT32)
    built = models.build(plain.workload, plain.kernel, plain.precision, plain.batch)
    step = paths.open_path(plain, built, batch)
    step.call()
    result = np.asarray(step.result())
    return Reference(result, step.gradients() if case.path in _WITH_GRADIENTS else None)
