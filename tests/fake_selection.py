"""The small table of kernels that the fake worker answers with."""

from __future__ import annotations

from collections.abc import Mapping

MODES = ("inference", "training")
#: Kernels by row, in both modes.
KERNELS = {
    "default/layer": "cudnn",
    "default/bidirectional": "2x cudnn",
    "default/saved": "cudnn",
    "dropout/layer": "cudnn",
    "dropout/bidirectional": "2x cudnn",
}
_SETTINGS = {"default": "Keras's defaults", "dropout": "dropout=0.2"}
_PLACES = {"layer": "bare layer", "bidirectional": "in Bidirectional", "saved": "after saving and loading"}


def rows(laid_over: Mapping[str, str | None]) -> list[dict[str, str]]:
    """The table, with other kernels laid over it; ``None`` leaves a row out, an id that is not there adds one."""
    kernels = {**KERNELS, **laid_over}
    return [_row(row, mode, kernel) for row, kernel in kernels.items() if kernel is not None for mode in MODES]


def _row(row: str, mode: str, kernel: str) -> dict[str, str]:
    setting, place = row.split("/")
    words = {"setting": _SETTINGS.get(setting, setting), "place": _PLACES.get(place, place)}
    return {"row": row, "mode": mode, "kernel": kernel, "jit": "False", "note": "", **words}
