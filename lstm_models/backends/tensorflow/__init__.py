"""Keras on TensorFlow: Keras 3, or Keras 2 with TensorFlow 2.15 or tf-keras."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, Callable, Iterator, Optional

from lstm_models.backends.interface import Recorded, Unmultiplied
from lstm_models.proof import Proof
from lstm_models.words import Inputs

if TYPE_CHECKING:
    from lstm_models.case import Case
    from lstm_models.data import Array, Dataset
    from lstm_models.models import Built
    from lstm_models.step import Step

_GPU = "GPU:0"


class TensorFlow:
    """See :class:`lstm_models.backends.interface.Backend`."""

    name = "tensorflow"
    title = "TensorFlow"
    why_no_selection = ""

    def start(self) -> None:
        import tensorflow as tf

        for device in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(device, True)  # else the first process takes all of the memory
        # Products of ten bits are no float32: the oracle would refuse them, and a release that changes the default
        # would look like a faster one. Mixed precision is what asks for less.
        tf.config.experimental.enable_tensor_float_32_execution(False)

    def has_gpu(self) -> bool:
        import tensorflow as tf

        return bool(tf.config.list_logical_devices("GPU"))

    def synchronise(self, value: Any = None) -> None:
        import tensorflow as tf

        tf.test.experimental.sync_devices()

    def forward(self, built: Built, dataset: Dataset, inputs: Inputs = Inputs.DEVICE) -> Step:
        from lstm_models.backends.tensorflow.steps import forward_step

        return forward_step(built, dataset, inputs)

    def backward(self, built: Built, dataset: Dataset) -> Step:
        from lstm_models.backends.tensorflow.steps import backward_step

        return backward_step(built, dataset)

    def record(self, model: Any, which: str) -> Recorded:
        from lstm_models.backends.tensorflow.recording import record

        return record(model, which)

    def prove(self, step: Step, case: Case) -> Proof:
        from lstm_models.backends.tensorflow.proof import prove

        return prove(step, case)

    def reset_device_peak(self) -> None:
        import tensorflow as tf

        tf.config.experimental.reset_memory_stats(_GPU)

    def device_in_use(self) -> Optional[int]:
        import tensorflow as tf

        return int(tf.config.experimental.get_memory_info(_GPU)["current"])

    def device_peak(self) -> Optional[int]:
        import tensorflow as tf

        return int(tf.config.experimental.get_memory_info(_GPU)["peak"])

    def product(self, side: int, precision: str) -> Callable[[], Any]:
        import tensorflow as tf

        matrix = tf.cast(tf.random.stateless_uniform((side, side), seed=(1, side)), precision)

        def multiply() -> Any:
            try:
                return tf.linalg.matmul(matrix, matrix)
            except (tf.errors.OpError, TypeError) as error:
                raise Unmultiplied(str(error)) from error

        return multiply

    def copy(self, array: Array) -> Callable[[], Any]:
        import tensorflow as tf

        with tf.device("CPU:0"):
            host = tf.constant(array)

        def copied() -> Any:
            with tf.device(_GPU):
                return tf.identity(host)

        return copied

    def versions(self) -> dict[str, str]:
        import tensorflow as tf

        build = tf.sysconfig.get_build_info()
        return {
            "tensorflow": str(tf.__version__),
            "cuda": str(build.get("cuda_version", "not built with CUDA")),
            "cudnn": str(build.get("cudnn_version", "not built with CUDA")),
        }

    def settings(self) -> dict[str, str]:
        import tensorflow as tf
        from tensorflow.python.framework import config  # the public API can set determinism but not tell it

        threading = tf.config.threading
        return {
            "onednn": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "default"),
            "intra_op_threads": _threads(threading.get_intra_op_parallelism_threads()),
            "inter_op_threads": _threads(threading.get_inter_op_parallelism_threads()),
            "tf32": _on(tf.config.experimental.tensor_float_32_execution_enabled()),
            "determinism": _on(config.is_op_determinism_enabled()),
            "gpu_memory_growth": "on" if tf.config.list_physical_devices("GPU") else "no GPU",
        }

    def devices(self) -> list[str]:
        import tensorflow as tf

        found = []
        for device in tf.config.list_physical_devices():
            details = tf.config.experimental.get_device_details(device) if device.device_type == "GPU" else {}
            capability = ".".join(str(part) for part in details.get("compute_capability", ()))
            name = device.name.replace("/physical_device:", "")
            words = [name, str(details.get("device_name", "")), f"compute {capability}" if capability else ""]
            found.append(" ".join(word for word in words if word))
        return found

    @contextlib.contextmanager
    def profile(self, folder: str) -> Iterator[None]:
        import tensorflow as tf

        tf.profiler.experimental.start(folder)
        try:
            yield
        finally:
            tf.profiler.experimental.stop()


def make() -> TensorFlow:
    return TensorFlow()


def _threads(number: int) -> str:
    return str(number) if number else "0 (TensorFlow decides)"


def _on(value: bool) -> str:
    return "on" if value else "off"
