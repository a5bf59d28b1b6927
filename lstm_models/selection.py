"""Which kernel Keras would pick on a GPU host for each configuration of an LSTM, found by tracing on any machine.

Nothing of Keras's rules is repeated here: each layer is made, put in its place (:mod:`lstm_models.selection_places`)
and traced with Keras told that there is a GPU. That is how a release shows that loses cuDNN for a setting, such as
Keras before 3.4, which ran an LSTM with ``dropout`` as a loop (keras issue 19644).
"""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from lstm_models import keras_layers
from lstm_models.proof import Expected
from lstm_models.proof_trace import pretend_gpu, refusal, traced_kernel
from lstm_models.selection_places import BATCH, TIMESTEPS, Place, Placed, Setting, mask, rows

MODES = ("inference", "training")
#: A kernel's word where this Keras lacks the option: the row says nothing about it.
NOT_COMPARABLE = "not comparable"
#: A kernel's word where this Keras raised: another Keras that runs it has won something, or this one lost it.
FAILS = "fails"


@dataclass(frozen=True)
class _Found:
    """``kernel`` by mode, and what Keras resolved ``jit_compile="auto"`` to; ``note``: what else a person must know."""

    kernel: dict[str, str]
    jit: str
    note: str


def selection() -> list[dict[str, str]]:
    """The whole table, two rows per setting and place: inference, and training with the gradients of all weights.

    Each row maps text to text: ``row`` (a stable id, ``dropout/bidirectional``), ``mode`` (of :data:`MODES`),
    ``kernel`` (``cudnn``, ``loop``, ``unrolled``, ``2x cudnn`` where two LSTMs have it, ``mixed: ...`` where they
    differ, :data:`FAILS`, :data:`NOT_COMPARABLE`), ``jit`` (``True`` or ``False``: what ``jit_compile="auto"``
    resolves to; then a kernel that is not cuDNN runs under XLA; ``""`` where there is no model), ``note`` (why, or what
    happens at run time; may be empty), ``setting`` and ``place`` (the id for a person).

    Seconds; nothing is run. Policy, Python's random state and the pretended GPU are as before afterwards; Keras's
    counters of names and the memory of the models are the caller's to clear.
    """
    drawn = random.getstate()  # Keras draws its seeds from it
    try:
        with tempfile.TemporaryDirectory(prefix="lstm-perf-") as folder, pretend_gpu():
            return [row for setting, place in rows() for row in _rows(setting, place, FilePath(folder))]
    finally:
        random.setstate(drawn)


def _rows(setting: Setting, place: Place, folder: FilePath) -> list[dict[str, str]]:
    found = _look(setting, place, folder)
    return [
        {
            "row": f"{setting.id}/{place.id}",
            "mode": mode,
            "kernel": found.kernel[mode],
            "jit": found.jit,
            "note": found.note,
            "setting": setting.words,
            "place": place.words,
        }
        for mode in MODES
    ]


def _look(setting: Setting, place: Place, folder: FilePath) -> _Found:
    if "use_cudnn" in setting.options and not keras_layers.has_use_cudnn():
        version = keras_layers.keras().__version__
        return _Found(dict.fromkeys(MODES, NOT_COMPARABLE), "", f"the LSTM of Keras {version} knows no use_cudnn")
    try:
        with keras_layers.policy(place.precision):
            placed = place.build(setting, folder)
            placed.model.compile(optimizer="sgd", loss="mse")
    except Exception as error:  # whatever a release raises is what it does with this layer
        return _Found(dict.fromkeys(MODES, FAILS), "", _said(error, folder))
    notes = dict.fromkeys(MODES, "")
    kernel = {}
    for mode in MODES:
        try:
            kernel[mode] = _kernel(placed, place, mode == "training")
        except Exception as error:
            kernel[mode], notes[mode] = FAILS, f"{mode}: {_said(error, folder)}"
    parts = [*notes.values(), _forgotten(setting, placed), _at_run_time(setting, kernel)]
    return _Found(kernel, str(keras_layers.jit_compiled(placed.model)), "; ".join(part for part in parts if part))


def _kernel(placed: Placed, place: Place, training: bool) -> str:
    expected = Expected(place.cells, TIMESTEPS, training)
    found = traced_kernel(placed.model, training=training, gpu=True, expected=expected, batch=BATCH, call=placed.call)
    return found if place.cells == 1 or " " in found else f"{place.cells}x {found}"


def _forgotten(setting: Setting, placed: Placed) -> str:
    """What became of ``use_cudnn``, which is in no layer's configuration and so is lost wherever one is made anew."""
    asked = setting.options.get("use_cudnn")
    have: Any = {getattr(layer, "use_cudnn", None) for layer in keras_layers.recurrent_layers(placed.model)}
    if asked is None or have == {asked}:
        return ""
    return f"use_cudnn={asked} was asked for, the layer has {', '.join(sorted(map(repr, have)))}"


def _at_run_time(setting: Setting, kernel: dict[str, str]) -> str:
    """Whether the cuDNN that was picked then refuses the mask."""
    if not setting.given.startswith("mask") or "cudnn" not in kernel.values():
        return ""
    said = refusal(mask(setting.given))
    return f"refused at run time: {said.split('. ')[0]}" if said else ""


def _said(error: Exception, folder: FilePath) -> str:
    """An error in one line that is the same in every run."""
    text = " ".join(str(error).replace(str(folder), "").split())
    return f"{type(error).__name__}: {text[:200]}"
