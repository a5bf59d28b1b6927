"""What one GPU is doing at a moment, read from NVML. Reading costs about a millisecond and changes nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from perf.harness.nvml import NOT_FOUND, NOT_SUPPORTED, answered, code, pynvml

#: NVML's reasons for a clock below the highest (nvmlClocksEventReasons in its reference), as words.
REASONS = {
    0x001: "idle",
    0x002: "application clocks",
    0x004: "software power cap",
    0x008: "hardware slowdown",
    0x010: "sync boost",
    0x020: "software thermal slowdown",
    0x040: "hardware thermal slowdown",
    0x080: "hardware power brake",
    0x100: "display clocks",
    0x200: "voltage limit of the board",
    0x400: "voltage limit for reliability",
}
_SUCCESS = 0
_CLOCK_SM, _THERMAL, _TEMPERATURE = 1, 1, 0  # NVML_CLOCK_SM, NVML_PERF_POLICY_THERMAL, NVML_TEMPERATURE_GPU


class GpuLost(Exception):
    """NVML does not answer for a GPU any more; the text says what it said instead."""


@dataclass(frozen=True, slots=True)
class Reading:
    """``None`` is what this GPU or driver does not tell.

    ``bytes_by_process``: of compute processes, by pid as the driver counts them (the host's, not a container's).
    ``percent_by_process``: the largest share of the multiprocessors that a process used since the reading before.
    ``thermal_seconds``: for how long heat has slowed the GPU down since the driver was loaded.
    """

    sm_clock_mhz: int | None = None
    celsius: int | None = None
    watts: float | None = None
    throttle_reasons: tuple[str, ...] = ()
    thermal_seconds: float | None = None
    bytes_by_process: Mapping[int, int | None] | None = None
    percent_by_process: Mapping[int, int] | None = None
    joules: float | None = None  # since the driver was loaded


class GpuReader:
    """One GPU, for as long as it is watched; NVML stays open, and with it the driver loaded."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml = nvml
        self._handle = handle
        self._last_sample = 0  # microseconds, as the driver counts
        self._percents()  # what was before is nobody's concern

    @classmethod
    def open(cls, uuid: str, nvml: Any = pynvml) -> Self:
        """Raises :class:`GpuLost`."""
        if nvml is None:
            raise GpuLost("nvidia-ml-py cannot be imported")
        try:
            nvml.nvmlInit()
            return cls(nvml, nvml.nvmlDeviceGetHandleByUUID(uuid))
        except nvml.NVMLError as error:
            raise GpuLost(str(error)) from error

    def read(self) -> Reading:
        """Raises :class:`GpuLost`."""
        try:
            return self._read()
        except self._nvml.NVMLError as error:
            raise GpuLost(str(error)) from error

    def close(self) -> None:
        """Never raises: a lost driver cannot be closed, and need not."""
        with contextlib.suppress(self._nvml.NVMLError):
            self._nvml.nvmlShutdown()

    def _read(self) -> Reading:
        milliwatts, millijoules = self._ask("PowerUsage"), self._ask("TotalEnergyConsumption")
        violation = self._ask("ViolationStatus", _THERMAL)
        processes = self._ask("ComputeRunningProcesses")
        return Reading(
            sm_clock_mhz=self._ask("ClockInfo", _CLOCK_SM),
            celsius=self._ask("Temperature", _TEMPERATURE),
            watts=None if milliwatts is None else milliwatts / 1e3,
            throttle_reasons=self._reasons(),
            thermal_seconds=None if violation is None else violation.violationTime / 1e9,
            bytes_by_process=None if processes is None else {one.pid: one.usedGpuMemory for one in processes},
            percent_by_process=self._percents(),
            joules=None if millijoules is None else millijoules / 1e3,
        )

    def _ask(self, what: str, *arguments: Any) -> Any:
        return answered(self._nvml, f"nvmlDeviceGet{what}", self._handle, *arguments)

    def _reasons(self) -> tuple[str, ...]:
        mask = self._ask("CurrentClocksEventReasons")
        if mask is None:  # its name before driver 535
            mask = self._ask("CurrentClocksThrottleReasons") or 0
        return tuple(word for bit, word in REASONS.items() if mask & bit)

    def _percents(self) -> dict[int, int] | None:
        try:
            samples = self._nvml.nvmlDeviceGetProcessUtilization(self._handle, self._last_sample)
        except AttributeError:
            return None
        except self._nvml.NVMLError as error:
            if code(error) in (_SUCCESS, NOT_FOUND):  # nvidia-ml-py raises "success" where there is no sample
                return {}
            if code(error) == NOT_SUPPORTED:
                return None
            raise
        found: dict[int, int] = {}
        for sample in samples:
            self._last_sample = max(self._last_sample, int(sample.timeStamp))
            found[sample.pid] = max(found.get(sample.pid, 0), int(sample.smUtil))
        return found
