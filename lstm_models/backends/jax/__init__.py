"""Keras 3 on JAX. All of it is compiled: every path is a jitted function, whatever the kernel."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, Callable, Iterator, Optional

from lstm_models.backends.interface import Recorded, Unmultiplied
from lstm_models.backends.jax import setup
from lstm_models.proof import Proof
from lstm_models.words import Inputs

if TYPE_CHECKING:
    from lstm_models.case import Case
    from lstm_models.data import Array, Dataset
    from lstm_models.models import Built
    from lstm_models.step import Step


class Jax:
    """See :class:`lstm_models.backends.interface.Backend`."""

    name = "jax"
    title = "JAX"
    why_no_selection = (
        "This suite does not say which kernel Keras would pick on a GPU host with JAX. Keras asks JAX for a GPU while "
        "it traces, and JAX, told that there is one, asks cuDNN how much memory the LSTM needs: without a GPU there is "
        "nobody to answer, and no kernel to see. Run a case of kernel auto on the GPU host: its proof names the kernel."
    )

    def __init__(self) -> None:
        self._peak_before = 0

    def start(self) -> None:
        setup.refuse(os.environ)
        os.environ.setdefault(*setup.NO_PREALLOCATION)
        import jax

        # "highest" is float32 in float32. On a GPU the default rounds products to TF32's ten bits, XLA's and those of
        # the cuDNN LSTM (jax/experimental/rnn.py, _lstm_cudnn_allow_tf32): the oracle would refuse them. CPUs have no
        # such shortcut: XLA compiles the same instructions for them with and without, and computes the same bits.
        jax.config.update("jax_default_matmul_precision", "highest")

    def has_gpu(self) -> bool:
        import jax

        return str(jax.default_backend()) == "gpu"

    def synchronise(self, value: Any = None) -> None:
        """A device runs what one thread gives it in the order given: a GPU in one stream, and XLA's CPU client each
        computation after the one before, as was measured (JAX documents no order, and
        test_a_long_call_is_not_overtaken_by_a_short_one watches it). So when the last call's arrays are there, all
        before them are. Of a path that returns numbers, some are in variables, and so they are after a reset: then all
        arrays that live are waited for."""
        import jax

        arrays = [leaf for leaf in jax.tree_util.tree_leaves(value) if isinstance(leaf, jax.Array)]
        jax.block_until_ready(arrays or jax.live_arrays())

    def forward(self, built: Built, dataset: Dataset, inputs: Inputs = Inputs.DEVICE) -> Step:
        from lstm_models.backends.jax.steps import forward_step

        return forward_step(built, dataset, inputs)

    def backward(self, built: Built, dataset: Dataset) -> Step:
        from lstm_models.backends.jax.steps import backward_step

        return backward_step(built, dataset)

    def record(self, model: Any, which: str) -> Recorded:
        from lstm_models.backends.jax.recording import record

        return record(model, which)

    def prove(self, step: Step, case: Case) -> Proof:
        from lstm_models.backends.jax.proof import prove

        return prove(step, case)

    def reset_device_peak(self) -> None:
        """JAX keeps one high-water mark from the start of the process on, so all that can be done is to note it."""
        self._peak_before = setup.memory("peak_bytes_in_use") or 0

    def device_in_use(self) -> Optional[int]:
        return setup.memory("bytes_in_use")

    def device_peak(self) -> Optional[int]:
        """``None`` where the mark did not rise: an earlier case had needed as much, and hides what this one did."""
        peak = setup.memory("peak_bytes_in_use")
        return peak if peak is not None and peak > self._peak_before else None

    def product(self, side: int, precision: str) -> Callable[[], Any]:
        import jax

        matrix = jax.random.uniform(jax.random.PRNGKey(side), (side, side)).astype(precision)
        multiplied = jax.jit(jax.numpy.matmul)

        def multiply() -> Any:
            try:
                return multiplied(matrix, matrix)
            except (RuntimeError, TypeError) as error:  # XLA's errors are RuntimeErrors
                raise Unmultiplied(str(error)) from error

        return multiply

    def copy(self, array: Array) -> Callable[[], Any]:
        import jax

        device = jax.devices("gpu")[0]
        return lambda: jax.device_put(array, device)

    def versions(self) -> dict[str, str]:
        return setup.versions()

    def settings(self) -> dict[str, str]:
        return setup.settings(self.has_gpu())

    def devices(self) -> list[str]:
        return setup.devices()

    @contextlib.contextmanager
    def profile(self, folder: str) -> Iterator[None]:
        import jax

        with jax.profiler.trace(folder):
            yield


def make() -> Jax:
    return Jax()
