"""Real cases that are quick to open and to time, in families as a session judges them."""

from __future__ import annotations

from collections.abc import Sequence

from lstm_models import workloads
from lstm_models.case import Case
from perf import cases
from perf.harness.errors import Refusal
from perf.harness.records import CaseSpec

PRESETS = {
    # All paths but the slow fit and evaluate, both kernels of a CPU, both batch sizes.
    "mixed": (
        "forward[translation-b1-cpu-loop-float32]",
        "forward[translation-b1-cpu-xla-float32]",
        "forward[translation-b32-cpu-loop-float32]",
        "forward[translation-b32-cpu-xla-float32]",
        "backward[translation-b1-cpu-loop-float32]",
        "backward[translation-b32-cpu-xla-float32]",
        "forward[layer-128-b1-cpu-loop-float32]",
        "predict[translation-b1-cpu-loop-float32]",
    ),
    # Those of them that open fastest: for sessions in which every case is confirmed.
    "forward": (
        "forward[translation-b1-cpu-loop-float32]",
        "forward[translation-b1-cpu-xla-float32]",
        "forward[translation-b32-cpu-loop-float32]",
        "forward[translation-b32-cpu-xla-float32]",
        "forward[layer-128-b1-cpu-loop-float32]",
        "forward[layer-128-b1-cpu-xla-float32]",
    ),
}


def specs(names: Sequence[str]) -> tuple[CaseSpec, ...]:
    """The cases that presets and keys name, each once; raises :class:`Refusal` for one that cannot be measured."""
    keys = dict.fromkeys(key for name in names for key in PRESETS.get(name, (name,)))
    available = workloads.builtin()
    found = []
    for key in keys:
        try:
            spec = cases.spec(Case.parse(key, available))
        except ValueError as error:
            raise Refusal(f"--cases: {error} Presets are: {', '.join(PRESETS)}. Nothing was measured.") from None
        if spec.skip is not None:
            raise Refusal(f"--cases {key!r} cannot be measured here: {spec.skip}. Nothing was measured.")
        found.append(spec)
    return tuple(found)
