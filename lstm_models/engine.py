"""The engine behind a worker: opens a case, proves it, and times it.

Order in ``open``: build, first call, second call, read the memory peak, and only then the proof and the comparison
with the oracle, so that these disturb neither the first call nor the memory.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Mapping, Optional

from lstm_models import availability, data, keras_layers, memory, models, paths, user_models
from lstm_models.agreement import Agreement
from lstm_models.backends import backend
from lstm_models.case import Case
from lstm_models.models import Built
from lstm_models.problem import Problem
from lstm_models.rounds import slowdown, timed
from lstm_models.step import Step, synchronise
from lstm_models.words import Device, Framework, Kernel, Path
from lstm_models.workloads import Workload

#: Bytes that earlier cases may leave on the GPU before a peak above them is in doubt.
_DEVICE_BYTES_LEFT = 4 * 2**20


@dataclass(frozen=True)
class _Open:
    case: Case
    step: Step


@dataclass(frozen=True)
class _Opening:
    """What was measured while a case was opened, and all that the checks need."""

    built: Built
    first_batch: data.Dataset
    step: Step
    first_call_seconds: float
    first_call_traces: int
    bytes_peak: Optional[int]
    device_bytes_peak: Optional[int]


class Engine:
    """The real engine; see :class:`lstm_models.worker.Engine`."""

    def __init__(self) -> None:
        self._open: dict[int, _Open] = {}  # by slot
        self._started = False
        self._device_bytes_idle: Optional[int] = None  # in use on the GPU after the warm-up, with no case open

    def describe(self) -> dict[str, Any]:
        """Versions, packages, settings, variables and devices of this process."""
        self._start()
        from lstm_models.describe import describe

        return describe()

    def warm_up(self) -> None:
        """A tiny model through all paths, and one XLA compile: start-up then belongs to no case."""
        self._start()
        tiny = Workload("warm-up", "", units=2, timesteps=3, features=2, head="linear", outputs=1)
        device = Device.GPU if backend().has_gpu() else Device.CPU
        framework = Framework(backend().name)
        for path in Path:
            _opened(Case(path, tiny, 2, device, Kernel.LOOP, framework=framework))
        # Compilers are loaded by their first use; so is cuDNN, which takes seconds, once in a process.
        for path, kernel in ((Path.FORWARD, Kernel.XLA), (Path.BACKWARD, Kernel.CUDNN)):
            case = Case(path, tiny, 2, device, kernel, framework=framework)
            if availability.unavailable(case) is None:
                _opened(case)
        _free()
        self._device_bytes_idle = _device_bytes(device)

    def open(self, case: Mapping[str, Any], slot: int = 0) -> dict[str, Any]:
        """Open the case of :meth:`lstm_models.case.Case.to_plain`; raises :class:`Problem`, with the case closed."""
        self.close(slot)
        self._start()
        asked = Case.from_plain(case)
        _check_possible(asked)
        left = _device_bytes(asked.device)
        try:
            opening = _opened(asked)
            reply = _reply(asked, opening)
        except BaseException:
            self._free()
            raise
        if self._open:  # what another case gave back is used again, and the peak would not show it
            reply["bytes_peak"] = reply["device_bytes_peak"] = None
        elif left is not None and left - (self._device_bytes_idle or 0) > _DEVICE_BYTES_LEFT:
            reply["device_bytes_peak"] = None  # what is freed meanwhile would hide a part of the peak
        self._open[slot] = _Open(asked, opening.step)
        self._freeze()
        return reply

    def run(self, rounds: int, calls: int, slot: int = 0) -> dict[str, Any]:
        """Time the slot's case; see :func:`lstm_models.rounds.timed`."""
        if slot not in self._open:
            raise Problem("run", f"No case is open in slot {slot}: open one before running it.")
        step, case = self._open[slot].step, self._open[slot].case
        traces = step.traces()
        times = timed(step.call, step.reset, rounds, calls, case.keeps_calls, slowdown())
        return {
            "seconds": times.seconds,
            "call_seconds": times.call_seconds,
            "traces": step.traces() - traces,
        }

    def close(self, slot: int = 0) -> None:
        """Free the slot's case; nothing to do if there is none."""
        if self._open.pop(slot, None) is not None:
            gc.unfreeze()
            self._free()
            if self._open:
                self._freeze()

    def selection(self, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """``{"rows": ...}`` of :func:`lstm_models.selection.selection`; closes the open cases first."""
        for slot in list(self._open):
            self.close(slot)
        self._start()
        if backend().why_no_selection:
            raise Problem("open", backend().why_no_selection)
        from lstm_models.selection import selection

        try:
            return {"rows": selection(settings)}
        finally:
            self._free()

    def peak(self) -> dict[str, Any]:
        """What the process reaches in matrix products and copies; see :func:`lstm_models.peak.peak`."""
        self._start()
        from lstm_models.peak import peak

        return peak(backend().has_gpu())

    def _free(self) -> None:
        """Give back what nobody uses any more; Keras's own state only when no open model can depend on it."""
        if self._open:
            memory.trim()
        else:
            _free()

    def _freeze(self) -> None:
        """What is alive now stays until a case is closed; the collector need not look at it during the rounds."""
        gc.collect()
        gc.freeze()

    def _start(self) -> None:
        """Import the framework, once; refuse a Keras that runs on another one than was taken for it."""
        if self._started:
            return
        chosen, found = backend().name, str(keras_layers.keras().backend.backend())
        if found != chosen:
            raise Problem("open", f"Keras runs on {found!r} here, and not on {chosen!r}; set or unset KERAS_BACKEND.")
        self._started = True


def _opened(case: Case) -> _Opening:
    """Build the case and make its first two calls."""
    memory.trim()
    counted = memory.reset_peak()
    before = memory.resident()
    on_device = _device_bytes(case.device)
    if on_device is not None:
        backend().reset_device_peak()
    built = models.build(case.workload, case.kernel, case.precision, case.batch)
    batches = paths.batches_per_call(case)
    if case.workload.kind in ("builder", "saved"):
        dataset = user_models.dataset(case.workload, built.model, case.batch, batches)
    else:
        dataset = data.dataset(case.workload, case.batch, batches)
    step = paths.open_path(case, built, dataset)
    synchronise()
    start = perf_counter()
    synchronise(step.call())
    seconds = perf_counter() - start
    traces = step.traces()
    synchronise(step.call())  # the second call may still allocate: optimisers and queues are made by the first
    peak = memory.peak()
    used = max(peak - before, 0) if counted and peak is not None and before is not None else None
    device_peak = None if on_device is None else backend().device_peak()
    device_used = None if device_peak is None or on_device is None else max(device_peak - on_device, 0)
    return _Opening(built, dataset.first(case.batch), step, seconds, traces, used, device_used)


def _reply(case: Case, opening: _Opening) -> dict[str, Any]:
    """Prove the opened case; raises :class:`Problem` where its numbers are wrong. The kernel's name is judged by the
    harness, which knows what was expected."""
    proved = backend().prove(opening.step, case)
    agreement = _agreement(case, opening)
    if not agreement.agrees:
        raise Problem("oracle", f"{case.key}: {agreement.message}")
    opening.step.reset()
    return {
        "first_call_seconds": opening.first_call_seconds,
        "bytes_peak": opening.bytes_peak,
        "device_bytes_peak": opening.device_bytes_peak,
        "facts": {
            "kernel": proved.kernel,
            "device": proved.device,
            "resolved": {**opening.built.resolved, **{key: str(text) for key, text in proved.evidence.items()}},
            "first_call_traces": opening.first_call_traces,
            "output_error": agreement.output_error,
            "gradient_error": agreement.gradient_error,
            "tolerance": agreement.tolerance,
            "probe": list(agreement.probe),
        },
    }


def _agreement(case: Case, opening: _Opening) -> Agreement:
    from lstm_models import oracle

    weights = None if case.workload.kind in ("builder", "saved") else data.weights(case.workload)
    return oracle.check(case, opening.first_batch, weights, opening.step)


def _check_possible(case: Case) -> None:
    framework = backend()
    here = replace(case, framework=Framework(framework.name))
    # Side by side, one record goes to two frameworks; what this one cannot do is not comparable.
    if here != case and (reason := availability.unavailable(here)) is not None:
        raise Problem("open", f"{case.key} cannot exist with Keras on {framework.title}: {reason}.")
    if case.device is Device.GPU and not framework.has_gpu():
        raise Problem(
            "proof",
            f"{case.key}: {framework.title} sees no GPU in this process. Check the driver, CUDA_VISIBLE_DEVICES, and "
            f"that {framework.title} was installed with CUDA.",
        )
    if case.device is Device.CPU and framework.has_gpu():
        raise Problem(
            "proof",
            f"{case.key}: a GPU is visible, and Keras would put a CPU case on it. Start the worker with "
            'CUDA_VISIBLE_DEVICES="".',
        )


def _device_bytes(device: Device) -> Optional[int]:
    """Bytes in use on the GPU; ``None`` on the CPU, which keeps no count."""
    return backend().device_in_use() if device is Device.GPU else None


def _free() -> None:
    keras_layers.keras().backend.clear_session()
    memory.trim()
