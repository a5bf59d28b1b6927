"""Which kernel ran on PyTorch, from made-up counts: what no machine without a GPU can show. No framework here."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from lstm_models.backends.torch.counts import (
    Call,
    CompiledCounts,
    Counts,
    classify,
    classify_compiled,
    compiled_evidence_of,
    device_of,
    evidence_of,
)
from lstm_models.backends.torch.proof import count_events
from lstm_models.proof import Expected

ONE = Expected(cells=1, timesteps=5, training=False)
TWO = Expected(cells=2, timesteps=5, training=False)


def call(device: str = "cpu", raised: int = 0, **ops: int) -> Call:
    return Call(Counter({(f"aten::{name}", device): number for name, number in ops.items()}), raised)


LOOP, GENERAL = call(mm=6), call(mm=12)  # Keras's LSTM, and its loop over any cell, over 5 steps
CUDNN = call("cuda", _cudnn_rnn=1)
#: Keras 3.14: cuDNN's op is done, its result cannot be unpacked, and the loop does all of it again.
THROWN_AWAY = call("cuda", _cudnn_rnn=1, mm=6)


@pytest.mark.parametrize(
    ("found", "expected", "kernel"),
    [
        (Counts([LOOP]), ONE, "loop"),
        (Counts([GENERAL, call(bmm=1, mm=5)]), TWO, "loop"),
        (Counts([call("cuda", mm=6)]), ONE, "loop"),
        (Counts([CUDNN]), ONE, "cudnn"),
        (Counts([CUDNN] * 64), TWO, "cudnn"),
        (Counts([THROWN_AWAY]), ONE, "mixed: cudnn 1, loop 1"),
        (Counts([THROWN_AWAY] * 64), ONE, "mixed: cudnn 1, loop 1"),
        (Counts([THROWN_AWAY] * 2), TWO, "mixed: cudnn 2, loop 2"),
        (Counts([call("cuda", raised=1, mm=6)]), ONE, "loop"),
        (Counts([CUDNN, LOOP]), TWO, "mixed: cudnn 1, loop 1"),
        (Counts([CUDNN, LOOP] * 32), TWO, "mixed: cudnn 1, loop 1"),
        (Counts([CUDNN, LOOP, LOOP]), TWO, "mixed: cudnn 1, loop 2"),
        (Counts(outside=CUDNN), TWO, "cudnn"),
        (Counts([LOOP, LOOP], outside=CUDNN), replace(TWO, cells=4), "mixed: loop 2, cudnn 1"),
        (Counts([LOOP]), TWO, "mixed: loop 1, unknown 1"),
        (Counts([LOOP]), replace(TWO, cells=None), "loop"),
        (Counts([call(mm=4)]), ONE, "unknown"),
        (Counts([call()]), ONE, "unknown"),
        (Counts(), ONE, "unknown"),
        (Counts(), replace(ONE, cells=None), "unknown"),
        (Counts([call(mm=2)]), replace(ONE, timesteps=1), "loop"),
        (Counts([call(mkldnn_rnn_layer=1)]), ONE, "onednn"),
    ],
)
def test_kernel_of_counts(found: Counts, expected: Expected, kernel: str) -> None:
    assert classify(found, expected) == kernel


TRAINING = replace(ONE, training=True)
FORWARD, GRADIENT, STEP = call(mm=1, addmm=6), call(mm=8, addmm=4), call(mm=2)


@pytest.mark.parametrize(
    ("found", "expected", "passes", "kernel"),
    [
        (CompiledCounts([FORWARD]), ONE, 1, "inductor"),
        (CompiledCounts([call()]), ONE, 1, "inductor"),  # products of one row may become sums
        (CompiledCounts([FORWARD] * 32), ONE, 32, "inductor"),
        (CompiledCounts([FORWARD, GRADIENT] * 32), TRAINING, 32, "inductor"),
        (CompiledCounts([FORWARD], eager=call(mm=1)), ONE, 1, "inductor"),  # a head outside
        (CompiledCounts([STEP] * 6), ONE, 1, "loop"),
        (CompiledCounts([STEP] * 10, eager=call(mm=1)), TRAINING, 1, "loop"),
        (CompiledCounts([call()], eager=call(mm=6)), ONE, 1, "loop"),
        (CompiledCounts(eager=call(mm=6)), ONE, 1, "loop"),  # torch.compile has given up
        (CompiledCounts([FORWARD], eager=call(mm=6)), ONE, 1, "mixed: inductor 1, loop 6"),
        (CompiledCounts([call(mm=1)], eager=CUDNN), ONE, 1, "mixed: cudnn 1"),
        (CompiledCounts(), ONE, 1, "unknown"),
        (CompiledCounts([STEP] * 11), replace(TWO, timesteps=1), 10, "inductor"),  # decoding ten tokens
    ],
)
def test_kernel_of_compiled_counts(found: CompiledCounts, expected: Expected, passes: int, kernel: str) -> None:
    assert classify_compiled(found, expected, passes) == kernel


@pytest.mark.parametrize(
    ("calls", "device"),
    [
        ([LOOP], "cpu"),
        ([CUDNN], "gpu"),
        ([CUDNN, LOOP], "mixed: cpu 6, gpu 1"),
        ([call("mps", mm=6)], "mps"),
        ([call()], "unknown"),
        ([], "unknown"),
    ],
)
def test_device_of_calls(calls: list[Call], device: str) -> None:
    assert device_of(calls) == device


def test_evidence_says_what_was_thrown_away_and_what_was_not_looked_at() -> None:
    counts = Counts([THROWN_AWAY, call("cuda", raised=1, mm=12)], outside=CUDNN, unwatched=3)
    assert evidence_of(counts) == {
        "lstm_calls": "5",
        "lstm_calls_watched": "2",
        "cudnn_ops": "2",
        "cudnn_ops_of_both_directions": "1",
        "fused_ops_raised": "1",
        "products_per_lstm": "6 to 12",
    }
    assert compiled_evidence_of(CompiledCounts([FORWARD, call()], eager=call(mm=2))) == {
        "graphs_run": "2",
        "graphs_run_with_products": "1",
        "products_in_graphs": "7",
        "products_outside": "2",
    }


def event(name: str, parent: Any = None, kernels: tuple[str, ...] = (), device: str = "DeviceType.CPU") -> Any:
    return SimpleNamespace(name=name, cpu_parent=parent, kernels=kernels, device_type=device)


def test_a_profile_is_counted_by_graph_and_by_device() -> None:
    graph = event("## Call CompiledFxGraph fabc ##")
    repeated = event("## Call CompiledFxGraph fabc ##", device="DeviceType.CUDA")
    inside = event("anything", graph)
    events = [
        *(graph, repeated, inside),
        event("aten::addmm", inside, kernels=("gemm",)),
        event("aten::mm", graph, kernels=("gemm",)),
        event("aten::mm", event("aten::matmul")),
        event("aten::add", graph),
    ]
    counts = count_events(events)
    assert [found.ops for found in counts.graphs] == [{("aten::addmm", "cuda"): 1, ("aten::mm", "cuda"): 1}]
    assert counts.eager.ops == {("aten::mm", "cpu"): 1}
