"""What ran inside each LSTM, as counts, and the kernel and device behind them. No framework here.

A name of an op is torch's own, such as ``aten::mm``; a device is torch's type of it, ``cpu`` or ``cuda``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Iterable, Optional, Sequence

from lstm_models.proof import Expected

#: The op of a kernel that computes all time steps at once. Keras never asks for oneDNN's; should it, this tells.
FUSED = {"aten::_cudnn_rnn": "cudnn", "aten::mkldnn_rnn_layer": "onednn"}
#: A matrix product, as torch's ops spell it when nothing else is left to be taken apart.
PRODUCTS = frozenset(
    f"aten::{name}" for name in ("mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "addbmm", "_int_mm", "_scaled_mm")
)
_DEVICES = {"cpu": "cpu", "cuda": "gpu"}


@dataclass
class Call:
    """One LSTM over all its time steps: ops by (name, device), those only that decide, and how many raised."""

    ops: Counter[tuple[str, str]] = field(default_factory=Counter)
    raised: int = 0

    def number(self, names: Iterable[str]) -> int:
        return sum(self.ops[key] for key in self.ops if key[0] in set(names))


@dataclass
class Counts:
    """``calls`` of LSTMs; ``outside`` them are fused ops of both directions at once, which Keras 3.15 runs for a
    ``Bidirectional``; ``unwatched``: further calls at which nobody looked. ``into`` is the one of them that runs."""

    calls: list[Call] = field(default_factory=list)
    outside: Call = field(default_factory=Call)
    unwatched: int = 0
    into: Optional[Call] = None


@dataclass
class CompiledCounts:
    """Ops in the graphs that ``torch.compile`` made: ``graphs`` holds one ``Call`` for each run of a graph, ``eager``
    what ran outside all of them."""

    graphs: list[Call] = field(default_factory=list)
    eager: Call = field(default_factory=Call)


def classify(counts: Counts, expected: Expected) -> str:
    """Name of the kernel of eager LSTMs.

    A call is what its op says, else a loop if it holds at least one matrix product per time step. One that holds both
    ran twice: its fused op was done, and Keras threw the result away and took the loop (every 3.14, keras issue 22874).
    Several kernels, or fewer LSTMs than there are, are ``mixed`` with how many of each there were in one pass.
    """
    found: Counter[str] = Counter()
    for call in counts.calls:
        found.update(_kinds(call, expected.timesteps))
    for op, kind in FUSED.items():
        found[kind] += counts.outside.number([op])
    covered = len(counts.calls) + 2 * counts.outside.number(FUSED)
    if expected.cells is not None and covered < expected.cells:
        found["unknown"] += expected.cells - covered
    kinds = {kind: number for kind, number in found.items() if number}
    if len(kinds) < 2:
        return next(iter(kinds), "unknown")
    passes = covered // expected.cells if expected.cells else 1
    if passes > 1 and not any(number % passes for number in kinds.values()):
        kinds = {kind: number // passes for kind, number in kinds.items()}
    return "mixed: " + ", ".join(f"{kind} {number}" for kind, number in kinds.items())


def _kinds(call: Call, timesteps: int) -> list[str]:
    kinds = [kind for op, kind in FUSED.items() if call.number([op])]
    if call.number(PRODUCTS) >= max(timesteps, 1):
        kinds.append("loop")
    return kinds or ["unknown"]


def classify_compiled(counts: CompiledCounts, expected: Expected, passes: int) -> str:
    """Name of the kernel under ``torch.compile``, from ``passes`` runs of the model (batches, or decoded tokens).

    It is ``inductor`` where the recurrence lies in a graph: every product is inside one, and a pass has fewer graphs
    with products than time steps, those of the gradient apart. As many as that are the steps of a loop that Python
    still runs.
    """
    with_products = sum(1 for graph in counts.graphs if graph.number(PRODUCTS))
    outside, fused = counts.eager.number(PRODUCTS), counts.eager.number(FUSED)
    steps = max(expected.timesteps, 2) * passes * (2 if expected.training else 1)
    if fused:
        kinds = {kind: counts.eager.number([op]) for op, kind in FUSED.items()}
        return "mixed: " + ", ".join(f"{kind} {number}" for kind, number in kinds.items() if number)
    if outside >= steps:
        return f"mixed: inductor {with_products}, loop {outside}" if with_products else "loop"
    if with_products >= steps:
        return "loop"
    return "inductor" if counts.graphs else "unknown"


def device_of(calls: Sequence[Call]) -> str:
    """Where the products and fused ops of ``calls`` ran."""
    found: Counter[str] = Counter()
    for call in calls:
        for (name, device), number in call.ops.items():
            if name in PRODUCTS or name in FUSED:
                found[_DEVICES.get(device, device)] += number
    if len(found) < 2:
        return next(iter(found), "unknown")
    return "mixed: " + ", ".join(f"{device} {found[device]}" for device in sorted(found))


def evidence_of(counts: Counts) -> dict[str, str]:
    """The counts that decide, as text for a person and for a stored file."""
    fewest = min((call.number(PRODUCTS) for call in counts.calls), default=0)
    most = max((call.number(PRODUCTS) for call in counts.calls), default=0)
    told = {
        "lstm_calls": len(counts.calls) + counts.unwatched,
        "lstm_calls_watched": len(counts.calls),
        "cudnn_ops": sum(call.number(["aten::_cudnn_rnn"]) for call in [*counts.calls, counts.outside]),
        "cudnn_ops_of_both_directions": counts.outside.number(["aten::_cudnn_rnn"]),
        "fused_ops_raised": sum(call.raised for call in [*counts.calls, counts.outside]),
        "products_per_lstm": fewest if fewest == most else f"{fewest} to {most}",
    }
    return {name: str(value) for name, value in told.items()}


def compiled_evidence_of(counts: CompiledCounts) -> dict[str, str]:
    """As :func:`evidence_of`, of what was compiled."""
    told = {
        "graphs_run": len(counts.graphs),
        "graphs_run_with_products": sum(1 for graph in counts.graphs if graph.number(PRODUCTS)),
        "products_in_graphs": sum(graph.number(PRODUCTS) for graph in counts.graphs),
        "products_outside": counts.eager.number(PRODUCTS),
    }
    return {name: str(value) for name, value in told.items()}
