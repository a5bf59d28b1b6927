"""Instruments of the host, read around every block of rounds: validity of what was timed on a GPU, and energy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from perf.harness import powercap, validity
from perf.harness.conditions import Conditions, Counter, Energy
from perf.harness.digits import kept
from perf.harness.gpu_reading import GpuLost, GpuReader, Reading
from perf.harness.powercap import CpuCounter
from perf.harness.replies import CaseError
from perf.harness.sampling import Ask

#: NVML counts millijoules, but brings its counter up to date every 20 to 100 ms: over this many seconds an update more
#: or less is at most a tenth.
GPU_SECONDS = 1.0


class Watched(Protocol):
    """What a watch must know of a worker."""

    @property
    def alive(self) -> bool: ...
    @property
    def pid(self) -> int: ...
    def request(self, op: str, **fields: Any) -> dict[str, Any]: ...


@dataclass
class Watch:
    """The instruments of one stage; ``gpu`` is the UUID of the one that GPU workers see.

    Energy is counted only where one process works at a time (``counts_energy``): a counter cannot tell two apart.
    """

    gpu: str | None
    counts_energy: bool = False
    open_reader: Callable[[str], GpuReader] = GpuReader.open
    _reader: GpuReader | None = None
    _cpu: CpuCounter | None = None
    _workers: list[Watched] = field(default_factory=list)  # on the GPU

    def __post_init__(self) -> None:
        if self.counts_energy:
            self._cpu, _ = powercap.find()

    def over(self, worker: Watched, device: str) -> Ask:
        """``worker.request``, with every block of rounds watched and repeated where it is void.

        The reply to ``run`` gets the :class:`~perf.harness.conditions.Conditions` laid over it. Raises
        :class:`CaseError` also where a block stays void, and where NVML has lost the GPU.
        """
        on_gpu = device == "gpu" and self.gpu is not None
        if on_gpu:
            self._workers = [*(each for each in self._workers if each.alive and each is not worker), worker]

        if not on_gpu and self._cpu is None:
            return worker.request  # nothing to read

        def ask(op: str, **fields: Any) -> Mapping[str, Any]:
            return self._run(worker, on_gpu, fields) if op == "run" else worker.request(op, **fields)

        return ask

    def seconds_at_least(self, device: str) -> float:
        """How long a case has to be timed so that its energy is known."""
        counts = self.counts_energy and device == "gpu" and self.gpu is not None
        return GPU_SECONDS if counts and self._read().joules is not None else 0.0

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _run(self, worker: Watched, on_gpu: bool, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        void: list[str] = []
        while True:
            before, cpu_before = self._read() if on_gpu else Reading(), self._cpu.read() if self._cpu else None
            reply = worker.request("run", **fields)
            cpu_after, after = self._cpu.read() if self._cpu else None, self._read() if on_gpu else Reading()
            own = frozenset(each.pid for each in self._workers if each.alive)
            why = validity.why_void(before, after, own) if on_gpu else ""
            if not why:
                break
            void.append(why)
            if len(void) > validity.MAX_REPEATS:
                raise CaseError("void", _stays_void(void))
        counted: dict[Counter, float] = {}
        if self.counts_energy and before.joules is not None and after.joules is not None:
            counted[Counter.GPU] = after.joules - before.joules
        if self._cpu is not None and cpu_before is not None and cpu_after is not None:
            counted[Counter.CPU] = self._cpu.joules(cpu_before, cpu_after)
        seen = validity.conditions(before, after, own) if on_gpu else Conditions()
        return {**reply, "conditions": replace(seen, blocks_void=tuple(void), energy=_energy(counted, reply))}

    def _read(self) -> Reading:
        assert self.gpu is not None
        try:
            if self._reader is None:
                self._reader = self.open_reader(self.gpu)
            return self._reader.read()
        except GpuLost as error:
            self.close()
            raise CaseError(
                "gpu",
                f"NVML does not answer for the GPU {self.gpu} any more ({error}): it was lost, or its driver was "
                "unloaded, while cases were measured. Nothing that ran since the last reading is kept. The kernel's "
                "log says why (Xid); the GPU needs a reset or the host a restart.",
            ) from error


def why_no_energy(gpu: str | None) -> dict[Counter, str]:
    """Which counters cannot be read on this host, and why; of the GPU only where one is used (UUID)."""
    absent = {}
    _, reason = powercap.find()
    if reason:
        absent[Counter.CPU] = reason
    if gpu is not None:
        try:
            reader = GpuReader.open(gpu)
            if reader.read().joules is None:
                absent[Counter.GPU] = "this GPU or its driver has no counter of energy (Volta and newer have one)"
            reader.close()
        except GpuLost as error:
            absent[Counter.GPU] = f"NVML does not answer for it ({error})"
    return absent


def _energy(counted: Mapping[Counter, float], reply: Mapping[str, Any]) -> tuple[Energy, ...]:
    times = reply.get("seconds")
    if not isinstance(times, (list, tuple)) or not all(isinstance(value, float) for value in times):
        return ()  # refused where the reply is checked
    return tuple(Energy(counter, kept(joules), kept(sum(times)), len(times)) for counter, joules in counted.items())


def _stays_void(void: list[str]) -> str:
    last = void[-1]
    return (
        f"{len(void)} blocks of rounds in a row were void, the last because {last}. None of their times is kept. Let "
        "the GPU cool down, end what else runs on it ('nvidia-smi' lists it), or choose another one with --perf-gpu."
    )
