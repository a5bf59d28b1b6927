"""A worker without a framework: it speaks the real protocol, computes its times, and fails as its script says.

The harness starts it as module ``tests.fake_worker``. The environment variable ``FAKE_WORKER_SCRIPT`` names a JSON
file; all of it is optional::

    {
      "seed": 0,                    of the noise
      "startup": "crash",           a fault (see below) when the worker starts; with "startup_process": 2 only from
                                    the second worker on, with "startup_device": "gpu" only on this device
      "environment": {"versions": {"tensorflow": "9.9"}, ...},     laid over the default answer to describe, by entry
                                    with "stderr": "text" written to stderr before the answer
      "powercap": {"file": "/…/energy_uj", "watts": 65, "range": 200000000},    a counter of the CPU's energy, which
                                    goes on by what rounds take
      "tell": ["CUDA_VISIBLE_DEVICES"],     variables that end a start's line in the log
      "selection": {"dropout/layer": "loop"},   kernels laid over tests.fake_selection's table, null removes a row
      "peak": {"float32": 1e11},    flops per second; default 1e13 for each precision, ten times as much on a GPU
      "transfer": {"fixed_seconds": 1e-5, "seconds_per_mib": 1e-4},     of a GPU; this is the default
      "peak_fault": "crash",        a fault (see below) when the peak is asked for
      "selection_fault": "crash",   a fault (see below) when the table is asked for
      "default": {...},             what holds for every case
      "costs": {...},               times and memory by device and kernel, see tests.fake_costs; over "default"
      "cases": {"lstm-b1-cpu": {...}}     and, later ones winning, for all cases whose key contains the text
      "sides": {"candidate": {...}}       all of the above, laid over it in workers of this side: those with the
                                    environment variable ``FAKE_WORKER_SIDE=candidate``
    }

A case's entry (``default`` and ``cases`` alike)::

    "seconds_per_step": 0.004       of a settled round, before noise
    "noise": 0.0                    sd of ln(seconds) from round to round
    "process_noise": 0.0            and from process to process
    "drift": 0.0, "drift_rounds": 10    rounds start slower by this fraction, falling linearly over so many rounds
    "first_call_seconds": 0.5, "first_call_traces": 1, "bytes_peak": 20000000
    "device_bytes_peak": 300000000  of a case on a GPU, null where it is in doubt
    "kernel": "loop", "device": "cpu"   default: what the case asks for
    "probe": [1.0, -0.5], "tolerance": 1e-5, "output_error": 1e-7, "gradient_error": null
    "traces": 0                     new traces that each run reports
    "fault": "hang"                 see below; "fault_at": "open" | "run" | "close"
    "stderr": "text"                written to stderr before the fault
    "process": 2                    this entry holds only in the session's second process

Faults: ``crash`` (exit status 3), ``kill`` (SIGKILL), ``segfault`` (SIGSEGV), ``hang``, ``exception``, ``problem`` (an
expected one), ``unsupported`` (the framework cannot do it), ``memory`` (there is none left), ``nan``, ``zero`` (as the
last time of a round), ``import`` (at start-up), ``nonsense`` (no reply of the protocol), ``print`` (to stdout; no fault
at all). ``LSTM_PERF_SLOWDOWN`` multiplies all times, as in the real worker. Both variables are
described, so that a worker with another value runs in another environment.

A worker that sees a GPU describes it unless the script says otherwise, and writes its pid to ``<script>.gpu_pids`` and
what its rounds took to ``<script>.gpu_seconds``, which is what :mod:`tests.fake_nvml` goes by.

Every start and every request is appended to ``<script>.log``, one line ``<pid> <op> <case key>``: a test can read what
was asked, and the worker counts there in which process of the session (and of its side) a case is opened. Where
there are sides, their name ends the line.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lstm_models import worker
from lstm_models.problem import Problem
from tests import fake_costs, fake_selection
from tests.fake_case import key_of, proved, steps_per_call

DEFAULT: dict[str, Any] = {
    "seconds_per_step": 0.004,
    "noise": 0.0,
    "process_noise": 0.0,
    "drift": 0.0,
    "drift_rounds": 10,
    "first_call_seconds": 0.5,
    "first_call_traces": 1,
    "bytes_peak": 20_000_000,
    "device_bytes_peak": 300_000_000,
    "kernel": None,
    "device": None,
    "probe": [1.0, -0.5],
    "tolerance": 1e-5,
    "output_error": 1e-7,
    "gradient_error": None,
    "traces": 0,
    "fault": None,
    "fault_at": "run",
    "stderr": "",
}
ENVIRONMENT: dict[str, Any] = {
    "versions": {"python": "3.11.9", "tensorflow": "2.21.0", "keras": "3.15.1", "numpy": "2.2.0"},
    "packages": {"tensorflow": "2.21.0", "keras": "3.15.1", "numpy": "2.2.0"},
    "settings": {"onednn": "on"},
    "variables": {},
    "devices": ["cpu"],
}


@dataclass
class OpenCase:
    """A case in a slot, with the stream of its noise."""

    case: Mapping[str, Any]
    key: str
    entry: dict[str, Any]
    random: random.Random
    rounds: int = 0
    seconds_per_step: float = 0.0

    def noise(self, sd: float) -> float:
        return self.random.lognormvariate(0, sd) if sd else 1.0

    def round(self) -> float:
        """Seconds per step in the next round."""
        left = max(0.0, 1 - self.rounds / self.entry["drift_rounds"])
        self.rounds += 1
        return float(self.seconds_per_step * (1 + self.entry["drift"] * left) * self.noise(self.entry["noise"]))


class FakeEngine:
    """Answers as its script says; no clock, no sleep."""

    def __init__(self) -> None:
        self.file = os.environ.get("FAKE_WORKER_SCRIPT")
        self.script: dict[str, Any] = json.loads(Path(self.file).read_text()) if self.file else {}
        self.side = os.environ.get("FAKE_WORKER_SIDE", "")
        unknown = self._unknown()
        if unknown:
            raise ValueError(f"FAKE_WORKER_SCRIPT has unknown entries: {unknown}")
        self.script |= _laid_over(self.script, self.script.pop("sides", {}).get(self.side, {}))
        self.opened: dict[str, int] = {}
        self.open_cases: dict[int, OpenCase] = {}
        self._log("start", " ".join(f"{name}={os.environ.get(name)}" for name in self.script.get("tell", ())))
        device = "cpu" if os.environ.get("CUDA_VISIBLE_DEVICES") == "" else "gpu"
        self.on_gpu = device == "gpu"
        self._tell_nvml(".gpu_pids", os.getpid())
        if (
            self.script.get("startup")
            and self._count("start") >= self.script.get("startup_process", 1)
            and device == self.script.get("startup_device", device)
        ):
            self._fault(self.script["startup"], "")

    def _unknown(self) -> list[str]:
        known = {"seed", "startup", "startup_process", "startup_device", "environment", "default", "cases"}
        known |= {"tell", "powercap"}
        unknown: set[str] = set()
        for script in (self.script, *self.script.get("sides", {}).values()):
            entries = [script.get("default", {}), *script.get("cases", {}).values()]
            unknown |= {name for entry in entries for name in entry} - set(DEFAULT) - {"process"}
            unknown |= (
                set(script)
                - known
                - {"sides", "selection", "selection_fault", "costs", "peak", "transfer", "peak_fault"}
            )
        return sorted(unknown)

    def _log(self, op: str, key: str = "") -> None:
        if self.file:
            with open(self.file + ".log", "a") as log:
                log.write(" ".join(word for word in (str(os.getpid()), op, key, self.side) if word) + "\n")

    def _tell_nvml(self, suffix: str, value: float) -> None:
        if not self.on_gpu or "FAKE_NVML" not in os.environ:
            return
        with open(f"{self.file}{suffix}", "a") as file:
            file.write(f"{value}\n")

    def _count(self, event: str) -> int:
        if not self.file:
            return 1
        event = f"{event} {self.side}".rstrip()
        return [line.split(" ", 1)[1] for line in Path(self.file + ".log").read_text().splitlines()].count(event)

    def describe(self) -> dict[str, Any]:
        self._log("describe")
        laid_over = self.script.get("environment", {})
        print(laid_over.get("stderr", ""), file=sys.stderr, flush=True)
        answer = {
            name: {**value, **laid_over.get(name, {})} if isinstance(value, dict) else laid_over.get(name, value)
            for name, value in ENVIRONMENT.items()
        }
        if self.on_gpu and "devices" not in laid_over:
            answer["devices"] = [*answer["devices"], "GPU:0 NVIDIA H200 compute 9.0"]
        names = ("TF_", "KERAS_", "XLA_", "OMP_", "LSTM_PERF_", "FAKE_WORKER_SIDE")
        answer["variables"] |= {name: value for name, value in os.environ.items() if name.startswith(names)}
        return answer

    def warm_up(self) -> None:
        self._log("warm_up")

    def open(self, case: Mapping[str, Any], slot: int = 0) -> dict[str, Any]:
        key = key_of(case)
        self._log("open", key)
        process = self._count(f"open {key}")
        entry = dict(DEFAULT)
        costs = fake_costs.entry(self.script.get("costs", {}), case)
        laid_over = [("", self.script.get("default", {})), ("", costs), *self.script.get("cases", {}).items()]
        for part, overrides in laid_over:
            if part in key and overrides.get("process", process) == process:
                entry |= overrides
        stream = random.Random(f"{self.script.get('seed', 0)}:{key}:{process}:{self.side}")
        opened = self.open_cases[slot] = OpenCase(case, key, entry, stream)
        slowdown = float(os.environ.get("LSTM_PERF_SLOWDOWN", "1"))
        opened.seconds_per_step = entry["seconds_per_step"] * slowdown * opened.noise(entry["process_noise"])
        probe = list(entry["probe"])
        if self._faults_at("open", entry) == "nan":
            probe = [float("nan"), *probe]
        device = entry["device"] or case.get("device", "cpu")
        return {
            "first_call_seconds": entry["first_call_seconds"] * slowdown * opened.noise(entry["process_noise"]),
            "bytes_peak": entry["bytes_peak"],
            "device_bytes_peak": entry["device_bytes_peak"] if device == "gpu" else None,
            "facts": {
                "kernel": entry["kernel"] or proved(case),
                "device": device,
                "resolved": {"jit_compile": "False"},
                "first_call_traces": entry["first_call_traces"],
                "output_error": entry["output_error"],
                "gradient_error": entry["gradient_error"],
                "tolerance": entry["tolerance"],
                "probe": probe,
            },
        }

    def run(self, rounds: int, calls: int, slot: int = 0) -> dict[str, Any]:
        opened = self.open_cases.get(slot)
        assert opened is not None, "run before open"
        self._log("run", opened.key)
        case = opened.case
        fault = self._faults_at("run", opened.entry)
        steps = calls * steps_per_call(case)
        seconds = [opened.round() * steps for _ in range(rounds)]
        self._tell_nvml(".gpu_seconds", sum(seconds))
        if powercap := self.script.get("powercap"):
            counter = Path(powercap["file"])
            joules = powercap["watts"] * sum(seconds)
            counter.write_text(str((int(counter.read_text()) + round(joules * 1e6)) % powercap["range"]))
        if fault in ("nan", "zero"):
            seconds[-1] = float("nan") if fault == "nan" else 0.0
        kept = case.get("keeps_calls", case.get("path") == "predict" and case.get("batch") == 1)
        call_seconds = [value / calls for value in seconds for _ in range(calls)] if kept else []
        return {"seconds": seconds, "call_seconds": call_seconds, "traces": opened.entry["traces"]}

    def close(self, slot: int = 0) -> None:
        opened = self.open_cases.pop(slot, None)
        self._log("close", opened.key if opened else "")
        if opened is not None:
            self._faults_at("close", opened.entry)

    def selection(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        self._log("selection")
        self._fault(self.script.get("selection_fault", ""), "")
        rows = fake_selection.rows(self.script.get("selection", {}))
        return {"rows": [row for row in rows if row["row"].split("/")[0] in settings]}

    def peak(self) -> dict[str, Any]:
        self._log("peak")
        self._fault(self.script.get("peak_fault", ""), "")
        on_gpu = os.environ.get("CUDA_VISIBLE_DEVICES") != ""
        rates = dict.fromkeys(("float32", "float16", "bfloat16"), 1e14 if on_gpu else 1e13)
        transfer = self.script.get("transfer", {"fixed_seconds": 1e-5, "seconds_per_mib": 1e-4})
        return {"flops_per_second": self.script.get("peak", rates), "transfer": transfer if on_gpu else None}

    def _faults_at(self, op: str, entry: Mapping[str, Any]) -> str | None:
        """Does the case's fault where it is due here; returns its name."""
        if entry["fault"] is None or entry["fault_at"] != op:
            return None
        self._fault(entry["fault"], entry["stderr"])
        return str(entry["fault"])

    def _fault(self, fault: str, stderr: str) -> None:
        if stderr:
            print(stderr, file=sys.stderr, flush=True)
        if fault == "crash":
            os._exit(3)
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        if fault == "hang":
            threading.Event().wait()
        if fault == "exception":
            raise RuntimeError("the fake engine's exception")
        if fault == "memory":
            raise MemoryError("failed to allocate 12.00 GiB on GPU_0_bfc")
        if fault == "problem":
            raise Problem("oracle", "the outputs are 0.3 apart, tolerated are 1e-05")
        if fault == "unsupported":
            raise Problem("open", "Keras 2.15 has no use_cudnn.")
        if fault == "import":
            raise ModuleNotFoundError("No module named 'tensorflow'")
        if fault == "print":
            print("a library wrote this to stdout", flush=True)
            os.write(1, b"and native code this\n")


def _laid_over(script: Mapping[str, Any], side: Mapping[str, Any]) -> dict[str, Any]:
    """A side's entries over those of both; the cases of a side win over those of both."""
    return {
        name: {**script.get(name, {}), **value} if isinstance(value, dict) else value for name, value in side.items()
    }


class NonsenseChannel:
    """Lays the fault ``nonsense`` over a channel: the reply is no reply."""

    def __init__(self, channel: Any, engine: FakeEngine) -> None:
        self._channel = channel
        self._engine = engine

    def send(self, reply: Any) -> None:
        nonsense = any(opened.entry["fault"] == "nonsense" for opened in self._engine.open_cases.values())
        self._channel.send(["nonsense"] if nonsense else reply)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)

    def __iter__(self) -> Any:
        return iter(self._channel)


def serve(channel: Any) -> None:
    engine = FakeEngine()
    worker.serve(NonsenseChannel(channel, engine), engine)
