"""Counting what a JAX program holds: in its jaxpr, and in the text that XLA compiled it to.

Needs no JAX: a jaxpr is read by its attributes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any, Iterator

_LOOPS = ("scan", "while")
_WHILE = re.compile(r"= .*\bwhile\(")
#: jaxlib/gpu_rnn.py: cudnn_rnn_ffi and cudnn_rnn_bwd_ffi; before, without the ending.
_CUDNN = re.compile(r'custom_call_target="cudnn_rnn(_bwd)?(?:_ffi)?"')


@dataclass
class Counts:
    """Of the jaxpr: ``loops`` that hold a matrix product, ``long_loops`` those of more than one step; ``products``
    outside of loops; ``cudnn_calls``, the ``cudnn_lstms`` in them (two where Keras fuses both directions into one
    call) and ``cudnn_gradients``. Of the compiled text: ``compiled_loops``, whatever they hold (drawing random numbers
    is a loop too), and the calls of cuDNN."""

    loops: int = 0
    long_loops: int = 0
    products: int = 0
    cudnn_calls: int = 0
    cudnn_lstms: int = 0
    cudnn_gradients: int = 0
    compiled_loops: int = 0
    compiled_cudnn_calls: int = 0
    compiled_cudnn_gradients: int = 0

    def add(self, other: Counts) -> None:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


def count(jaxpr: Any, compiled: str) -> Counts:
    """Counts of one program."""
    counts = Counts()
    _count_equations(jaxpr, counts)
    counts.compiled_loops = sum(1 for line in compiled.splitlines() if _WHILE.search(line))
    for gradient in _CUDNN.findall(compiled):
        if gradient:
            counts.compiled_cudnn_gradients += 1
        else:
            counts.compiled_cudnn_calls += 1
    return counts


def _count_equations(jaxpr: Any, counts: Counts) -> None:
    for equation in jaxpr.eqns:
        kind = equation.primitive.name
        if kind == "dot_general":
            counts.products += 1
        elif kind == "rnn_fwd":
            counts.cudnn_calls += 1
            counts.cudnn_lstms += equation.params["num_layers"] * (2 if equation.params["bidirectional"] else 1)
        elif kind == "rnn_bwd":
            counts.cudnn_gradients += 1
        inner = Counts()
        for other in _jaxprs_in(equation.params):
            _count_equations(other, inner)
        if kind in _LOOPS and (inner.products or inner.loops):
            inner.products, inner.loops = 0, 1
            inner.long_loops = 0 if equation.params.get("length") == 1 else 1
        counts.add(inner)


def _jaxprs_in(params: Any) -> Iterator[Any]:
    """The jaxprs that an equation calls: single ones, and lists of them such as the branches of ``cond``."""
    for value in params.values():
        for part in value if isinstance(value, (list, tuple)) else (value,):
            if hasattr(part, "eqns"):
                yield part
