"""Counting what a TensorFlow graph would execute, by walking it from its nodes into the functions they call.

The library of a graph is never counted as such: it also holds functions that nothing calls (Keras 2 registers its
cuDNN version on every machine). Works on protocol buffers alone, without importing TensorFlow.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Iterable, Optional

#: Attributes that name a function which the node calls.
_CALLS = ("f", "body", "cond", "then_branch", "else_branch")


@dataclass
class Counts:
    """Nodes by (op, device), device as TensorFlow writes it, empty where nothing was placed.

    ``ops`` run as they stand; ``compiled_ops`` lie inside functions that XLA must compile, called by the ``compiled``
    nodes, counted by device.
    """

    ops: Counter[tuple[str, str]] = field(default_factory=Counter)
    compiled_ops: Counter[tuple[str, str]] = field(default_factory=Counter)
    compiled: Counter[str] = field(default_factory=Counter)

    def add(self, other: Counts) -> None:
        self.ops.update(other.ops)
        self.compiled_ops.update(other.compiled_ops)
        self.compiled.update(other.compiled)


def count_graph(graph: Any, library: Iterable[Any] = (), prefer: Optional[str] = None) -> Counts:
    """Counts for a GraphDef and all functions it reaches; what has no device of its own has its caller's.

    ``library``: further FunctionDefs to look up names in. ``prefer``: CPU or GPU, for a graph that was traced and not
    run; where a function stands for several implementations (Keras 2: ``api_implements``), the one is counted that
    TensorFlow's implementation selector takes there. A graph that was run already names the one that ran.
    """
    functions = {function.signature.name: function for function in [*library, *graph.library.function]}
    counts = Counts()
    pending: list[tuple[Any, str, bool]] = [(graph.node, "", False)]
    while pending:
        nodes, place, inside = pending.pop()
        for node in nodes:
            device = node.device or place
            compiled = inside or must_compile(node)
            if compiled and not inside:
                counts.compiled[device] += 1
            else:
                (counts.compiled_ops if inside else counts.ops)[node.op, device] += 1
            for name in _called(node):
                function = _selected(functions, name, prefer)
                if function is not None:
                    pending.append((function.node_def, device, compiled))
    return counts


def must_compile(holder: Any) -> bool:
    """Whether a node or function carries ``_XlaMustCompile`` (``jit_compile=True``) or is an XLA cluster."""
    attributes = holder.attr
    marked = "_XlaMustCompile" in attributes and bool(attributes["_XlaMustCompile"].b)
    return marked or getattr(holder, "op", "") in ("XlaLaunch", "_XlaRun")


def _called(node: Any) -> list[str]:
    names = [str(node.attr[key].func.name) for key in _CALLS if key in node.attr and node.attr[key].func.name]
    if "branches" in node.attr:
        names += [str(function.name) for function in node.attr["branches"].list.func]
    return names


def _selected(functions: dict[str, Any], name: str, prefer: Optional[str]) -> Optional[Any]:
    # The optimiser renames what it specialises, again at every specialisation.
    function = functions.get(name) or functions.get(name.split("_specialized_for_")[0])
    if function is None or prefer is None or "api_implements" not in function.attr:
        return function
    for other in functions.values():
        same = other.attr["api_implements"].s == function.attr["api_implements"].s if _has_device(other) else False
        if same and _pass(other) == _pass(function) and other.attr["api_preferred_device"].s.decode() == prefer:
            return other
    return function


def _has_device(function: Any) -> bool:
    return "api_implements" in function.attr and "api_preferred_device" in function.attr


def _pass(function: Any) -> str:
    """Which of a function's three versions this is: without a gradient, or the forward or backward part of one."""
    name = str(function.signature.name)
    return "backward" if "__backward_" in name else "forward" if name.startswith("__forward_") else "inference"
