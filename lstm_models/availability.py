"""Which cases cannot exist, whatever the machine has, and why. No framework here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from lstm_models.kernels import EXIST, breaks_cudnn, obstacles
from lstm_models.words import Device, Framework, Inputs, Kernel, Path, Precision

if TYPE_CHECKING:
    from lstm_models.case import Case
    from lstm_models.workloads import Workload

#: Cells that an unrolled graph may hold: layers x directions x timesteps. Tracing grows with them, and Keras users who
#: unroll do so for short sequences. The first gradient of 120 cells takes 11 s on two cores on TensorFlow. XLA compiles
#: every cell by itself: on JAX it took 185 s on two busy ones (20 cells 12 s, 50 cells 40 s).
MOST_UNROLLED_CELLS = {Framework.TENSORFLOW: 200, Framework.JAX: 60}

#: Cells that ``torch.compile`` may be given; it unrolls the time steps too. On two busy cores the first ``fit`` took
#: 56 s with 20 cells and 200 s with 50; a worker is given up after 120 s.
MOST_COMPILED_CELLS = 40


def unavailable(case: Case) -> Optional[str]:
    """Why this case cannot exist, for its skip at collection; ``None`` if it can.

    Whether the machine has a GPU is not asked here.
    """
    workload, kernel = case.workload, case.kernel
    if kernel not in EXIST[case.framework]:
        return f"{kernel}: Keras on {case.framework} has no such kernel"
    only_cudnn = kernel in (Kernel.CUDNN, Kernel.CUDNN_LAYER)
    if workload.stateful and case.framework is Framework.JAX:
        # _create_state_variables in keras/src/layers/rnn/rnn.py keeps the states out of the layer's variables, and
        # only these go in and out of a jitted function.
        return "stateful: Keras on JAX loses the states of compiled calls; what would run is the LSTM without them"
    if only_cudnn and case.device is Device.CPU:
        return f"{kernel} on cpu: cuDNN runs on NVIDIA GPUs only"
    if case.inputs is Inputs.HOST and case.path is not Path.FORWARD:
        return f"inputs on the host: they are a choice for forward only, and the case's path is {case.path}"
    obstacle = obstacles(workload, case.framework)
    breaks = breaks_cudnn(workload, case.framework, case.precision)
    if only_cudnn and obstacle:
        return f"{kernel}: {obstacle[0]}"
    if only_cudnn and breaks:
        return f"{kernel}: {breaks}"
    if kernel is Kernel.CUDNN_LAYER and (lacks := _lacks(workload)):
        return f"cudnn-layer: {lacks}"
    if kernel is Kernel.AUTO and case.device is Device.GPU and breaks and not obstacle:
        return f"auto on gpu picks cuDNN here: {breaks}"
    if workload.kind == "saved" and (only_cudnn or kernel is Kernel.UNROLLED):
        return f"{kernel}: a saved model is timed as auto, loop or xla; its layers were made before this suite saw them"
    if workload.kind == "saved" and case.precision is not Precision.FLOAT32:
        return f"{case.precision}: a saved model keeps the precision it was saved with; it is measured once, as float32"
    if kernel is Kernel.UNROLLED:
        return _not_unrolled(workload, case.framework)
    return _not_on_torch(case) if case.framework is Framework.TORCH else None


def _lacks(workload: Workload) -> str:
    """What CuDNNLSTM cannot do that cuDNN can; empty if nothing. Source: layers/rnn/base_cudnn_rnn.py of Keras 2.15."""
    if workload.dropout:
        return f"dropout = {workload.dropout}: CuDNNLSTM has no such argument"
    if workload.mask != "none":
        return f'mask = "{workload.mask}": CuDNNLSTM refuses a mask'
    if workload.kind == "builder":
        return "it has two biases for one, and of a model of your own nobody knows which of its weights they are"
    return ""


def _not_on_torch(case: Case) -> Optional[str]:
    workload, kernel = case.workload, case.kernel
    # keras/src/layers/rnn/lstm.py, inner_loop: what keeps an LSTM off lstm() of keras/src/backend/torch/rnn.py.
    general = [f"recurrent_dropout = {workload.recurrent_dropout}"] if workload.recurrent_dropout else []
    general += [f'mask = "{workload.mask}"'] if workload.mask != "none" else []
    if kernel is Kernel.INDUCTOR and general:
        return (
            f"inductor: {general[0]}: Keras takes its loop over any cell, whose condition is a tensor; torch.compile "
            "leaves that loop to Python and compiles each step by itself"
        )
    if workload.stateful and case.path in (Path.BACKWARD, Path.FIT) and kernel is not Kernel.LOOP and not general:
        # lstm() hands the states' own tensors to autograd; the layer overwrites them before the gradient is taken.
        return f"{kernel}: PyTorch refuses the gradient of a stateful LSTM, whose states Keras overwrites; measure loop"
    if kernel is Kernel.INDUCTOR and _cells(workload) > MOST_COMPILED_CELLS:
        return (
            f"inductor: {_cells(workload)} cells (timesteps x layers x directions) take minutes to compile; "
            f"the limit is {MOST_COMPILED_CELLS}"
        )
    return None


def _cells(workload: Workload) -> int:
    """LSTM cells over all time steps, layers and directions; 0 where the timesteps are not known."""
    cells = workload.timesteps * workload.layers * (2 if workload.bidirectional else 1)
    return 2 * cells if workload.kind == "encoder-decoder" else cells


def _not_unrolled(workload: Workload, framework: Framework) -> Optional[str]:
    sequences = workload.return_sequences or workload.layers > 1
    if workload.mask != "none" and workload.bidirectional and sequences:
        # rnn() in keras/src/backend: tensorflow/rnn.py does not turn the mask that zeroes the outputs with
        # go_backwards, and the unrolled branch of jax/rnn.py does not read zero_output_for_mask.
        steps = "does not zero the steps" if framework is Framework.JAX else "zeroes the wrong steps"
        return f"unrolled: Keras {steps} of a masked backward layer, so it computes something else"
    if not workload.timesteps:
        return "unrolled: a builder's workload needs timesteps for it, since an unrolled graph has a fixed length"
    cells, most = _cells(workload), MOST_UNROLLED_CELLS[framework]
    if cells > most:
        return (
            f"unrolled: {cells} cells (timesteps x layers x directions) in one graph take minutes to compile; "
            f"the limit on {framework} is {most}"
        )
    return None
