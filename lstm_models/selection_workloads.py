"""A workload as a row of the table of kernels: its whole model, under ``auto``, as it would be built on a GPU host.

What Keras picks depends on the options of the layers, on how they are put together and on masks, and not on sizes: the
models that this package makes are made tiny, so that the table stays a matter of seconds. A user's model is as it is.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path as FilePath

from lstm_models import models
from lstm_models.proof import Expected
from lstm_models.selection_places import BATCH, FEATURES, TIMESTEPS, UNITS, Place, Placed, Setting
from lstm_models.words import Kernel, Path, Precision
from lstm_models.workloads import Workload

#: As the place ``embedding`` has them.
TOKENS = 5


def setting_id(name: str) -> str:
    """The id of a workload's setting; no id of a layer's setting has a colon."""
    return f"workload:{name}"


def row(id: str, workload: Workload) -> tuple[Setting, Place]:
    """The one row of a workload. Imports no framework; the model is made when the place is built."""
    looked_at = tiny(workload)

    def build(setting: Setting, folder: FilePath) -> Placed:
        model = models.build(looked_at, Kernel.AUTO, Precision.FLOAT32, BATCH).model
        return Placed(model, model)

    given = "" if workload.mask == "none" else f"mask-{workload.mask}"
    cells = Expected.of(looked_at, Path.FORWARD).cells
    return Setting(id, f"workload {workload.name}", given=given), Place("model", "whole model", build, cells)


def tiny(workload: Workload) -> Workload:
    """The workload with the smallest sizes; the options of its layers and its structure stay."""
    if workload.kind not in ("stack", "encoder-decoder"):
        return workload
    return replace(
        workload,
        units=UNITS,
        timesteps=TIMESTEPS,
        features=min(workload.features, FEATURES),
        vocabulary=min(workload.vocabulary, TOKENS),
        embedding=min(workload.embedding, FEATURES),
        outputs=min(workload.outputs, TOKENS),
    )
