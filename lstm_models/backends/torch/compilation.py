"""``torch.compile`` behind Keras's fit, evaluate and predict, and what it did in this process."""

from __future__ import annotations

import functools
import weakref
from typing import Any, Callable, Optional

from lstm_models.backends.interface import Recorded
from lstm_models.problem import Problem

#: The compiled steps that are still in use.
_alive: weakref.WeakSet[Compilation] = weakref.WeakSet()


class Compilation:
    """What ``torch.compile`` did in this process since this was made.

    It keeps its results by the code of a function and not by the model: after eight models of one shape of code it
    gives up, and sizes that differed before are compiled as open ones. So whatever no step needs any more is forgotten
    here, and a case is compiled as in a fresh process; cases that are open together share what there is.
    """

    def __init__(self) -> None:
        """Raises :class:`Problem` where nothing can be compiled."""
        import torch

        if why := _why_not():
            raise Problem(
                "open",
                f"The kernel inductor needs torch.compile, which does not work here: {why}. For the CPU it takes a C++ "
                "compiler such as g++, for a GPU Triton and a C compiler; install them, or measure the kernel loop.",
            )
        if not _alive:
            torch._dynamo.reset()
        _alive.add(self)
        self._before = _counts()

    def frames(self) -> int:
        """Functions, and parts of functions, that were looked at to be compiled."""
        return self._since("frames", "total")

    def evidence(self) -> dict[str, str]:
        """As text: graphs, the breaks between them, and how many came from inductor's cache on the disk."""
        return {
            "graphs_compiled": str(self._since("stats", "unique_graphs")),
            "graph_breaks": str(self._since("graph_break")),
            "graphs_from_disk_cache": str(self._since("inductor", "fxgraph_cache_hit")),
        }

    def _since(self, *key: str) -> int:
        return _sum(_counts(), *key) - _sum(self._before, *key)


@functools.cache
def _why_not() -> str:
    """What ``torch.compile`` says to one sum; empty if it works. Once in a process: its compilers are loaded then, and
    their seconds belong to no case's first call."""
    import torch

    from lstm_models.keras_layers import keras

    try:
        torch.compile(lambda tensor: tensor + 1)(keras().ops.zeros(2))
    except Exception as error:  # a compiler's own errors are of many kinds
        return f"{type(error).__name__}: {error}".strip().splitlines()[0].rstrip(".")
    return ""


def _counts() -> dict[str, dict[str, int]]:
    from torch._dynamo.utils import counters

    return {name: dict(found) for name, found in counters.items()}


def _sum(counts: dict[str, dict[str, int]], group: str, name: Optional[str] = None) -> int:
    found = counts.get(group, {})
    return sum(found.values()) if name is None else found.get(name, 0)


def compiled(function: Callable[..., Any], wanted: bool) -> tuple[Callable[..., Any], Optional[Compilation]]:
    """``function`` under ``torch.compile`` and what then happens, or as it is and ``None``."""
    import torch

    if not wanted:
        return function, None
    compilation = Compilation()
    return torch.compile(function), compilation


def traces(compilation: Optional[Compilation]) -> Callable[[], int]:
    """:attr:`lstm_models.step.Step.traces`: nothing is ever traced where nothing is compiled."""
    return (lambda: 0) if compilation is None else compilation.frames


def record(model: Any, which: str) -> Recorded:
    """As :meth:`lstm_models.backends.interface.Backend.record`; the evidence is a :class:`Compilation`, or ``None``
    where Keras does not compile."""
    compilation = Compilation() if model.jit_compile else None
    getattr(model, f"make_{which}_function")(force=True)
    return Recorded(traces(compilation), compilation)
