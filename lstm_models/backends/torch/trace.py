"""Which kernel would run, found by running a model on tensors without numbers; for a GPU host on any machine.

Keras picks cuDNN in each call, by asking whether there is a GPU and whether the inputs lie on it. Fake tensors have a
device and a shape and nothing else, so the model can be called as if all lay on a GPU. The one thing that then needs a
GPU is torch's own LSTM function: it is done on zeros on the CPU, so that its arguments are checked and its result has
torch's own form, and counts as cuDNN. This shows what Keras picks and what it makes of the result, not whether cuDNN
itself would refuse.
"""

from __future__ import annotations

import contextlib
import importlib
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Iterator, Optional

from lstm_models.backends.torch.counts import Counts, classify
from lstm_models.backends.torch.watch import watched
from lstm_models.keras_layers import keras
from lstm_models.proof import Expected

_GPU = "cuda"


def traced_kernel(
    model: Any,
    *,
    training: bool,
    gpu: bool,
    expected: Expected,
    batch: int = 2,
    call: Optional[Callable[..., Any]] = None,
    gradients: bool = True,
) -> str:
    """Kernel of a forward pass of ``model``, in words of :func:`lstm_models.backends.torch.counts.classify`.

    ``gpu``: as on a GPU host; else the model runs on zeros on the CPU. Lengths that the model leaves open are taken as
    ``expected.timesteps``. ``call``: what is called with the model's inputs in its place, such as its only layer.
    ``gradients`` make no difference: cuDNN's gradient is cuDNN's, that of a loop a loop.
    """
    import torch

    function = model if call is None else call
    with ExitStack() as stack:
        if gpu:
            stack.enter_context(_on_fake_gpu())
        counts = stack.enter_context(watched())
        if gpu:
            stack.enter_context(_fused_on_cpu(counts))
        inputs = [_input(tensor, batch, expected.timesteps, _GPU if gpu else "cpu") for tensor in model.inputs]
        with contextlib.nullcontext() if training else torch.no_grad():
            function(inputs if len(inputs) > 1 else inputs[0], training=training)
    return classify(counts, expected)


@contextmanager
def pretend_gpu() -> Iterator[None]:
    """Nothing to do while layers are made and models compiled: Keras chooses in each call (:func:`traced_kernel`)."""
    yield


def refusal(mask: Any) -> str:
    """What a run-time check says of a mask for cuDNN: nothing, since Keras leaves cuDNN for every mask."""
    return ""


def _input(tensor: Any, batch: int, timesteps: int, device: str) -> Any:
    """Zeros without open dimensions."""
    import torch

    first, *others = tuple(tensor.shape)
    shape = [first or batch, *(size or timesteps for size in others)]
    return torch.zeros(shape, dtype=getattr(torch, str(tensor.dtype)), device=device)


@contextmanager
def _on_fake_gpu() -> Iterator[None]:
    """What is called inside runs on fake tensors of a GPU; weights that lie on the CPU are taken there."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    recurrence: Any = importlib.import_module("keras.src.backend.torch.rnn")
    asked = recurrence._is_cuda_cudnn_available
    recurrence._is_cuda_cudnn_available = lambda: True
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), keras().device(_GPU):
            yield
    finally:
        recurrence._is_cuda_cudnn_available = asked


@contextmanager
def _fused_on_cpu(counts: Counts) -> Iterator[None]:
    """``torch._VF.lstm``, the LSTM function that is cuDNN's on a GPU, is done on zeros on the CPU and counted."""
    import torch
    from torch.utils._python_dispatch import _disable_current_modes

    original = torch._VF.lstm
    tree_map = torch.utils._pytree.tree_map

    def zeros(value: Any) -> Any:
        return torch.zeros(value.shape, dtype=value.dtype) if isinstance(value, torch.Tensor) else value

    def lstm(*arguments: Any) -> Any:
        with _disable_current_modes(), torch.no_grad():
            found = original(*tree_map(zeros, arguments))
        if counts.into is not None:
            counts.into.ops["aten::_cudnn_rnn", _GPU] += 1
        return tree_map(lambda value: torch.zeros(value.shape, dtype=value.dtype, device=_GPU), found)

    with ExitStack() as stack:
        stack.callback(setattr, torch._VF, "lstm", original)
        torch._VF.lstm = lstm
        yield
