"""Which GPUs there are, as NVML lists them, and which one of them is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from perf.harness import nvml as library
from perf.harness.errors import Refusal
from perf.harness.nvml import answered, pynvml, text


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as NVML lists it (also those that ``CUDA_VISIBLE_DEVICES`` hides).

    What it does not tell is ``None`` or "". ``busy`` says what else it was doing when it was listed, "" for nothing.
    """

    index: int
    name: str
    bytes: int
    uuid: str
    driver: str
    watts_limit: float | None = None
    mig: str = ""  # on or off
    persistence: str = ""  # on or off
    pcie: str = ""  # generation 4, 16 lanes
    busy: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The one GPU that is used, and why this one."""

    gpu: Gpu
    why: str


def gpus(nvml: ModuleType | None = pynvml) -> tuple[Gpu, ...]:
    """The GPUs that NVML lists, in its order; empty where there is none or no driver (see :func:`why_no_gpu`)."""
    return _ask_nvml(nvml)[0]


def why_no_gpu(nvml: ModuleType | None = pynvml) -> str:
    """Why :func:`gpus` is empty, one sentence with what repairs it; "" where a GPU is listed."""
    return _ask_nvml(nvml)[1]


@cache  # opening the driver takes up to a second where nothing else holds it open
def _ask_nvml(nvml: Any) -> tuple[tuple[Gpu, ...], str]:
    if nvml is None:
        reason = f" ({library.IMPORT_ERROR})" if library.IMPORT_ERROR else ""
        return (), f"The Python package nvidia-ml-py, which lists NVIDIA GPUs, cannot be imported{reason}: install it."
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return (), (
            f"The NVIDIA driver does not answer ({error}): either no driver is installed here, or its library "
            "(libnvidia-ml) cannot be loaded; nvidia-smi should list the GPU."
        )
    try:
        driver = text(nvml.nvmlSystemGetDriverVersion())
        found = [_gpu(nvml, index, driver) for index in range(nvml.nvmlDeviceGetCount())]
    except nvml.NVMLError as error:
        return (), f"The NVIDIA driver is there, but its GPUs cannot be read ({error}); nvidia-smi should list them."
    finally:
        nvml.nvmlShutdown()
    if not found:
        return (), "The NVIDIA driver answers but lists no GPU; nvidia-smi should list it."
    return tuple(found), ""


def _gpu(nvml: Any, index: int, driver: str) -> Gpu:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    milliwatts = answered(nvml, "nvmlDeviceGetEnforcedPowerLimit", handle)
    mig = answered(nvml, "nvmlDeviceGetMigMode", handle)  # now, and after the next reset
    # The generation in use falls while the GPU idles; the one that GPU and board can reach stays.
    generation = answered(nvml, "nvmlDeviceGetMaxPcieLinkGeneration", handle)
    lanes = answered(nvml, "nvmlDeviceGetCurrPcieLinkWidth", handle)
    return Gpu(
        index=index,
        name=text(nvml.nvmlDeviceGetName(handle)),
        bytes=int(nvml.nvmlDeviceGetMemoryInfo(handle).total),
        uuid=text(nvml.nvmlDeviceGetUUID(handle)),
        driver=driver,
        watts_limit=None if milliwatts is None else milliwatts / 1000,
        mig=_switch(None if mig is None else mig[0]),
        persistence=_switch(answered(nvml, "nvmlDeviceGetPersistenceMode", handle)),
        pcie=f"generation {generation}, {lanes} lanes" if generation and lanes else "",
        busy=_busy(nvml, handle),
    )


def _switch(value: int | None) -> str:
    return "" if value is None else "on" if value else "off"


def _busy(nvml: Any, handle: Any) -> str:
    processes = answered(nvml, "nvmlDeviceGetComputeRunningProcesses", handle) or ()
    rates = answered(nvml, "nvmlDeviceGetUtilizationRates", handle)
    if processes:
        return f"used by process {', '.join(str(process.pid) for process in processes)}"
    return f"{rates.gpu} % utilised" if rates is not None and rates.gpu else ""


def visible(found: Sequence[Gpu], environment: Mapping[str, str]) -> tuple[tuple[Gpu, ...], str]:
    """Those of the GPUs that ``CUDA_VISIBLE_DEVICES`` does not hide, and why there are none.

    A scheduler hands out GPUs by this variable, so what it hides is not taken unasked. Its numbers are read in PCI
    order, NVML's.
    """
    asked = environment.get("CUDA_VISIBLE_DEVICES")
    if asked is None or not found:
        return tuple(found), ""
    seen = []
    for word in (word.strip() for word in asked.split(",")):
        named = [gpu for gpu in found if word == str(gpu.index) or (len(word) > 4 and gpu.uuid.startswith(word))]
        if not named:
            break  # CUDA ignores what follows the first that it does not know
        seen += named
    if seen:
        return tuple(seen), ""
    return (), (
        f"NVML lists {listed(found)}, but CUDA_VISIBLE_DEVICES={asked!r} hides every GPU: unset it, or name one with "
        "--perf-gpu INDEX|UUID."
    )


def choose(found: Sequence[Gpu], asked: str | None, seen: Sequence[Gpu], recorded: str | None) -> Chosen | None:
    """The GPU that ``asked`` (index or UUID) names among all ``found``; without it, of those ``seen``, the one that is
    ``recorded`` (UUID) in the baseline, else the first idle one, else the first; ``None`` where there is none.

    Raises :class:`Refusal` where ``asked`` names none.
    """
    if asked is not None:
        for gpu in found:
            if asked in (str(gpu.index), gpu.uuid):
                return Chosen(gpu, f"--perf-gpu {asked}")
        raise Refusal(
            f"--perf-gpu {asked}: there is no such GPU. Listed by NVML: {listed(found) if found else why_no_gpu()}"
        )
    for gpu in seen:
        if gpu.uuid == recorded:
            return Chosen(gpu, "the baseline's")
    for gpu in seen:
        if not gpu.busy:
            return Chosen(gpu, "the only one" if len(found) == 1 else "the first idle one")
    return Chosen(seen[0], f"the first, and none is idle: it is {seen[0].busy}") if seen else None


def listed(found: Sequence[Gpu]) -> str:
    """``0 (NVIDIA L4, GPU-...), 1 (...)``."""
    return ", ".join(f"{gpu.index} ({gpu.name}, {gpu.uuid})" for gpu in found)
