"""What a step costs on a host that is not there: the fake worker's model of CPU and GPU kernels.

A script's ``costs`` map words to costs; those count whose words are all among the case's (path, device, kernel,
precision, workload, and ``host`` where the inputs lie there), later ones winning entry by entry::

    "costs": {
        "cpu": {"fixed": 0.0002, "per_sample": 0.00002},
        "gpu loop": {"fixed": 0.004},
        "gpu cudnn mixed_float16": {"per_sample": 0.0000005}
    }

Seconds per step are ``fixed + per_timestep x timesteps x layers + per_sample x batch x (units / 50)``; bytes are
``bytes_fixed + bytes_per_sample x batch``; the first call takes ``first_call + first_call_per_timestep x timesteps``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.fake_case import is_real

_NAMES = (
    "fixed", "per_timestep", "per_sample", "first_call", "first_call_per_timestep", "bytes_fixed", "bytes_per_sample",
)  # fmt: skip
#: Of the translation workload, at which the costs per sample are given.
_UNITS = 50


def entry(costs: Mapping[str, Mapping[str, float]], case: Mapping[str, Any]) -> dict[str, Any]:
    """What a case's entry in the fake worker's script becomes by these ``costs``; empty without any."""
    if not costs or not is_real(case):
        return {}
    workload = case["workload"]
    words = {case["path"], case["device"], case["kernel"], case["precision"], workload["name"], case.get("inputs", "")}
    found = dict.fromkeys(_NAMES, 0.0)
    for text, values in costs.items():
        if set(text.split()) <= words:
            if unknown := set(values) - set(_NAMES):
                raise ValueError(f"costs of {text!r} have unknown entries: {sorted(unknown)}")
            found |= values
    samples, timesteps = case["batch"] * workload["units"] / _UNITS, workload["timesteps"] * workload["layers"]
    return {
        "seconds_per_step": found["fixed"] + found["per_timestep"] * timesteps + found["per_sample"] * samples,
        "first_call_seconds": (found["first_call"] or 0.5) + found["first_call_per_timestep"] * timesteps,
        "bytes_peak": (peak := round(found["bytes_fixed"] + found["bytes_per_sample"] * case["batch"]) or 20_000_000),
        "device_bytes_peak": peak,
    }
