"""Which kernel and device ran, read from the ops that torch dispatched in one warm call.

Eager: a dispatch mode sees every op with its tensors and their device, while an LSTM's ``inner_loop`` runs. Backward
ops are not looked at: cuDNN's gradient is cuDNN's, that of a loop a loop. A compiled function is not dispatched op by
op; there torch's profiler tells which ops ran, and inside which of inductor's graphs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from lstm_models.backends.torch.counts import (
    FUSED,
    PRODUCTS,
    Call,
    CompiledCounts,
    classify,
    classify_compiled,
    compiled_evidence_of,
    device_of,
    evidence_of,
)
from lstm_models.backends.torch.watch import watched
from lstm_models.proof import Expected, Proof

if TYPE_CHECKING:
    from lstm_models.backends.torch.compilation import Compilation
    from lstm_models.case import Case
    from lstm_models.step import Step

#: What stands around a graph of inductor in a profile.
_GRAPH = "## Call CompiledFxGraph"


def prove(step: Step, case: Case) -> Proof:
    """What runs when ``step`` is called; calls it once, after its first call."""
    expected = Expected.of(case.workload, case.path)
    if step.evidence is not None:
        return _compiled(step, step.evidence, expected, case.steps_per_call)
    with watched() as counts:
        step.call()
    evidence = {"source": "dispatched ops", **evidence_of(counts)}
    return Proof(classify(counts, expected), device_of([*counts.calls, counts.outside]), evidence)


def _compiled(step: Step, compilation: Compilation, expected: Expected, passes: int) -> Proof:
    """A call that compiles anew proves nothing about the calls that are timed: the kernel is then unknown."""
    frames = compilation.frames()
    counts = collect(step.call)
    evidence = {"source": "profile of compiled graphs", **compiled_evidence_of(counts), **compilation.evidence()}
    kernel = classify_compiled(counts, expected, passes)
    if compilation.frames() != frames:
        evidence["new_traces"] = str(compilation.frames() - frames)
        kernel = "unknown"
    return Proof(kernel, device_of([*counts.graphs, counts.eager]), evidence)


def collect(call: Callable[[], Any]) -> CompiledCounts:
    """Counts of the ops that ``call`` ran inside and outside of inductor's graphs."""
    import torch
    from torch.profiler import ProfilerActivity

    on_gpu = torch.cuda.is_initialized()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with torch.profiler.profile(activities=activities) as profiler:
        call()
        if on_gpu:
            torch.cuda.synchronize()
    return count_events(profiler.events())


def count_events(events: Any) -> CompiledCounts:
    """Counts of a profile. An op that launched a kernel ran on the GPU."""
    counts, graphs = CompiledCounts(), {}
    for event in events:
        if event.name.startswith(_GRAPH) and not _is_on_gpu(event):
            graphs[id(event)] = Call()
            counts.graphs.append(graphs[id(event)])
    for event in events:
        if event.name in PRODUCTS or event.name in FUSED:
            around = event.cpu_parent
            while around is not None and id(around) not in graphs:
                around = around.cpu_parent
            call = counts.eager if around is None else graphs[id(around)]
            call.ops[event.name, "cuda" if event.kernels else "cpu"] += 1
    return counts


def _is_on_gpu(event: Any) -> bool:
    """A profile repeats the range of a CPU event on the GPU's own line of time."""
    return "CPU" not in str(event.device_type)
