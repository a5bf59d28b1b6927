# ruff: noqa: N802 - it has pynvml's names
"""As much of nvidia-ml-py as is asked, over GPUs that are not there: a pytester project imports it as ``pynvml``.

The environment variable ``FAKE_NVML`` names a JSON file; all of it is optional::

    {
      "driver": "570.1",
      "init_error": "Driver Not Loaded",      NVML does not start at all
      "cards": [{...}, ...],                  default: one H200
      "energy_counter": true
      "changes": [                            laid over every card while NVML is read for the n-th time, from 1
        {"from": 9, "to": 12, "throttle_reasons": 64},
        {"from": 9, "every": 7, "throttle_reasons": 64},
        {"from": 5, "processes": {"4242": 2000000000}, "percents": {"4242": 60}},
        {"from": 20, "error": "GPU is lost"}
      ]
    }

A card: ``name``, ``bytes``, ``uuid``, ``watts`` (while it computes), ``watts_limit``, ``mig`` (0 or 1), ``celsius``,
``sm_clock_mhz``, ``throttle_reasons`` (NVML's bits), ``processes`` (bytes by pid) and ``percents`` (by pid, ``null``
where the driver does not tell), ``utilisation``. The fake worker's process is listed too while it lives (unless
``own_listed`` is false), with ``own_percent`` of the multiprocessors where that is given, and the counter of energy
goes on by what it says it computed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

CARD: dict[str, Any] = {
    "name": "NVIDIA H200", "bytes": 150_754_820_096, "uuid": None, "watts": 300.0, "watts_limit": 700.0, "mig": 0,
    "celsius": 55, "sm_clock_mhz": 1980, "throttle_reasons": 0, "processes": {}, "percents": {}, "utilisation": 0,
    "own_percent": None, "own_listed": True, "error": None,
}  # fmt: skip

_reading = 0


class NVMLError(Exception):
    def __init__(self, text: str, value: int = 999) -> None:
        super().__init__(text)
        self.value = value


def _script() -> dict[str, Any]:
    name = os.environ.get("FAKE_NVML")
    return dict(json.loads(Path(name).read_text())) if name else {}


def _card(handle: int) -> SimpleNamespace:
    script = _script()
    card = CARD | {"uuid": f"GPU-{handle}"} | script.get("cards", [{}])[handle]
    for change in script.get("changes", []):
        since = _reading - change["from"]
        if since >= 0 and _reading <= change.get("to", _reading) and since % change.get("every", 1) == 0:
            card |= {name: value for name, value in change.items() if name not in ("from", "to", "every")}
    if card["error"]:
        raise NVMLError(card["error"], 15)
    return SimpleNamespace(**card)


def _of_workers(suffix: str) -> list[str]:
    file = Path(os.environ.get("FAKE_WORKER_SCRIPT", "nowhere") + suffix)
    return file.read_text().split() if file.exists() else []


def nvmlInit() -> None:
    if text := _script().get("init_error"):
        raise NVMLError(text)


def nvmlShutdown() -> None:
    pass


def nvmlSystemGetDriverVersion() -> str:
    return str(_script().get("driver", "570.1"))


def nvmlDeviceGetCount() -> int:
    return len(_script().get("cards", [{}]))


def nvmlDeviceGetHandleByIndex(index: int) -> int:
    return index


def nvmlDeviceGetHandleByUUID(uuid: str) -> int:
    (handle,) = [index for index in range(nvmlDeviceGetCount()) if _card(index).uuid == uuid]
    return handle


def nvmlDeviceGetName(handle: int) -> str:
    return str(_card(handle).name)


def nvmlDeviceGetUUID(handle: int) -> str:
    return str(_card(handle).uuid)


def nvmlDeviceGetMemoryInfo(handle: int) -> SimpleNamespace:
    return SimpleNamespace(total=_card(handle).bytes)


def nvmlDeviceGetEnforcedPowerLimit(handle: int) -> int:
    return round(_card(handle).watts_limit * 1000)


def nvmlDeviceGetMigMode(handle: int) -> list[int]:
    return [_card(handle).mig, 0]


def nvmlDeviceGetPersistenceMode(handle: int) -> int:
    return 1


def nvmlDeviceGetMaxPcieLinkGeneration(handle: int) -> int:
    return 5


def nvmlDeviceGetCurrPcieLinkWidth(handle: int) -> int:
    return 16


def nvmlDeviceGetUtilizationRates(handle: int) -> SimpleNamespace:
    return SimpleNamespace(gpu=_card(handle).utilisation)


def nvmlDeviceGetPowerUsage(handle: int) -> int:
    """The first thing that is asked in a reading."""
    global _reading
    _reading += 1
    return round(_card(handle).watts * 1000)


def nvmlDeviceGetTotalEnergyConsumption(handle: int) -> int:
    if not _script().get("energy_counter", True):
        raise NVMLError("Not Supported", 3)
    return round(_card(handle).watts * 1000 * sum(map(float, _of_workers(".gpu_seconds"))))


def nvmlDeviceGetViolationStatus(handle: int, policy: int) -> SimpleNamespace:
    raise NVMLError("Not Supported", 3)


def _alive() -> list[int]:
    return [int(pid) for pid in _of_workers(".gpu_pids") if Path(f"/proc/{pid}").exists()]


def nvmlDeviceGetComputeRunningProcesses(handle: int) -> list[SimpleNamespace]:
    held = {int(pid): used for pid, used in _card(handle).processes.items()}
    own = dict.fromkeys(_alive() if _card(handle).own_listed else [], 500_000_000)
    return [SimpleNamespace(pid=pid, usedGpuMemory=used) for pid, used in (own | held).items()]


def nvmlDeviceGetClockInfo(handle: int, clock: int) -> int:
    return int(_card(handle).sm_clock_mhz)


def nvmlDeviceGetTemperature(handle: int, sensor: int) -> int:
    return int(_card(handle).celsius)


def nvmlDeviceGetCurrentClocksEventReasons(handle: int) -> int:
    return int(_card(handle).throttle_reasons)


def nvmlDeviceGetProcessUtilization(handle: int, since: int) -> list[SimpleNamespace]:
    percents = _card(handle).percents
    if percents is None:
        raise NVMLError("Not Supported", 3)
    if (own := _card(handle).own_percent) is not None:
        percents = dict.fromkeys(_alive(), own) | percents
    if not percents:
        raise NVMLError("Not Found", 6)
    return [SimpleNamespace(pid=int(pid), smUtil=percent, timeStamp=since + 1) for pid, percent in percents.items()]
