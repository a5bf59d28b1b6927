"""What a proof says of a step that ran: its kernel and its device, and what was counted to know them.

How it is found is each framework's own affair (:meth:`lstm_models.backends.interface.Backend.prove`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Mapping, Optional

from lstm_models.words import Path

if TYPE_CHECKING:
    from lstm_models.workloads import Workload


@dataclass(frozen=True)
class Proof:
    """``kernel``: loop, unrolled, xla, inductor, cudnn, ``mixed: ...`` or unknown. ``device``: cpu, gpu, ``mixed: ...``
    or unknown. ``evidence``: what was counted, as text."""

    kernel: str
    device: str
    evidence: Mapping[str, str]


@dataclass(frozen=True)
class Expected:
    """What the counts are held against. ``cells``: LSTMs in the model (a bidirectional layer is two), ``None`` where
    unknown. ``timesteps``: of the shortest of them. ``training``: the gradient was computed too."""

    cells: Optional[int]
    timesteps: int
    training: bool

    @classmethod
    def of(cls, workload: Workload, path: Path) -> Expected:
        """From a workload and the path that runs it. One decoding step is an LSTM over one time step."""
        cells: Optional[int] = workload.layers * (2 if workload.bidirectional else 1)
        if workload.kind == "encoder-decoder":
            cells = 2 * workload.layers
        elif workload.kind != "stack":
            cells = None
        decoding = path is Path.PREDICT and bool(workload.decode_tokens)
        return cls(cells, 1 if decoding else workload.timesteps, path in (Path.BACKWARD, Path.FIT))
