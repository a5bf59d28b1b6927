"""Which kernel ran: the classifier on made-up counts, the walk over graphs, and both on what TensorFlow executes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from lstm_models import data, models, paths
from lstm_models.backends.tensorflow.graph import Counts, count_graph
from lstm_models.backends.tensorflow.proof import classify, device_of, evidence_of, prove
from lstm_models.case import Case
from lstm_models.proof import Expected, Proof
from lstm_models.step import Step
from lstm_models.words import Device, Kernel, Path, Precision
from lstm_models.workloads import Workload

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
INFERENCE = Expected(cells=2, timesteps=5, training=False)
TRAINING = Expected(cells=2, timesteps=5, training=True)


def counts(device: str = CPU, compiled: int = 0, inside: int = 0, **ops: int) -> Counts:
    """``compiled`` calls under XLA with ``inside`` matrix products, and ``ops`` outside of it."""
    return Counts(
        Counter({(op, device): number for op, number in ops.items()}),
        Counter({("MatMul", ""): inside} if inside else {}),
        Counter({device: compiled} if compiled else {}),
    )


@pytest.mark.parametrize(
    ("found", "expected", "kernel"),
    [
        (counts(LoopCond=2, _MklMatMul=4), INFERENCE, "loop"),
        (counts(LoopCond=4, MatMul=14), TRAINING, "loop"),
        (counts(StatelessWhile=1, While=1, MatMul=4), INFERENCE, "loop"),
        (counts(MatMul=9), INFERENCE, "unrolled"),
        (counts(_MklMatMul=8, _MklNativeFusedMatMul=1), INFERENCE, "unrolled"),
        (counts(MatMul=8), INFERENCE, "unknown"),
        (counts(), INFERENCE, "unknown"),
        (counts(MatMul=1), replace(INFERENCE, timesteps=1), "unrolled"),
        (counts(MatMul=50), replace(INFERENCE, timesteps=0), "unknown"),
        (counts(compiled=1, inside=9), INFERENCE, "xla"),
        (counts(compiled=1, inside=9, MatMul=1), TRAINING, "xla"),
        (counts(XlaLaunch=0, compiled=1), INFERENCE, "xla"),
        (counts(GPU, CudnnRNNV3=2, MatMul=1), INFERENCE, "cudnn"),
        (counts(GPU, CudnnRNNV3=2, CudnnRNNBackpropV3=2, MatMul=3), TRAINING, "cudnn"),
        (counts(GPU, CudnnRNNV3=1, LoopCond=1, MatMul=2), INFERENCE, "mixed: cudnn 1, loop 1"),
        (counts(GPU, CudnnRNNV3=1, LoopCond=2, MatMul=7), TRAINING, "mixed: cudnn 1, loop 1"),
        (counts(GPU, CudnnRNNV3=1, MatMul=30), INFERENCE, "mixed: cudnn 1, unrolled 1"),
        (counts(LoopCond=1, MatMul=2), INFERENCE, "mixed: loop 1, unknown 1"),
        (counts(LoopCond=1, MatMul=2), replace(INFERENCE, cells=None), "loop"),
        (counts(LoopCond=1, compiled=1, inside=4), INFERENCE, "mixed: loop 1, xla 1"),
    ],
)
def test_kernel_of_counts(found: Counts, expected: Expected, kernel: str) -> None:
    assert classify(found, expected) == kernel


def test_a_compiled_function_without_products_is_no_proof() -> None:
    found = counts(LoopCond=2, MatMul=4, compiled=1)
    found.compiled_ops["AddV2", ""] = 3
    assert classify(found, INFERENCE) == "loop"


@pytest.mark.parametrize(
    ("found", "device"),
    [
        (counts(GPU, CudnnRNNV3=1), "gpu"),
        (counts(CPU, MatMul=3, LoopCond=1), "cpu"),  # a GPU case that ran on the CPU
        (counts(GPU, compiled=1, inside=3), "gpu"),
        (counts(LoopCond=2), "unknown"),
        (counts(""), "unknown"),
    ],
)
def test_device_of_counts(found: Counts, device: str) -> None:
    assert device_of(found) == device


def test_two_devices_are_both_named() -> None:
    found = counts(GPU, CudnnRNNV3=1, MatMul=1)
    found.add(counts(CPU, MatMul=3, LoopCond=1))
    assert device_of(found) == "mixed: cpu 3, gpu 2"
    # A loop's bookkeeping is on the CPU even where its products are on the GPU.
    found = counts(GPU, MatMul=2)
    found.add(counts(CPU, LoopCond=1))
    assert device_of(found) == "gpu"


def test_evidence_has_the_number_of_cudnn_ops() -> None:
    evidence = evidence_of(counts(GPU, CudnnRNNV3=2, CudnnRNNBackpropV3=1))
    assert (evidence["cudnn_ops"], evidence["cudnn_gradient_ops"], evidence["loops"]) == ("2", "1", "0")


def test_expected_counts_follow_from_the_workload() -> None:
    both = Workload("both", "", layers=3, bidirectional=True, timesteps=9)
    assert Expected.of(both, Path.FIT) == Expected(6, 9, True)
    chat = Workload("chat", "", kind="encoder-decoder", timesteps=9, decode_tokens=4)
    assert Expected.of(chat, Path.EVALUATE) == Expected(2, 9, False)
    assert Expected.of(chat, Path.PREDICT) == Expected(2, 1, False)
    assert Expected.of(Workload("own", "", kind="builder", timesteps=9), Path.FORWARD).cells is None


def graph_of(text: str) -> Any:
    from google.protobuf import text_format
    from tensorflow.core.framework import graph_pb2

    return text_format.Parse(text, graph_pb2.GraphDef())


REACHED = """
node { name: "a" op: "StatefulPartitionedCall" device: "GPU" attr { key: "f" value { func { name: "called" } } } }
library {
  function { signature { name: "called" } node_def { name: "w" op: "While" attr { key: "body" value { func { name: "body" } } } } }
  function { signature { name: "body" } node_def { name: "m" op: "MatMul" } }
  function { signature { name: "never" } node_def { name: "c" op: "CudnnRNNV3" } }
}
"""  # noqa: E501


def test_only_what_is_called_is_counted() -> None:
    found = count_graph(graph_of(REACHED))
    assert set(found.ops) == {("StatefulPartitionedCall", "GPU"), ("While", "GPU"), ("MatMul", "GPU")}
    assert not found.compiled


def test_what_xla_must_compile_is_kept_apart() -> None:
    marked = REACHED.replace('device: "GPU"', 'device: "GPU" attr { key: "_XlaMustCompile" value { b: true } }')
    found = count_graph(graph_of(marked))
    assert found.compiled == Counter({"GPU": 1})
    assert set(found.compiled_ops) == {("While", "GPU"), ("MatMul", "GPU")}
    assert not found.ops
    unmarked = marked.replace("b: true", "b: false")
    assert not count_graph(graph_of(unmarked)).compiled


KERAS_2 = """
node { name: "a" op: "PartitionedCall" attr { key: "f" value { func { name: "__forward_standard_lstm_7" } } } }
library {
  function {
    signature { name: "__inference___backward_gpu_lstm_4" } node_def { name: "c" op: "CudnnRNNBackpropV3" }
    attr { key: "api_implements" value { s: "lstm_1" } } attr { key: "api_preferred_device" value { s: "GPU" } }
  }
  function {
    signature { name: "__forward_standard_lstm_7" } node_def { name: "w" op: "While" }
    attr { key: "api_implements" value { s: "lstm_1" } } attr { key: "api_preferred_device" value { s: "CPU" } }
  }
  function {
    signature { name: "__forward_gpu_lstm_9" } node_def { name: "c" op: "CudnnRNNV3" }
    attr { key: "api_implements" value { s: "lstm_1" } } attr { key: "api_preferred_device" value { s: "GPU" } }
  }
}
"""


@pytest.mark.parametrize(("prefer", "op"), [("CPU", "While"), ("GPU", "CudnnRNNV3"), (None, "While")])
def test_of_two_implementations_the_devices_own_is_counted(prefer: str | None, op: str) -> None:
    assert set(count_graph(graph_of(KERAS_2), prefer=prefer).ops) == {("PartitionedCall", ""), (op, "")}


def test_a_specialised_function_is_found_by_its_first_name() -> None:
    library = graph_of(KERAS_2).library.function
    name = "__forward_gpu_lstm_9_specialized_for_a_specialized_for_b"
    called = f'attr {{ key: "f" value {{ func {{ name: "{name}" }} }} }}'
    call = f'node {{ name: "a" op: "PartitionedCall" device: "D" {called} }}'
    assert ("CudnnRNNV3", "D") in count_graph(graph_of(call), library).ops


TOKENS = Workload(
    "proof", "", layers=2, vocabulary=9, embedding=3, units=4, timesteps=6, mask="right", head="softmax", outputs=9
)
CHAT = Workload(
    "proof-chat", "", kind="encoder-decoder", vocabulary=9, embedding=3, units=4, timesteps=6, head="softmax",
    outputs=9, decode_tokens=3,
)  # fmt: skip


def opened(case: Case) -> Step:
    built = models.build(case.workload, case.kernel, case.precision, case.batch)
    dataset = data.dataset(case.workload, case.batch, 2 * paths.batches_per_call(case))
    step = paths.open_path(case, built, dataset)
    step.call()
    return step


def proved(path: Path, kernel: Kernel, workload: Workload = TOKENS) -> Proof:
    case = Case(path, workload, 2, Device.CPU, kernel)
    step = opened(case)
    traces = step.traces()
    found = prove(step, case)
    assert step.traces() == traces
    return found


@pytest.mark.parametrize(
    ("path", "kernel"),
    [
        *((path, Kernel.LOOP) for path in Path),
        *((path, Kernel.UNROLLED) for path in (Path.FORWARD, Path.BACKWARD, Path.FIT)),
        *((path, Kernel.XLA) for path in (Path.FORWARD, Path.BACKWARD, Path.FIT, Path.PREDICT)),
    ],
)
def test_proof_of_what_tensorflow_executes(path: Path, kernel: Kernel) -> None:
    found = proved(path, kernel)
    assert (found.kernel, found.device) == (str(kernel), "cpu")
    assert found.evidence["cudnn_ops"] == "0"
    assert all(type(text) is str for text in found.evidence.values())


def test_auto_is_a_loop_on_a_cpu() -> None:
    found = proved(Path.FORWARD, Kernel.AUTO)
    assert (found.kernel, found.evidence["loops"]) == ("loop", "2")


@pytest.mark.parametrize("kernel", [Kernel.LOOP, Kernel.UNROLLED, Kernel.XLA])
def test_proof_of_decoding(kernel: Kernel) -> None:
    assert proved(Path.PREDICT, kernel, CHAT).kernel == str(kernel)


def test_xla_is_read_from_what_xla_was_given() -> None:
    evidence = proved(Path.BACKWARD, Kernel.XLA).evidence
    assert (evidence["xla_calls"], evidence["hlo_loops"]) == ("1", "4")


def test_a_model_of_two_kernels_is_mixed() -> None:
    case = Case(Path.FORWARD, TOKENS, 2, Device.CPU, Kernel.LOOP)
    built = models.build(case.workload, case.kernel, case.precision, case.batch)
    layers = [layer for layer in built.model.layers if hasattr(layer, "cell")]
    layers[0].unroll = True
    step = paths.open_path(case, built, data.dataset(TOKENS, 2, 1))
    step.call()
    assert prove(step, case).kernel == "mixed: loop 1, unrolled 1"


def test_a_call_that_traces_anew_proves_nothing() -> None:
    import tensorflow as tf

    case = Case(Path.FORWARD, TOKENS, 2, Device.CPU, Kernel.LOOP)
    step = opened(case)
    lengths = iter((3, 4, 5))

    def call() -> Any:
        return step.evidence(tf.ones((next(lengths), TOKENS.timesteps), tf.int32))

    found = prove(replace(step, call=call), case)
    assert (found.kernel, found.evidence["new_traces"]) == ("unknown", "1")


def test_reduced_precision_keeps_the_kernel() -> None:
    case = Case(Path.BACKWARD, TOKENS, 2, Device.CPU, Kernel.LOOP, Precision.MIXED_BFLOAT16)
    step = opened(case)
    assert prove(step, case).kernel == "loop"
