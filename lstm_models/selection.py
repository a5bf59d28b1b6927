"""Which kernel Keras would pick on a GPU host for each configuration of an LSTM, found by tracing on any machine.

Nothing of Keras's rules is repeated here: each layer is made, put in its place (:mod:`lstm_models.selection_places`)
and traced with Keras told that there is a GPU. That is how a release shows that loses cuDNN for a setting, such as
Keras before 3.4, which ran an LSTM with ``dropout`` as a loop (keras issue 19644). A workload's whole model is looked
at in the same way (:mod:`lstm_models.selection_workloads`).
"""

from __future__ import annotations

import random
import re
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, Iterator, Mapping

from lstm_models import keras_layers, selection_workloads
from lstm_models.backends import trace
from lstm_models.proof import Expected
from lstm_models.selection_places import BATCH, TIMESTEPS, Place, Placed, Setting, mask, rows
from lstm_models.workloads import Workload

MODES = ("inference", "training")
#: A kernel's word where this Keras lacks the option: the row says nothing about it.
NOT_COMPARABLE = "not comparable"
#: A kernel's word where this Keras raises, at once or when the layer runs: it is not the kernel that was picked.
FAILS = "fails"
_CAUSE = re.compile(r"^\s*(\w+(?:Error|Exception): )", re.MULTILINE)
_BOLD = re.compile("\x1b\\[[0-9;]*m")


@dataclass(frozen=True)
class _Found:
    """``kernel`` by mode, and what Keras resolved ``jit_compile="auto"`` to; ``note``: what else a person must know."""

    kernel: dict[str, str]
    jit: str
    note: str


def selection(settings: Mapping[str, Mapping[str, Any]]) -> list[dict[str, str]]:
    """The table of ``settings``, two rows per setting and place: inference, and training.

    The keys are ids: those of :data:`lstm_models.selection_places.GROUPS`, whose values are empty, or any other with
    a workload as its value (:meth:`lstm_models.workloads.Workload.to_plain`), whose model is then looked at.

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
        with (
            tempfile.TemporaryDirectory(prefix="lstm-perf-") as folder,
            warnings.catch_warnings(),
            trace().pretend_gpu(),
        ):
            warnings.simplefilter("ignore")  # where they are errors, a deprecated call inside Keras would be a failure
            return [row for setting, place in _wanted(settings) for row in _rows(setting, place, FilePath(folder))]
    finally:
        random.setstate(drawn)


def _wanted(settings: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[Setting, Place]]:
    yield from ((setting, place) for setting, place in rows() if setting.id in settings)
    for id, workload in settings.items():
        if workload:
            yield selection_workloads.row(id, Workload.from_plain(workload))


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
    kernel, notes = {}, [_forgotten(setting, placed)]
    for mode in MODES:
        try:
            kernel[mode], note = _at_run_time(setting, _kernel(placed, place, mode == "training"))
        except Exception as error:
            kernel[mode], note = FAILS, f"{mode}: {_said(error, folder)}"
        notes.append(note)
    jit = str(keras_layers.jit_compiled(placed.model))
    return _Found(kernel, jit, "; ".join(note for note in dict.fromkeys(notes) if note))


def _kernel(placed: Placed, place: Place, training: bool) -> str:
    # The forward pass decides: the gradient of cuDNN's op is cuDNN's, that of a loop a loop; it doubles the time.
    found: str = trace().traced_kernel(
        placed.model,
        training=training,
        gpu=True,
        expected=Expected(place.cells, TIMESTEPS, training=False),
        batch=BATCH,
        call=placed.call,
        gradients=False,
    )
    return found if place.cells in (1, None) or " " in found else f"{place.cells}x {found}"


def _at_run_time(setting: Setting, kernel: str) -> tuple[str, str]:
    """What becomes of the traced kernel when a mask comes, and a note where that is something else."""
    if keras_layers.is_keras_2() and "cudnn" in kernel and "loop" in kernel:
        return NOT_COMPARABLE, "Keras 2 has cuDNN and a loop in its graph, and looks at each mask while it runs"
    if kernel == "cudnn" and setting.given.startswith("mask"):
        said: str = trace().refusal(mask(setting.given))
        if said:
            return FAILS, f"cuDNN is picked and refuses at run time: {_short(said)}"
    return kernel, ""


def _forgotten(setting: Setting, placed: Placed) -> str:
    """What became of ``use_cudnn``, which is in no layer's configuration and so is lost wherever one is made anew."""
    asked = setting.options.get("use_cudnn")
    have: Any = {getattr(layer, "use_cudnn", None) for layer in keras_layers.recurrent_layers(placed.model)}
    if asked is None or have == {asked}:
        return ""
    return f"use_cudnn={asked} was asked for, the layer has {', '.join(sorted(map(repr, have)))}"


def _said(error: Exception, folder: FilePath) -> str:
    """An error without what differs from run to run or from machine to machine: folders, and AutoGraph's list of files
    and lines, below which the error stands that it was."""
    text = str(error).replace(str(folder), "")
    cause = _CAUSE.search(text) if text.startswith("in user code") else None
    return _short(text[cause.start(1) :] if cause else f"{type(error).__name__}: {text}")


def _short(message: str) -> str:
    """The beginning of a message in one line; Keras prints parts of its own in bold."""
    return " ".join(_BOLD.sub("", message).split())[:120]
