"""Keras 3 on PyTorch."""

from __future__ import annotations

import contextlib
import importlib
import os
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Callable, Iterator, Optional

from lstm_models.backends.interface import Recorded, Unmultiplied
from lstm_models.proof import Proof
from lstm_models.words import Inputs

if TYPE_CHECKING:
    from lstm_models.case import Case
    from lstm_models.data import Array, Dataset
    from lstm_models.models import Built
    from lstm_models.step import Step

_GPU = "cuda:0"


class Torch:
    """See :class:`lstm_models.backends.interface.Backend`."""

    name = "torch"
    title = "PyTorch"
    why_no_selection = (
        "Nobody can say here which kernel Keras would pick on a GPU host: Keras on PyTorch traces nothing, but decides "
        "in each call from the device on which its inputs lie, so that only a run on a GPU host shows it. Measure the "
        "kernel auto there; its proof says what ran."
    )

    def start(self) -> None:
        # The profiler's library says on stderr that it starts and stops, and that there is no GPU.
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")
        import torch

        # Products of ten bits are no float32: the oracle would refuse them, and a release that changes the default
        # would look like a faster one. Mixed precision is what asks for less. cuDNN's LSTM has TF32 on by default.
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False

    def has_gpu(self) -> bool:
        return _keras_device().startswith("cuda")

    def synchronise(self, value: Any = None) -> None:
        import torch

        if torch.cuda.is_initialized():
            torch.cuda.synchronize()

    def forward(self, built: Built, dataset: Dataset, inputs: Inputs = Inputs.DEVICE) -> Step:
        from lstm_models.backends.torch.steps import forward_step

        return forward_step(built, dataset, inputs)

    def backward(self, built: Built, dataset: Dataset) -> Step:
        from lstm_models.backends.torch.steps import backward_step

        return backward_step(built, dataset)

    def record(self, model: Any, which: str) -> Recorded:
        from lstm_models.backends.torch.compilation import record

        return record(model, which)

    def prove(self, step: Step, case: Case) -> Proof:
        from lstm_models.backends.torch.proof import prove

        return prove(step, case)

    def reset_device_peak(self) -> None:
        import torch

        torch.cuda.reset_peak_memory_stats(_GPU)

    def device_in_use(self) -> Optional[int]:
        import torch

        return int(torch.cuda.memory_allocated(_GPU))

    def device_peak(self) -> Optional[int]:
        import torch

        return int(torch.cuda.max_memory_allocated(_GPU))

    def product(self, side: int, precision: str) -> Callable[[], Any]:
        import torch

        try:
            generator = torch.Generator().manual_seed(side)
            drawn = torch.rand((side, side), generator=generator)
            matrix = drawn.to(_keras_device(), dtype=getattr(torch, precision))
        except RuntimeError as error:
            raise Unmultiplied(str(error)) from error

        def multiply() -> Any:
            try:
                return torch.matmul(matrix, matrix)
            except RuntimeError as error:  # so does torch say that memory is short
                raise Unmultiplied(str(error)) from error

        return multiply

    def copy(self, array: Array) -> Callable[[], Any]:
        import torch

        host = torch.from_numpy(array).pin_memory()
        return lambda: host.to(_GPU, non_blocking=True)

    def versions(self) -> dict[str, str]:
        import torch

        cudnn = torch.backends.cudnn.version() if torch.version.cuda else None
        return {
            "torch": str(torch.__version__),
            "cuda": str(torch.version.cuda or "not built with CUDA"),
            "cudnn": _spelled(cudnn) if cudnn else "not built with CUDA",
        }

    def settings(self) -> dict[str, str]:
        import torch

        tf32 = torch.backends.cuda.matmul.allow_tf32 or torch.backends.cudnn.allow_tf32
        return {
            "onednn": _on(torch.backends.mkldnn.is_available() and getattr(torch.backends.mkldnn, "enabled", True)),
            "intra_op_threads": str(torch.get_num_threads()),
            "inter_op_threads": str(torch.get_num_interop_threads()),
            "tf32": _on(tf32),
            "determinism": _on(torch.are_deterministic_algorithms_enabled()),
            "cudnn_deterministic": _on(torch.backends.cudnn.deterministic),
            "cudnn_benchmark": _on(torch.backends.cudnn.benchmark),
            "cpu_capability": str(torch.backends.cpu.get_cpu_capability()),
            "keras_device": _keras_device(),
        }

    def devices(self) -> list[str]:
        import torch

        found = ["CPU:0"]
        for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
            major, minor = torch.cuda.get_device_capability(number)
            found.append(f"GPU:{number} {torch.cuda.get_device_name(number)} compute {major}.{minor}")
        return found

    @contextlib.contextmanager
    def profile(self, folder: str) -> Iterator[None]:
        import torch
        from torch.profiler import ProfilerActivity

        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])]
        with torch.profiler.profile(activities=activities) as profiler:
            yield
        FilePath(folder).mkdir(parents=True, exist_ok=True)
        profiler.export_chrome_trace(str(FilePath(folder) / "trace.json"))


def make() -> Torch:
    return Torch()


def _keras_device() -> str:
    """Where Keras puts what it makes: ``cpu`` or ``cuda``; ``KERAS_TORCH_DEVICE`` may say so."""
    return str(importlib.import_module("keras.src.backend.torch.core").get_device())


def _spelled(cudnn: int) -> str:
    """90501 -> 9.5.1, and before cuDNN 9: 8907 -> 8.9.7."""
    major, rest = divmod(cudnn, 10000) if cudnn >= 10000 else divmod(cudnn, 1000)
    return f"{major}.{rest // 100}.{rest % 100}"


def _on(value: bool) -> str:
    return "on" if value else "off"
