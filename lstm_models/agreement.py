"""How far a framework's numbers are from the oracle's, and how far they may be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Optional, Sequence

import numpy as np

from lstm_models.words import Precision

Array = np.ndarray[Any, Any]

#: Largest difference, relative to the scale of the oracle's numbers, that rounding alone was seen to stay below.
TOLERANCE = {
    Precision.FLOAT32: 1e-5,
    Precision.MIXED_FLOAT16: 5e-3,
    Precision.MIXED_BFLOAT16: 3e-2,
}

#: How much further gradients may be off in reduced precision: they pass the rounding of the forward and of the backward
#: pass, and sum over all samples and steps. Seen on CPUs, loop and xla, over eight workloads: float16 up to 1.9e-2,
#: bfloat16 up to 8.1e-2 (both relu); a wrong gate order, a missing mask or bias, exchanged states: 0.3 and more.
GRADIENT_FACTOR = {
    Precision.FLOAT32: 1.0,
    Precision.MIXED_FLOAT16: 5.0,
    Precision.MIXED_BFLOAT16: 5.0,
}

#: A gradient tensor is compared on its own scale, so that a fault in a small tensor (a bias, the first layer) cannot
#: hide behind a large one; but never on less than this share of the largest tensor's, since what cancels to almost
#: nothing is rounding in every arithmetic.
SMALLEST_GRADIENT_SCALE = 1e-3

#: Numbers that a case stores of its result.
PROBE_SIZE = 16


@dataclass(frozen=True)
class Agreement:
    """Differences relative to the oracle's scale, ``None`` where the path yields no such numbers, ``inf`` for
    not-a-number or a wrong shape.

    ``tolerance`` is that of the outputs; gradients have ``gradient_factor`` times it. ``probe`` holds up to 16 numbers
    at fixed, spread positions of the framework's result. ``worst`` names what differed most, in words.
    """

    output_error: Optional[float]
    gradient_error: Optional[float]
    tolerance: float
    probe: tuple[float, ...]
    gradient_factor: float = 1.0
    worst: str = ""

    @property
    def agrees(self) -> bool:
        """Within tolerance wherever there was something to compare."""
        if self.output_error is not None and not self.output_error <= self.tolerance:
            return False
        return self.gradient_error is None or self.gradient_error <= self.gradient_factor * self.tolerance

    @property
    def message(self) -> str:
        """One paragraph for a person: what differs, by how much, and what that may mean."""
        compared = (
            ("outputs", self.output_error, self.tolerance),
            ("gradients", self.gradient_error, self.gradient_factor * self.tolerance),
        )
        found = " and ".join(
            f"{name} differ from the float64 reference by {error:.1e} of their scale (tolerance {bound:.0e})"
            for name, error, bound in compared
            if error is not None
        )
        if not found:
            return "There is no reference for this case's numbers."
        if self.agrees:
            return f"{found}."
        return (
            f"{found}: beyond the tolerance. Worst: {self.worst}. What ran is not the LSTM of these weights: look for "
            "a changed gate order, mask, state or activation."
        )


def relative_error(found: Array, expected: Array, scale: Optional[float] = None) -> float:
    """max |found - expected| over ``scale``, by default max |expected|; ``inf`` where no number or another shape.

    Where the scale is 0 (all expected numbers are 0), any difference at all is ``inf``.
    """
    found = np.asarray(found, np.float64)
    expected = np.asarray(expected, np.float64)
    if found.shape != expected.shape or not np.all(np.isfinite(found)) or not np.all(np.isfinite(expected)):
        return math.inf
    if expected.size == 0:
        return 0.0
    difference = float(np.max(np.abs(found - expected)))
    size = float(np.max(np.abs(expected))) if scale is None else scale
    if size == 0.0:
        return 0.0 if difference == 0.0 else math.inf
    return difference / size


def gradient_error(found: Sequence[Array], expected: Sequence[Array]) -> tuple[float, str]:
    """Largest error over the tensors, each on its own scale (see above), and which tensor it was."""
    if len(found) != len(expected):
        return math.inf, f"{len(found)} gradients where {len(expected)} were expected"
    scales = [float(np.max(np.abs(tensor), initial=0.0)) for tensor in expected]
    floor = SMALLEST_GRADIENT_SCALE * max(scales, default=0.0)
    errors = [relative_error(found[at], tensor, max(scales[at], floor)) for at, tensor in enumerate(expected)]
    if not errors:
        return 0.0, ""
    at = int(np.argmax(errors))
    return errors[at], f"gradient {at + 1} of {len(errors)}, shape {tuple(expected[at].shape)}"


def probe(result: Array) -> tuple[float, ...]:
    """Up to 16 numbers of ``result`` as Python floats of float32 value, first and last always among them."""
    flat = np.asarray(result, np.float32).reshape(-1)
    positions = np.linspace(0, max(flat.size - 1, 0), min(PROBE_SIZE, flat.size)).round().astype(int)
    return tuple(float(flat[at]) for at in positions)
