"""Which kernel and device ran, read from what TensorFlow executed.

A warm call yields no graph, so the kernel cache is cleared first (``context.clear_kernel_cache``) and one call is made
under graph collection: it runs what is already traced, and the executor's own graphs come back, after all of
TensorFlow's optimisations, each node on its device. A bare function under ``jit_compile=True`` yields no such graph;
there the attribute ``_XlaMustCompile`` of the executed function says that nothing but XLA may run it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from lstm_models.backends.tensorflow.graph import Counts, count_graph, must_compile
from lstm_models.proof import Expected, Proof

if TYPE_CHECKING:
    from lstm_models.case import Case
    from lstm_models.step import Step

_FORWARD_CUDNN = ("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3")
_LOOPS = ("LoopCond", "While", "StatelessWhile")


def classify(counts: Counts, expected: Expected) -> str:
    """Name of the kernel behind the counts.

    cuDNN is its op; a while-loop is one loop per LSTM, and a second one for its gradient; unrolled is neither, with
    the 2T - 1 or more matrix products of T steps (TensorFlow folds the first state, which is zero). More than one of
    them, or fewer than there are LSTMs, is ``mixed`` and says how many of each.
    """
    cudnn = _number(counts, *_FORWARD_CUDNN)
    loops = _number(counts, *_LOOPS)
    products = sum(number for (op, _), number in counts.ops.items() if "MatMul" in op)
    # A compiled call counts only if it holds the model's products; an auto-clustered one cannot be looked into.
    compiled = sum(counts.compiled.values())
    if counts.compiled_ops and not any("MatMul" in op for op, _ in counts.compiled_ops):
        compiled = 0
    forward_loops = (loops + 1) // 2 if expected.training else loops
    found = {"cudnn": cudnn, "loop": forward_loops, "xla": compiled}
    enough = products >= max(2 * expected.timesteps - 1, 1) if expected.timesteps else False
    if not any(found.values()):
        return "unrolled" if enough else "unknown"
    if not compiled and expected.cells is not None and cudnn + forward_loops < expected.cells:
        found["unrolled" if enough else "unknown"] = expected.cells - cudnn - forward_loops
    kinds = {name: number for name, number in found.items() if number}
    if len(kinds) == 1:
        return next(iter(kinds))
    return "mixed: " + ", ".join(f"{name} {number}" for name, number in kinds.items())


def device_of(counts: Counts) -> str:
    """Where the recurrence ran: the devices of cuDNN's ops, XLA's calls and matrix products."""
    found: dict[str, int] = {}
    placed = [(device, number) for device, number in counts.compiled.items()]
    placed += [(dev, n) for (op, dev), n in counts.ops.items() if "MatMul" in op or op.startswith("CudnnRNN")]
    for device, number in placed:
        for name in ("cpu", "gpu"):
            if f"device:{name}" in device.lower():
                found[name] = found.get(name, 0) + number
    if len(found) == 1:
        return next(iter(found))
    return "mixed: " + ", ".join(f"{name} {found[name]}" for name in sorted(found)) if found else "unknown"


def evidence_of(counts: Counts) -> dict[str, str]:
    """The counts that decide, as text for a person and for a stored file."""
    names = {
        "cudnn_ops": _number(counts, *_FORWARD_CUDNN),
        "cudnn_gradient_ops": sum(n for (op, _), n in counts.ops.items() if "CudnnRNNBackprop" in op),
        "loops": _number(counts, *_LOOPS),
        "matrix_products": sum(n for (op, _), n in counts.ops.items() if "MatMul" in op),
        "xla_calls": sum(counts.compiled.values()),
        "xla_matrix_products": sum(n for (op, _), n in counts.compiled_ops.items() if "MatMul" in op),
    }
    return {name: str(number) for name, number in names.items()}


def prove(step: Step, case: Case) -> Proof:
    """What runs when ``step`` is called; calls it once, after its first call.

    A call that traces anew proves nothing about the calls that are timed: the kernel is then unknown.
    """
    traces = step.traces()
    counts, value = collect(step.call)
    evidence = {"source": "executed graphs"}
    if not counts.compiled and not any("MatMul" in op or op.startswith("CudnnRNN") for op, _ in counts.ops):
        compiled = compiled_functions(step.evidence, _device_of_value(value))
        if compiled.compiled:
            counts.add(compiled)
            evidence = {"source": "the function that XLA must compile", **hlo_evidence(step.evidence)}
    evidence.update(evidence_of(counts))
    kernel = classify(counts, Expected.of(case.workload, case.path))
    if step.traces() != traces:
        evidence["new_traces"] = str(step.traces() - traces)
        kernel = "unknown"
    return Proof(kernel, device_of(counts), evidence)


def collect(call: Callable[[], Any]) -> tuple[Counts, Any]:
    """Counts of all graphs that ``call`` executes, and what it returned."""
    from tensorflow.python.eager import context

    runtime = context.context()
    runtime.clear_kernel_cache()
    runtime.enable_graph_collection()
    try:
        value = call()
        metadata = runtime.export_run_metadata()
    finally:
        runtime.disable_graph_collection()
    counts = Counts()
    for executed in metadata.function_graphs:
        # Keras 2's LSTM is a call whose body stands only in the library of before the optimisation.
        library = list(executed.pre_optimization_graph.library.function)
        for graph in executed.partition_graphs:
            counts.add(count_graph(graph, library))
    return counts, value


def compiled_functions(function: Any, device: str) -> Counts:
    """Counts inside a bare ``tf.function`` that XLA must compile; empty if it is none.

    ``device``: where its results were found.
    """
    counts = Counts()
    for concrete in function._list_all_concrete_functions():
        if must_compile(concrete.function_def):
            inner = count_graph(concrete.graph.as_graph_def())
            counts.compiled[device] += 1
            counts.compiled_ops.update(inner.ops)
    return counts


def hlo_evidence(function: Any) -> dict[str, str]:
    """Loops and matrix products in what XLA was given of a bare ``tf.function``; traces nothing new.

    Empty where this TensorFlow cannot say: the attribute is the proof, this is more to read.
    """
    try:
        from tensorflow.python.eager.polymorphic_function import compiler_ir

        concrete = function._list_all_concrete_functions()[0]
        hlo = compiler_ir.from_concrete_function(concrete)(stage="hlo")
    except (ImportError, AttributeError, TypeError, ValueError):
        return {}
    return {"hlo_loops": str(hlo.count(" while(")), "hlo_products": str(hlo.count(" dot("))}


def _device_of_value(value: Any) -> str:
    """Where the first tensor that a call returned lies."""
    import tensorflow as tf

    tensors = tf.nest.flatten(value, expand_composites=True)
    return str(getattr(tensors[0], "device", "")) if tensors else ""


def _number(counts: Counts, *ops: str) -> int:
    return sum(number for (op, _), number in counts.ops.items() if op in ops)
