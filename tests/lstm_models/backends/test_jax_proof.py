"""What a JAX program says of the kernel that ran, on made-up jaxprs, texts and counts. Needs no JAX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from lstm_models.backends.jax.program import Counts, count
from lstm_models.backends.jax.proof import classify, device_of
from lstm_models.proof import Expected

INFERENCE = Expected(cells=2, timesteps=5, training=False)
TRAINING = Expected(cells=2, timesteps=5, training=True)


def equation(kind: str, **params: Any) -> Any:
    return SimpleNamespace(primitive=SimpleNamespace(name=kind), params=params)


def jaxpr(*equations: Any) -> Any:
    return SimpleNamespace(eqns=list(equations))


DOT = equation("dot_general")
STEP = jaxpr(DOT, DOT, equation("tanh"))
LOOP = equation("scan", jaxpr=STEP, length=5)
CUDNN = equation("rnn_fwd", num_layers=1, bidirectional=False)
FUSED = equation("rnn_fwd", num_layers=1, bidirectional=True)
GRADIENT = equation("rnn_bwd", num_layers=1, bidirectional=False)

WHILE = "  %while.3 = (s32[], f32[2,3]{1,0}) while(%tuple.1), condition=%c, body=%b\n"
CALL = '  %rnn_fwd.6 = (f32[2,5,3]{2,1,0}, f32[16]{0}) custom-call(%x), custom_call_target="cudnn_rnn_ffi"\n'
CALL_BACK = CALL.replace("cudnn_rnn_ffi", "cudnn_rnn_bwd_ffi")


def counted(equations: Sequence[Any], text: str) -> Counts:
    return count(jaxpr(equation("pjit", jaxpr=jaxpr(*equations))), text)


@pytest.mark.parametrize(
    ("equations", "text", "expected", "kernel"),
    [
        ([LOOP] * 2, WHILE * 2, INFERENCE, "loop"),
        ([LOOP] * 4, WHILE * 4, TRAINING, "loop"),
        ([DOT] * 9, "", INFERENCE, "unrolled"),
        ([DOT] * 8, "", INFERENCE, "unknown"),
        ([], "", INFERENCE, "unknown"),
        ([DOT] * 50, "", replace(INFERENCE, timesteps=0), "unknown"),
        # XLA takes a loop of one step apart, and it is Keras's loop all the same; one of five it may not.
        ([equation("scan", jaxpr=STEP, length=1)] * 2, "", replace(INFERENCE, timesteps=1), "loop"),
        ([LOOP] * 2, "", INFERENCE, "unknown"),
        # A GPU host: two layers, both directions in one call (Keras 3.15), both in two calls, and with gradients.
        ([CUDNN] * 2, CALL * 2, INFERENCE, "cudnn"),
        ([FUSED, DOT], CALL, INFERENCE, "cudnn"),
        ([CUDNN, GRADIENT] * 2, CALL * 2 + CALL_BACK * 2, TRAINING, "cudnn"),
        ([FUSED, GRADIENT], CALL + CALL_BACK, TRAINING, "cudnn"),
        ([CUDNN] * 2, WHILE * 2, INFERENCE, "unknown"),  # traced, and not what was compiled
        ([CUDNN, LOOP], CALL + WHILE, INFERENCE, "mixed: cudnn 1, loop 1"),
        ([CUDNN, GRADIENT, LOOP, LOOP], CALL + CALL_BACK + WHILE * 2, TRAINING, "mixed: cudnn 1, loop 1"),
        ([CUDNN, *[DOT] * 10], CALL, INFERENCE, "mixed: cudnn 1, unrolled 1"),
        ([LOOP], WHILE, INFERENCE, "mixed: loop 1, unknown 1"),
        ([LOOP], WHILE, replace(INFERENCE, cells=None), "loop"),
    ],
)
def test_kernel_of_a_program(equations: list[Any], text: str, expected: Expected, kernel: str) -> None:
    assert classify(counted(equations, text), expected) == kernel


def test_a_loop_counts_by_the_products_in_it() -> None:
    """Drawing random numbers is a loop too, and has none; the products of a step are not those of an unrolled one."""
    drawing = equation("while", body_jaxpr=jaxpr(equation("xor")), cond_jaxpr=jaxpr())
    found = counted([drawing, LOOP], WHILE * 2)
    assert (found.loops, found.products, found.compiled_loops) == (1, 0, 2)
    nested = equation("scan", jaxpr=jaxpr(LOOP, equation("add")), length=3)
    assert counted([nested], WHILE).loops == 1


def test_what_is_called_in_whatever_way_is_counted() -> None:
    """In a list of branches, in a closed jaxpr within an attribute, and below another call."""
    branches = equation("cond", branches=(jaxpr(DOT), jaxpr(LOOP)))
    custom = equation("custom_vjp_call", call_jaxpr=jaxpr(CUDNN), fwd_jaxpr_thunk=print, num_consts=0)
    found = counted([branches, custom], WHILE + CALL)
    assert (found.products, found.loops, found.cudnn_calls) == (1, 1, 1)


def test_both_directions_in_one_call_are_two_lstms() -> None:
    assert (counted([FUSED], CALL).cudnn_calls, counted([FUSED], CALL).cudnn_lstms) == (1, 2)


def test_the_text_is_read_as_xla_writes_it() -> None:
    """With the names of jaxlib before it had typed calls, and no loop where only a name or a note says so."""
    old = CALL.replace("cudnn_rnn_ffi", "cudnn_rnn") + CALL_BACK.replace("cudnn_rnn_bwd_ffi", "cudnn_rnn_bwd")
    found = counted([], old)
    assert (found.compiled_cudnn_calls, found.compiled_cudnn_gradients) == (1, 1)
    note = '  %add.1 = f32[] add(%while.3, %b), metadata={op_name="jit(f)/while/body"}\n'
    assert counted([], note + WHILE.replace("%while.3", "ROOT %while.3")).compiled_loops == 1


@pytest.mark.parametrize(
    ("platforms", "device"),
    [
        ({"cpu"}, "cpu"),
        ({"gpu"}, "gpu"),
        ({"cuda"}, "gpu"),
        ({"cpu", "gpu"}, "mixed: cpu, gpu"),
        (set(), "unknown"),
    ],
)
def test_device_of_the_results(platforms: set[str], device: str) -> None:
    assert device_of(platforms) == device
