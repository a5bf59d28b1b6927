"""Workloads: named LSTM jobs as data."""

from __future__ import annotations

import pathlib
from dataclasses import asdict, dataclass, fields
from typing import Any, Mapping, Union

from lstm_models import workload_file
from lstm_models.workload_file import WorkloadError

__all__ = ["Workload", "WorkloadError", "builtin", "load"]

_BUILTIN = pathlib.Path(__file__).with_name("workloads.toml")


@dataclass(frozen=True)
class Workload:
    """A named LSTM job.

    Shapes: inputs are ``(batch, timesteps)`` int32 tokens when ``vocabulary`` is set, else
    ``(batch, timesteps, features)`` float32. ``layers`` LSTMs of ``units`` each (twice that wide when
    ``bidirectional``) follow; all but the last return sequences, the last one too when ``return_sequences``.
    ``outputs`` is the width of the dense head, 0 for none.

    ``kind``: ``stack`` (the layers above), ``encoder-decoder`` (an encoder LSTM hands h and c to a decoder LSTM of
    the same width; both embed tokens), ``builder`` (a user's function makes the model), ``saved`` (a model file).
    ``head``: ``none``, ``softmax`` (sparse categorical cross-entropy), ``sigmoid`` (binary cross-entropy) or
    ``linear`` (mean squared error).
    ``mask``: ``none``, ``right`` (padding at the end, what cuDNN takes) or ``left`` (what ``pad_sequences`` makes).
    ``digest`` is that of a saved model's file. A builder's code has none: a changed model shows in its numbers.
    """

    name: str
    source: str
    kind: str = "stack"
    layers: int = 1
    units: int = 0
    timesteps: int = 0
    features: int = 0
    vocabulary: int = 0
    embedding: int = 0
    bidirectional: bool = False
    return_sequences: bool = False
    head: str = "none"
    outputs: int = 0
    mask: str = "none"
    dropout: float = 0.0
    recurrent_dropout: float = 0.0
    activation: str = "tanh"
    use_bias: bool = True
    stateful: bool = False
    decode_tokens: int = 0
    batch_sizes: tuple[int, ...] = (1, 32)
    builder: str = ""
    saved: str = ""
    digest: str = ""

    def to_plain(self) -> dict[str, Any]:
        """All fields that define the work, as builtins: not the batch sizes (a case has one) and not the source."""
        plain = asdict(self)
        del plain["batch_sizes"], plain["source"]
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Workload:
        """Inverse of :meth:`to_plain`."""
        known = {field.name for field in fields(cls)}
        return cls(**{"source": "", **{key: value for key, value in plain.items() if key in known}})


def builtin() -> dict[str, Workload]:
    """The workloads that come with the suite, by name, in the order of ``workloads.toml``."""
    return {name: Workload(name=name, **found) for name, found in workload_file.read(_BUILTIN).items()}


def load(file: Union[str, pathlib.Path]) -> dict[str, Workload]:
    """A user's own workloads, by name.

    The file has the form of ``workloads.toml``; besides, ``builder = "package.module:function"`` names a function
    that makes the model (see :mod:`lstm_models.models`), and ``saved = "model.keras"`` a model file, relative to the
    workload file. Raises :class:`WorkloadError`, also where a name is one of the built-in workloads.
    """
    found = workload_file.read(file)
    taken = [name for name in found if name in builtin()]
    if taken:
        raise WorkloadError(
            f"{file}: [workload.{taken[0]}]: there is a built-in workload of this name, and results of the two would "
            f"be mixed up. Give yours another name; taken are: {', '.join(builtin())}."
        )
    return {name: Workload(name=name, **fields_) for name, fields_ in found.items()}
