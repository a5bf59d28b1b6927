"""Kernels: what each asks of Keras, what keeps an LSTM off cuDNN, and how a proof must name it. No framework here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional, Union

from lstm_models.words import Framework, Kernel, Precision

if TYPE_CHECKING:
    from lstm_models.case import Case
    from lstm_models.workloads import Workload


@dataclass(frozen=True)
class Settings:
    """What a kernel sets. ``None``: left at Keras's own default.

    ``use_cudnn`` and ``unroll`` are arguments of ``keras.layers.LSTM``, ``jit_compile`` one of ``Model.compile`` and
    ``tf.function``: XLA on TensorFlow, ``torch.compile`` on torch. On JAX all is compiled, whatever is asked.
    """

    use_cudnn: Optional[Union[bool, str]]
    unroll: Optional[bool]
    jit_compile: Union[bool, str]


_SETTINGS = {
    Kernel.AUTO: Settings(use_cudnn=None, unroll=None, jit_compile="auto"),
    Kernel.CUDNN: Settings(use_cudnn=True, unroll=False, jit_compile=False),
    Kernel.LOOP: Settings(use_cudnn=False, unroll=False, jit_compile=False),
    Kernel.UNROLLED: Settings(use_cudnn=False, unroll=True, jit_compile=False),
    # Keras turns jit_compile off for a layer that could use cuDNN; with use_cudnn=False XLA exists for every layer.
    Kernel.XLA: Settings(use_cudnn=False, unroll=False, jit_compile=True),
    # Keras leaves cuDNN for a compiled step by itself. With use_cudnn=False it would take its general loop over any
    # cell, whose condition is a tensor: torch.compile cannot look through that, and compiles each step by itself.
    Kernel.INDUCTOR: Settings(use_cudnn="auto", unroll=False, jit_compile=True),
    # A layer of its own, which has neither argument: lstm_models.cudnn_layer.
    Kernel.CUDNN_LAYER: Settings(use_cudnn=True, unroll=False, jit_compile=False),
}

#: JAX compiles everything with XLA, so that a compiled loop is its loop. torch's loop is a loop of Python, which runs
#: step after step as an unrolled one does; ``inductor`` is what ``torch.compile`` makes of it.
EXIST = {
    Framework.TENSORFLOW: (Kernel.AUTO, Kernel.CUDNN, Kernel.LOOP, Kernel.UNROLLED, Kernel.XLA, Kernel.CUDNN_LAYER),
    Framework.JAX: (Kernel.AUTO, Kernel.CUDNN, Kernel.LOOP, Kernel.UNROLLED),
    Framework.TORCH: (Kernel.AUTO, Kernel.CUDNN, Kernel.LOOP, Kernel.INDUCTOR),
}


def settings(kernel: Kernel) -> Settings:
    """What ``kernel`` asks of Keras."""
    return _SETTINGS[kernel]


def expected(case: Case) -> Optional[str]:
    """The kernel that the proof must find; ``None`` for ``auto``, where the framework chooses."""
    if case.kernel is Kernel.CUDNN_LAYER:
        return str(Kernel.CUDNN)
    return None if case.kernel is Kernel.AUTO else str(case.kernel)


def obstacles(workload: Workload, framework: Framework = Framework.TENSORFLOW) -> tuple[str, ...]:
    """The settings of a workload that keep its LSTMs off cuDNN on a GPU host, each as ``key = value: why``.

    Source: layers/rnn/lstm.py, ``inner_loop``, and in keras/src/backend tensorflow/rnn.py, ``cudnn_ok``, and
    jax/rnn.py, ``cudnn_ok`` and ``lstm`` (cuDNN there since Keras 3.14). On TensorFlow a left mask is not among them:
    Keras picks cuDNN for it all the same, see :func:`breaks_cudnn`. Of a builder or a saved model nothing is known
    here.
    """
    found = []
    if workload.recurrent_dropout:
        found.append(
            f"recurrent_dropout = {workload.recurrent_dropout}: cuDNN has no dropout between time steps; "
            "Keras leaves it even at inference"
        )
    if workload.activation != "tanh":
        found.append(f'activation = "{workload.activation}": the cuDNN LSTM is tanh only')
    if not workload.use_bias:
        found.append("use_bias = false: the cuDNN LSTM always has a bias")
    if workload.mask != "none" and framework is not Framework.TENSORFLOW:
        found.append(f'mask = "{workload.mask}": Keras on {framework} leaves cuDNN for every mask')
    return tuple(found)


def breaks_cudnn(
    workload: Workload,
    framework: Framework = Framework.TENSORFLOW,
    precision: Precision = Precision.FLOAT32,
) -> str:
    """Why cuDNN, once picked, fails while it is compiled or run; empty if it does not.

    Source: ``_assert_valid_mask`` in keras/src/backend/tensorflow/rnn.py (Keras 3; Keras 2 fell back instead), and
    ``_rnn_fwd_lowering`` in jaxlib/gpu_rnn.py (JAX 0.10), which raises ``Unknown output type float16`` after Keras's
    fall-back, the ``except`` around the call in ``lstm`` of jax/rnn.py, was left behind with the trace.
    """
    if workload.mask == "left" and framework is Framework.TENSORFLOW:
        return 'mask = "left": cuDNN takes padding at the end only; Keras 3 fails at run time on padding at the start'
    if precision is not Precision.FLOAT32 and framework is Framework.JAX:
        return f"{precision}: the cuDNN LSTM of JAX has no 16-bit types, and JAX fails when it compiles the call"
    return ""
