"""The worker's loop: one reply to one request, whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from lstm_models import worker


class Channel:
    """Hands out requests, keeps replies; closed when there are no more."""

    def __init__(self, *requests: Any) -> None:
        self.requests = list(requests)
        self.replies: list[Any] = []

    def receive(self) -> Any:
        if not self.requests:
            raise EOFError
        return self.requests.pop(0)

    def send(self, reply: Any) -> None:
        self.replies.append(reply)


class Fake:
    """An engine that answers with what it was asked."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.closed = 0

    def describe(self) -> dict[str, Any]:
        return {"versions": {"python": "3"}}

    def warm_up(self) -> None:
        if self.error:
            raise self.error

    def open(self, case: Any, slot: int = 0) -> dict[str, Any]:
        if self.error:
            raise self.error
        return {"opened": case, "slot": slot}

    def run(self, rounds: int, calls: int, slot: int = 0) -> dict[str, Any]:
        if self.error:
            raise self.error
        return {"seconds": [1.0] * rounds, "calls": calls, "slot": slot}

    def close(self, slot: int = 0) -> None:
        self.closed += 1

    def selection(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        return {"rows": [{"row": "default/layer"}]}


def served(*requests: Any, engine: Any = None) -> list[Any]:
    """Replies, from a thread: signals stay as they are in the tests' own process."""
    channel = Channel(*requests)
    thread = threading.Thread(target=_serve, args=(channel, engine or Fake()))
    thread.start()
    thread.join()
    return channel.replies


def _serve(channel: Channel, engine: Any) -> None:
    import unittest.mock

    with unittest.mock.patch.object(worker, "_tie_to_parent"):
        worker.serve(channel, engine)


def test_every_request_gets_its_fields() -> None:
    engine = Fake()
    assert served(
        {"op": "describe"},
        {"op": "warm_up"},
        {"op": "open", "case": {"path": "fit"}},
        {"op": "run", "rounds": 2, "calls": 3},
        {"op": "close"},
        {"op": "selection", "settings": {"dropout": {}}},
        engine=engine,
    ) == [
        {"ok": True, "versions": {"python": "3"}},
        {"ok": True},
        {"ok": True, "opened": {"path": "fit"}, "slot": 0},
        {"ok": True, "seconds": [1.0, 1.0], "calls": 3, "slot": 0},
        {"ok": True},
        {"ok": True, "rows": [{"row": "default/layer"}]},
    ]
    assert engine.closed == 1


def test_requests_may_name_a_slot() -> None:
    opened, ran = served(
        {"op": "open", "case": {}, "slot": 2}, {"op": "run", "rounds": 1, "calls": 1, "slot": 2}, engine=Fake()
    )
    assert (opened["slot"], ran["slot"]) == (2, 2)


def test_none_ends_the_loop_and_so_does_a_closed_channel() -> None:
    assert served({"op": "close"}, None, {"op": "close"}) == [{"ok": True}]
    assert served() == []


def test_a_problem_is_told_in_its_own_words() -> None:
    engine = Fake(worker.Problem("oracle", "They differ by 3 %."))
    assert served({"op": "open", "case": {}}, {"op": "describe"}, engine=engine) == [
        {"ok": False, "stage": "oracle", "message": "They differ by 3 %."},
        {"ok": True, "versions": {"python": "3"}},
    ]


@pytest.mark.parametrize(("request_", "stage"), [({"op": "open", "case": {}}, "open"), ({"op": "warm_up"}, "open")])
def test_an_exception_is_one_paragraph_and_its_traceback_goes_to_stderr(
    request_: dict[str, Any], stage: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (reply,) = served(request_, engine=Fake(RuntimeError("no\n   memory")))
    assert reply == {
        "ok": False,
        "stage": stage,
        "raised": True,
        "message": f"{request_['op']} raised RuntimeError: no memory",
    }
    assert "Traceback" in capfd.readouterr().err


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("12 GiB"),
        RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 12 bytes"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 12 bytes."),
        type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory. Tried to allocate 12.00 GiB."),  # torch's
    ],
)
def test_out_of_memory_is_a_stage_of_its_own(error: Exception) -> None:
    reply = worker.answer(Fake(error), {"op": "open", "case": {}})
    assert (reply["ok"], reply["stage"]) == (False, "memory")
    assert reply["message"] == f"open ran out of memory: {error}"


def test_an_exception_while_running_is_a_fault_of_the_run() -> None:
    (reply,) = served({"op": "run", "rounds": 1, "calls": 1}, engine=Fake(ValueError("bad")))
    assert reply == {"ok": False, "stage": "run", "raised": True, "message": "run raised ValueError: bad"}


def test_an_unknown_request_is_answered() -> None:
    (reply,) = served({"op": "sing"})
    assert reply["ok"] is False
    assert "'sing'" in reply["message"]


def test_exit_is_not_swallowed() -> None:
    with pytest.raises(SystemExit):
        worker.answer(Fake(SystemExit(3)), {"op": "warm_up"})


def test_a_reply_that_nobody_reads_ends_the_loop() -> None:
    class Gone(Channel):
        def send(self, reply: Any) -> None:
            raise OSError("cannot send (already closed?)")

    channel = Gone({"op": "close"}, {"op": "close"})
    _serve(channel, Fake())
    assert channel.requests == [{"op": "close"}]


_WORKER = """
import sys, time
from lstm_models import worker

class Channel:
    def receive(self):
        print("ready", flush=True)
        time.sleep(60)

worker.serve(Channel(), object())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the parent's death is signalled on Linux only")
def test_a_worker_dies_with_its_parent() -> None:
    parent = (
        "import subprocess, sys, os\n"
        f"child = subprocess.Popen([sys.executable, '-c', {_WORKER!r}], stdout=subprocess.PIPE, text=True)\n"
        "child.stdout.readline(); print(child.pid, flush=True); os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", parent], capture_output=True, text=True, timeout=30, check=True)
    # The pipe of the child's own stdout went with the parent; that the process is gone is what counts.
    assert _gone(int(done.stdout))


def _gone(pid: int) -> bool:
    """Whether the process is gone or a zombie, waiting for it up to ten seconds."""
    import time

    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
    os.kill(pid, signal.SIGKILL)
    return False


def test_a_worker_leaves_interrupts_to_the_harness() -> None:
    with subprocess.Popen([sys.executable, "-c", _WORKER], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.5)
        child.kill()
