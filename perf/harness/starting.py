"""A worker that answers and is warm, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from perf.harness.environment import Side
from perf.harness.records import Environment
from perf.harness.replies import CaseError
from perf.harness.workers import Worker

if TYPE_CHECKING:
    from perf.harness.measure import Settings


@dataclass(frozen=True, slots=True)
class Started:
    """``seconds`` are from starting the worker to its first answer, the import of the framework included."""

    worker: Worker
    environment: Environment
    seconds: float


@dataclass(frozen=True, slots=True)
class Starting:
    """A worker that brings its framework up, since ``begin`` on the clock; closed by whoever gives it up."""

    worker: Worker
    device: str
    begin: float


def begin(side: Side, device: str, settings: Settings, clock: Callable[[], float]) -> Starting:
    """Starts a worker that imports and warms its framework up while others do; :func:`finish` waits for it.

    Raises :class:`CaseError`, and leaves no process behind.
    """
    now = clock()
    worker = Worker.start(side, device, settings.module, settings.root, settings.time_limit, settings.gpu)
    try:
        worker.post("describe")
        worker.post("warm_up")
    except BaseException:
        worker.close()
        raise
    return Starting(worker, device, now)


def finish(starting: Starting, clock: Callable[[], float]) -> Started:
    """Waits until it is warm. Raises :class:`CaseError`, and leaves no process behind."""
    worker = starting.worker
    try:
        environment = worker.described()
        seconds = clock() - starting.begin
        if starting.device == "gpu":
            _sees_gpu(worker, environment)
        worker.reply_to("warm_up")
    except BaseException:
        worker.close()
        raise
    return Started(worker, environment, seconds)


def start(side: Side, device: str, settings: Settings, clock: Callable[[], float]) -> Started:
    """Starts a worker, asks what it runs with, and brings its framework up with what is not timed.

    Raises :class:`CaseError`, and leaves no process behind.
    """
    return finish(begin(side, device, settings, clock), clock)


def start_again(
    chances: int,
    told: Callable[[], None],
    side: Side,
    device: str,
    settings: Settings,
    clock: Callable[[], float],
    begun: Starting | None = None,
) -> Started:
    """:func:`start` with so many ``chances``, of which ``begun`` is the first; ``told`` is called before each.

    Raises the last :class:`CaseError`.
    """
    while True:
        told()
        chances -= 1
        try:
            starting, begun = begun or begin(side, device, settings, clock), None
            return finish(starting, clock)
        except CaseError:
            if chances <= 0:
                raise


def check_gpu(side: Side, module: str, root: Path, time_limit: float, gpu: str) -> None:
    """Starts and ends a worker for the GPU with this UUID; raises :class:`CaseError` where its framework sees none.

    TensorFlow may say on stderr which CUDA library it cannot load, which it is told not to while measuring.
    """
    side = replace(side, variables={**side.variables, "TF_CPP_MIN_LOG_LEVEL": "0"})
    with Worker.start(side, "gpu", module, root, time_limit, gpu) as worker:
        _sees_gpu(worker, worker.describe())


def _sees_gpu(worker: Worker, environment: Environment) -> None:
    if any(device.startswith("GPU") for device in environment.devices):
        return
    versions = environment.versions
    hides = "its build is for CPUs only: install tensorflow[and-cuda]"
    if "not built" not in versions.get("cuda", "not built"):
        hides = (
            f"it is built for CUDA {versions['cuda']} and cuDNN {versions.get('cudnn', 'unknown')}: either one of "
            "their libraries cannot be loaded, or the driver is too old for them, or the device files are not there "
            "(in a container)"
        )
    raise CaseError(
        "worker",
        f"TensorFlow {versions.get('tensorflow', 'unknown')} sees no GPU in a worker for which "
        f"CUDA_VISIBLE_DEVICES names one, only {', '.join(environment.devices) or 'nothing'}; {hides}. "
        f"'pytest perf --perf-require gpu' shows what TensorFlow says of it.{worker.last_words()}",
    )
