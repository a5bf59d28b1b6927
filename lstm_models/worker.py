"""The worker's side of the protocol: one request, one reply, builtins only.

The harness starts a process with ``import lstm_models.worker; lstm_models.worker.serve(channel)``. Requests are
dicts with ``op``: ``describe``, ``warm_up``, ``open``, ``run``, ``close``, ``selection``, ``peak``. Several cases are
open at once where ``open``, ``run`` and ``close`` name a ``slot`` (a whole number; 0 where none is named), so that
their rounds can take turns in one process. Replies are ``{"ok": True, ...}`` or ``{"ok": False, "stage": ...,
"message": ...}``, with ``"raised": True`` where nobody expected it. Nothing of a request ends the loop; a closed
channel, ``None`` and ``SystemExit`` do.
"""

from __future__ import annotations

import contextlib
import ctypes
import signal
import sys
import traceback
from typing import Any, Mapping, Optional, Protocol

from lstm_models.problem import Problem

__all__ = ["Engine", "Problem", "serve"]

_PR_SET_PDEATHSIG = 1
#: Lines of a traceback that go to stderr, of which the harness shows the end.
_TRACEBACK_LINES = 12


class Engine(Protocol):
    """What answers the requests: :class:`lstm_models.engine.Engine`, or a fake one in tests."""

    def describe(self) -> dict[str, Any]:
        """What the process runs with: versions, packages, settings, variables, devices."""

    def warm_up(self) -> None:
        """Bring up the framework with a tiny model that is not timed."""

    def open(self, case: Mapping[str, Any], slot: int = 0) -> dict[str, Any]:
        """Build the case, time its first call, and prove what it computes; what the slot held is closed first."""

    def run(self, rounds: int, calls: int, slot: int = 0) -> dict[str, Any]:
        """Time ``rounds`` rounds of ``calls`` calls of the slot's case."""

    def close(self, slot: int = 0) -> None:
        """Free the slot's case."""

    def selection(self, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Which kernel Keras would pick on a GPU host with each of the settings: ``{"rows": [...]}``."""

    def peak(self) -> dict[str, Any]:
        """The most that this process reaches: ``{"flops_per_second": {precision: ...}, "transfer": ... or None}``."""


def serve(channel: Any, engine: Optional[Engine] = None) -> None:
    """Answer requests from an execnet ``channel`` until it closes or sends ``None``."""
    _tie_to_parent()
    if engine is None:
        from lstm_models.engine import Engine as RealEngine

        engine = RealEngine()
    while True:
        try:
            request = channel.receive()
        except EOFError:
            return
        if request is None:
            return
        try:
            channel.send(answer(engine, request))
        except OSError:
            return  # nobody is there to read it


def answer(engine: Engine, request: Mapping[str, Any]) -> dict[str, Any]:
    """The reply to one request; an exception of the engine becomes one, and its traceback goes to stderr."""
    op = request.get("op")
    try:
        return {"ok": True, **_fields(engine, op, request)}
    except Problem as problem:
        return {"ok": False, "stage": problem.stage, "message": problem.message}
    except Exception as error:
        lines = traceback.format_exc().splitlines()
        print("\n".join(lines[-_TRACEBACK_LINES:]), file=sys.stderr, flush=True)
        message = " ".join(str(error).split())[:600]
        if _out_of_memory(error):
            return {"ok": False, "stage": "memory", "message": f"{op} ran out of memory: {message}"}
        stage = "run" if op == "run" else "open"
        return {
            "ok": False,
            "stage": stage,
            "raised": True,
            "message": f"{op} raised {type(error).__name__}: {message}",
        }


def _out_of_memory(error: Exception) -> bool:
    """Whether the host or the GPU had no memory left. XLA, CUDA and PyTorch say it in words, in errors of several
    kinds."""
    if isinstance(error, MemoryError) or type(error).__name__ in ("ResourceExhaustedError", "OutOfMemoryError"):
        return True
    text = str(error)
    said = ("RESOURCE_EXHAUSTED", "CUDA_ERROR_OUT_OF_MEMORY", "OOM when allocating", "DefaultCPUAllocator: ")
    return any(words in text for words in said)


def _fields(engine: Engine, op: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    if op == "describe":
        return engine.describe()
    if op == "warm_up":
        engine.warm_up()
        return {}
    slot = request.get("slot", 0)
    if op == "open":
        return engine.open(request["case"], slot)
    if op == "run":
        return engine.run(request["rounds"], request["calls"], slot)
    if op == "close":
        engine.close(slot)
        return {}
    if op == "selection":
        return engine.selection(request["settings"])
    if op == "peak":
        return engine.peak()
    known = "describe, warm_up, open, run, close, selection and peak"
    raise Problem("run", f"The worker knows no request {op!r}; it knows {known}.")


def _tie_to_parent() -> None:
    """Die with the harness, however it ends; leave Ctrl-C to it, else a worker that stops first looks crashed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    with contextlib.suppress(ValueError):  # not the main thread: Ctrl-C does not come here
        signal.signal(signal.SIGINT, signal.SIG_IGN)
