"""Kernels: what each asks of Keras, where it can exist, and how a proof must name it. No framework here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional, Union

from lstm_models.words import Device, Framework, Kernel, Precision

if TYPE_CHECKING:
    from lstm_models.case import Case
    from lstm_models.workloads import Workload

#: Cells that an unrolled graph may hold: layers x directions x timesteps. Tracing grows with them, and Keras users who
#: unroll do so for short sequences. The first gradient of 120 cells takes 11 s on two cores on TensorFlow. XLA compiles
#: every cell by itself: on JAX it took 185 s on two busy ones (20 cells 12 s, 50 cells 40 s).
MOST_UNROLLED_CELLS = {Framework.TENSORFLOW: 200, Framework.JAX: 60}


@dataclass(frozen=True)
class Settings:
    """What a kernel sets. ``None``: left at Keras's own default.

    ``use_cudnn`` and ``unroll`` are arguments of ``keras.layers.LSTM``, ``jit_compile`` one of ``Model.compile`` and
    ``tf.function``: XLA on TensorFlow, ``torch.compile`` on torch. On JAX all is compiled, whatever is asked.
    """

    use_cudnn: Optional[bool]
    unroll: Optional[bool]
    jit_compile: Union[bool, str]


_SETTINGS = {
    Kernel.AUTO: Settings(use_cudnn=None, unroll=None, jit_compile="auto"),
    Kernel.CUDNN: Settings(use_cudnn=True, unroll=False, jit_compile=False),
    Kernel.LOOP: Settings(use_cudnn=False, unroll=False, jit_compile=False),
    Kernel.UNROLLED: Settings(use_cudnn=False, unroll=True, jit_compile=False),
    # Keras turns jit_compile off for a layer that could use cuDNN; with use_cudnn=False XLA exists for every layer.
    Kernel.XLA: Settings(use_cudnn=False, unroll=False, jit_compile=True),
    Kernel.INDUCTOR: Settings(use_cudnn=False, unroll=False, jit_compile=True),
}

#: JAX compiles everything with XLA, so that a compiled loop is its loop. torch's loop is a loop of Python, which runs
#: step after step as an unrolled one does; ``inductor`` is what ``torch.compile`` makes of it.
EXIST = {
    Framework.TENSORFLOW: (Kernel.AUTO, Kernel.CUDNN, Kernel.LOOP, Kernel.UNROLLED, Kernel.XLA),
    Framework.JAX: (Kernel.AUTO, Kernel.CUDNN, Kernel.LOOP, Kernel.UNROLLED),
    Framework.TORCH: (Kernel.AUTO, Kernel.CUDNN, Kernel.LOOP, Kernel.INDUCTOR),
}


def settings(kernel: Kernel) -> Settings:
    """What ``kernel`` asks of Keras."""
    return _SETTINGS[kernel]


def expected(case: Case) -> Optional[str]:
    """The kernel that the proof must find; ``None`` for ``auto``, where the framework chooses."""
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


def unavailable(case: Case) -> Optional[str]:
    """Why this case cannot exist, for its skip at collection; ``None`` if it can.

    Whether the machine has a GPU is not asked here.
    """
    workload, kernel = case.workload, case.kernel
    if kernel not in EXIST[case.framework]:
        return f"{kernel}: Keras on {case.framework} has no such kernel"
    if workload.stateful and case.framework is Framework.JAX:
        # _create_state_variables in keras/src/layers/rnn/rnn.py keeps the states out of the layer's variables, and
        # only these go in and out of a jitted function.
        return "stateful: Keras on JAX loses the states of compiled calls; what would run is the LSTM without them"
    if kernel is Kernel.CUDNN and case.device is Device.CPU:
        return "cudnn on cpu: cuDNN runs on NVIDIA GPUs only"
    obstacle = obstacles(workload, case.framework)
    breaks = breaks_cudnn(workload, case.framework, case.precision)
    if kernel is Kernel.CUDNN and obstacle:
        return f"cudnn: {obstacle[0]}"
    if kernel is Kernel.CUDNN and breaks:
        return f"cudnn: {breaks}"
    if kernel is Kernel.AUTO and case.device is Device.GPU and breaks and not obstacle:
        return f"auto on gpu picks cuDNN here: {breaks}"
    if workload.kind == "saved" and kernel in (Kernel.UNROLLED, Kernel.CUDNN):
        return f"{kernel}: a saved model is timed as auto, loop or xla; its layers were made before this suite saw them"
    if workload.kind == "saved" and case.precision is not Precision.FLOAT32:
        return f"{case.precision}: a saved model keeps the precision it was saved with; it is measured once, as float32"
    if kernel is Kernel.UNROLLED:
        return _not_unrolled(workload, case.framework)
    return None


def _not_unrolled(workload: Workload, framework: Framework) -> Optional[str]:
    sequences = workload.return_sequences or workload.layers > 1
    if workload.mask != "none" and workload.bidirectional and sequences:
        # rnn() in keras/src/backend: tensorflow/rnn.py does not turn the mask that zeroes the outputs with
        # go_backwards, and the unrolled branch of jax/rnn.py does not read zero_output_for_mask.
        steps = "does not zero the steps" if framework is Framework.JAX else "zeroes the wrong steps"
        return f"unrolled: Keras {steps} of a masked backward layer, so it computes something else"
    if not workload.timesteps:
        return "unrolled: a builder's workload needs timesteps for it, since an unrolled graph has a fixed length"
    cells = workload.timesteps * workload.layers * (2 if workload.bidirectional else 1)
    if workload.kind == "encoder-decoder":
        cells *= 2
    most = MOST_UNROLLED_CELLS[framework]
    if cells > most:
        return (
            f"unrolled: {cells} cells (timesteps x layers x directions) in one graph take minutes to compile; "
            f"the limit on {framework} is {most}"
        )
    return None
