"""What a framework under Keras must offer to be measured: one small interface, one package for each behind it.

Nothing else in ``lstm_models`` imports a framework. A module of this package imports its own inside functions, and no
other one, so that a host needs only the one that it runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, ContextManager, Optional, Protocol

from lstm_models.proof import Proof
from lstm_models.words import Inputs

if TYPE_CHECKING:
    from lstm_models.case import Case
    from lstm_models.data import Array, Dataset
    from lstm_models.models import Built
    from lstm_models.step import Step


@dataclass(frozen=True)
class Recorded:
    """What Keras runs for ``fit``, ``evaluate`` or ``predict``, watched from when it was made.

    ``traces()`` counts how often it was traced or compiled so far, 0 for a framework that does neither. ``evidence``
    goes into :attr:`lstm_models.step.Step.evidence`.
    """

    traces: Callable[[], int]
    evidence: Any


class Unmultiplied(Exception):
    """This host has no matrix product of that precision, or no memory for one of that size."""


class Backend(Protocol):
    """One framework, in this process. Nothing but :meth:`start` may be called before :meth:`start`."""

    #: As ``KERAS_BACKEND`` spells it.
    name: str
    #: As people write it.
    title: str
    #: Why nobody can say here which kernel Keras would pick on a GPU host; "" where tracing tells.
    why_no_selection: str

    def start(self) -> None:
        """Import the framework and set what every measurement needs: memory that is taken as it is used, float32
        products in float32 (no TF32). Once in a process."""

    def has_gpu(self) -> bool:
        """Whether this process would run on a GPU."""

    def synchronise(self, value: Any = None) -> None:
        """Wait until every device has done what it was given; ``value`` is what the last call returned."""

    def forward(self, built: Built, dataset: Dataset, inputs: Inputs = Inputs.DEVICE) -> Step:
        """The model's output, at inference; nothing is traced yet.

        ``inputs`` on the device are put there once. On the host they stay NumPy arrays, which every call takes to the
        device the way the framework itself does when it is given them.
        """

    def backward(self, built: Built, dataset: Dataset) -> Step:
        """The loss and the gradient of every trainable weight, in training mode; nothing is traced yet."""

    def record(self, model: Any, which: str) -> Recorded:
        """Make the model's ``train``, ``test`` or ``predict`` function and watch it."""

    def prove(self, step: Step, case: Case) -> Proof:
        """Which kernel and device run when ``step`` is called, after its first call, read from what is executed.

        May call it once more. A call that traces anew proves nothing about those that are timed: the kernel is then
        ``unknown``.
        """

    def reset_device_peak(self) -> None:
        """Start the GPU allocator's high-water mark anew."""

    def device_in_use(self) -> Optional[int]:
        """Bytes that arrays use on the GPU now, ``None`` where no count is kept."""

    def device_peak(self) -> Optional[int]:
        """Most bytes that were used on the GPU since :meth:`reset_device_peak`, or ``None``; workspaces too."""

    def product(self, side: int, precision: str) -> Callable[[], Any]:
        """A product of two matrices (side, side) of ``precision`` (float32, bfloat16, float16) on the device; raises
        :class:`Unmultiplied` here or when it is called."""

    def copy(self, array: Array) -> Callable[[], Any]:
        """A copy of ``array``, which lies in host memory as the framework would stage it, to the GPU."""

    def versions(self) -> dict[str, str]:
        """``{name: version, "cuda": ..., "cudnn": ...}``; the last two say so where it is not built with CUDA."""

    def settings(self) -> dict[str, str]:
        """The framework's settings that bear on speed or numbers, as text."""

    def devices(self) -> list[str]:
        """What it sees, e.g. ``CPU:0`` and ``GPU:0 NVIDIA A100 compute 8.0``."""

    def profile(self, folder: str) -> ContextManager[None]:
        """Write a profile of what runs inside to ``folder``, in the framework's own format."""
