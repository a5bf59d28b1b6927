"""Worker processes over execnet: start one, ask it, say well what became of it, and let none remain."""

from __future__ import annotations

import contextlib
import itertools
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import execnet
from execnet.xspec import XSpec

from perf.harness.environment import Side, environment, why_no_python
from perf.harness.records import Environment
from perf.harness.replies import CaseError

#: Seconds that a worker which was told to end is given before it is killed. Nothing it does is waited for.
GRACE_SECONDS = 1.0
#: Lines of a worker's stderr that a message shows.
STDERR_LINES = 15

_HINTS = {
    signal.SIGKILL: " (perhaps for lack of memory: see the kernel's log)",
    signal.SIGILL: " (an instruction this CPU does not have?)",
    signal.SIGSEGV: " (a crash in native code)",
    signal.SIGABRT: " (native code gave up; its last words are below)",
}


class WorkerError(CaseError):
    """A request failed; ``lost`` says whether the worker is gone with it or has merely refused the case."""


class Worker:
    """One worker process. Make it with :meth:`start`, in the main thread (the worker dies with the thread that made
    it), and always :meth:`close` it: a ``with`` block does.
    """

    def __init__(self, group: execnet.Group, channel: execnet.Channel, folder: Path, time_limit: float) -> None:
        self._group = group
        self._channel = channel
        self._folder = folder
        self._time_limit = time_limit
        self._alive = True
        self._written = 0  # bytes of stderr before the request that is being answered

    @classmethod
    def start(
        cls, side: Side, device: str, module: str, root: Path, time_limit: float = 120.0, gpu: str | None = None
    ) -> Self:
        """Starts ``module.serve(channel)`` with the side's interpreter and variables.

        ``module`` is found in the checkout ``root``; ``time_limit`` is in seconds, for each request. Returns before
        the module is imported: what goes wrong there shows at the first request. Raises :class:`WorkerError`.
        """
        command = side.command(device, root, gpu)
        if reason := why_no_python(side.interpreter, command, time_limit):
            raise WorkerError("worker", f"No worker could be started: {reason}", lost=True)
        folder = Path(tempfile.mkdtemp(prefix="lstm-perf-"))
        group = execnet.Group()
        try:
            spec = XSpec("popen//execmodel=main_thread_only")
            # The file is $0 so that no quoting is needed; the redirection also catches what native code writes.
            redirect = ["sh", "-c", 'exec "$@" 2>"$0"', str(_stderr(folder))]
            spec.python = shlex.join([*redirect, *command])
            try:
                gateway = group.makegateway(spec)
                channel = gateway.remote_exec(f"import {module}\n{module}.serve(channel)")
            except (OSError, EOFError, AssertionError) as error:  # execnet asserts what the first answer must be
                message = f"No worker could be started with {side.interpreter!r}: it did not answer as a Python would."
                raise WorkerError("worker", message + _tail(folder), lost=True) from error
            return cls(group, channel, folder, time_limit)
        except BaseException:
            _end(group, folder)
            raise

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return self._alive

    @property
    def pid(self) -> int:
        """Of its process, as this host's kernel counts (``sh`` and ``env`` have become the interpreter)."""
        (process,) = _processes(self._group)
        return process.pid

    def limit(self, seconds: float) -> None:
        """Gives the requests from now on another time limit."""
        self._time_limit = seconds

    def last_words(self) -> str:
        """The end of its stderr so far, as an appendix to a message; "" where there is none."""
        return _tail(self._folder)

    def describe(self) -> Environment:
        """What the worker runs with; the first request after the start, so the import is in its time."""
        return self._described(self.request("describe"))

    def described(self) -> Environment:
        """The reply to a posted ``describe``; see :meth:`describe`."""
        return self._described(self.reply_to("describe"))

    def _described(self, reply: dict[str, Any]) -> Environment:
        try:
            return environment(reply)
        except ValueError as error:
            raise self._lost("worker", f"The worker's answer makes no sense: {error}.") from None

    def request(self, op: str, **fields: Any) -> dict[str, Any]:
        """Sends one request and waits for its reply, which is returned without ``ok``.

        Raises :class:`WorkerError`: the worker refused (``ok`` false; it lives on), or it is lost: it crashed, was
        killed, could not import its module, answered nonsense, or the time limit passed (it is killed then).
        """
        self.post(op, **fields)
        return self.reply_to(op)

    def post(self, op: str, **fields: Any) -> None:
        """Sends one request; :meth:`reply_to` waits for its reply. Replies come in the order of the requests.

        For what may go on meanwhile in several workers; raises as :meth:`request` does.
        """
        if not self._alive:
            raise WorkerError("worker", "The worker has ended.", lost=True)
        self._written = _size(self._folder)
        try:
            self._channel.send({"op": op, **fields})
        except (OSError, EOFError):
            raise self._lost("worker", f"The worker {self._what_became()} during {op!r}.") from None
        except BaseException:  # what cannot travel, above all
            self._kill()
            self.close()
            raise

    def reply_to(self, op: str) -> dict[str, Any]:
        """The reply to the oldest request that has none yet, which was ``op``; see :meth:`request`."""
        if not self._alive:
            raise WorkerError("worker", "The worker has ended.", lost=True)
        try:
            reply = self._channel.receive(self._time_limit)
        except self._channel.TimeoutError:
            self._kill()
            raise self._lost(
                "time limit",
                f"The worker did not answer {op!r} within the time limit of {self._time_limit:g} s and was ended. If "
                "the case is really that slow, raise the limit with --perf-timeout SECONDS; else it hangs.",
            ) from None
        except self._channel.RemoteError as error:
            raise self._lost("worker", _remote_failure(op, str(error))) from None
        except (OSError, EOFError):
            raise self._lost("worker", f"The worker {self._what_became()} during {op!r}.") from None
        except BaseException:  # KeyboardInterrupt above all: nobody will read what is still being measured
            self._kill()
            self.close()
            raise
        if not isinstance(reply, dict) or not isinstance(reply.get("ok"), bool):
            raise self._lost("worker", f"The worker answered {op!r} with {reply!r:.200}, which is not the protocol.")
        if not reply.pop("ok"):
            stage, message = str(reply.get("stage", op)), str(reply.get("message", "no reason given"))
            if stage == "memory":  # what a worker holds after that, and in which pieces, nobody knows
                raise self._lost(stage, f"{message} The worker was ended; the next case gets a fresh one.")
            if stage in ("open", "run"):  # an exception, which left its traceback; proof and oracle say all themselves
                message += _tail(self._folder, self._written)
            raise WorkerError(stage, message, raised=bool(reply.get("raised")))
        return reply

    def close(self) -> None:
        """Ends the process, whatever it does, within some seconds, and removes its files. Never raises for it."""
        if self._alive:
            self._alive = False
            with contextlib.suppress(OSError, EOFError):
                self._channel.send(None)
        _end(self._group, self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _lost(self, stage: str, message: str) -> WorkerError:
        text = message + _tail(self._folder)
        self._alive = False
        self.close()
        return WorkerError(stage, text, lost=True)

    def _kill(self) -> None:
        self._alive = False
        for process in _processes(self._group):
            process.kill()

    def _what_became(self) -> str:
        """As a predicate, e.g. ``was killed by SIGKILL``; to be asked when the channel broke: the process is ending."""
        for process in _processes(self._group):
            try:
                status = process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                return "closed its channel"
            if status >= 0:
                return f"ended with exit status {status}"
            try:
                number = signal.Signals(-status)
            except ValueError:  # a real-time signal has no name
                return f"was killed by signal {-status}"
            return f"was killed by {number.name}{_HINTS.get(number, '')}"
        return "ended"


def _processes(group: execnet.Group) -> list[subprocess.Popen[bytes]]:
    """The processes behind a group's gateways; execnet does not show them, and has no other way to an exit status."""
    gateways: Iterable[Any] = itertools.chain(group, group._gateways_to_join)
    return [gateway._io.popen for gateway in gateways]


def _end(group: execnet.Group, folder: Path) -> None:
    """Ends a group's processes, politely for :data:`GRACE_SECONDS`, and removes the folder."""
    try:
        processes = _processes(group)
        try:
            group.terminate(GRACE_SECONDS)
        finally:  # also when a second Ctrl-C interrupts the polite way
            for process in processes:
                process.kill()
                process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _stderr(folder: Path) -> Path:
    return folder / "stderr"


def _size(folder: Path) -> int:
    """Bytes that the worker wrote to stderr so far."""
    try:
        return _stderr(folder).stat().st_size
    except OSError:
        return 0


def _tail(folder: Path, since: int = 0) -> str:
    """The last lines of a worker's stderr after its first ``since`` bytes, as an appendix to a message; "" if none."""
    try:
        with _stderr(folder).open("rb") as file:
            file.seek(max(since, file.seek(0, os.SEEK_END) - 20_000))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    # A crash's traceback ends in execnet's own frames, which have no file and tell nothing.
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith('  File "<string>"')]
    lines = lines[-STDERR_LINES:]
    return "\nThe end of its stderr:\n" + "\n".join(f"    {line}" for line in lines) if lines else ""


def _remote_failure(op: str, traceback: str) -> str:
    """What ended the worker's loop: nearly always an import that failed before it began."""
    lines = [line for line in traceback.strip().splitlines() if line.strip()]
    last = next((line.strip() for line in reversed(lines) if not line.startswith((" ", "execnet"))), "no reason given")
    if "ImportError" in last or "ModuleNotFoundError" in last:
        return f"The worker could not import what it needs: {last}. Is it installed in that interpreter?"
    return f"The worker ended during {op!r}: {last}."
