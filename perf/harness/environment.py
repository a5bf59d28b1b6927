"""One side of a measurement: with which interpreter and variables its workers run, and what they answer about it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perf.harness.records import Environment

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Side:
    """An environment for workers: an interpreter and the variables that differ from the caller's.

    A variable whose value is ``None`` is unset. All other variables of the caller are inherited.
    """

    interpreter: str = sys.executable
    variables: Mapping[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.variables:
            if not _VARIABLE.fullmatch(name):
                raise ValueError(f"{name!r} is no name of an environment variable: letters, digits and _ only.")

    def command(
        self, device: str, root: Path, gpu: str | None = None, inherited: Mapping[str, str] | None = None
    ) -> list[str]:
        """The command line that starts the interpreter; what follows it are the interpreter's own arguments.

        Everything is set by ``env`` before the interpreter starts: execnet's own ``env:`` comes after it, too late
        for PYTHONPATH and for the dynamic linker. ``device`` is ``cpu`` or ``gpu``, ``root`` the checkout that holds
        the worker's module, ``gpu`` an index (in PCI bus order, as NVML counts) or a UUID.
        """
        changes = self._changes(device, root, gpu, os.environ if inherited is None else inherited)
        command = ["env"]
        for name in sorted(name for name, value in changes.items() if value is None):
            command += ["-u", name]
        command += [f"{name}={value}" for name, value in sorted(changes.items()) if value is not None]
        if "=" in self.interpreter:
            # env would take a path such as envs/tensorflow==2.20/bin/python for one more variable.
            command += ["sh", "-c", 'exec "$0" "$@"']
        return [*command, self.interpreter]

    def _changes(self, device: str, root: Path, gpu: str | None, inherited: Mapping[str, str]) -> dict[str, str | None]:
        changes: dict[str, str | None] = {
            # tox and others fix the hash seed, so that all processes would share one memory layout by chance; the
            # processes must be independent, because they are what is counted as n.
            "PYTHONHASHSEED": None,
            "PYTHONFAULTHANDLER": "1",  # a crash in native code then says on stderr from where it was called
            "TF_CPP_MIN_LOG_LEVEL": inherited.get("TF_CPP_MIN_LOG_LEVEL", "3"),
            # NumPy's only: the oracle's many small products took up to 12 times as long on two threads as on one.
            "OPENBLAS_NUM_THREADS": inherited.get("OPENBLAS_NUM_THREADS", "1"),
        }
        if self.interpreter != sys.executable:
            changes["PYTHONHOME"] = None  # belongs to the caller's interpreter, another one does not start with it
        changes.update(self.variables)
        path = changes.get("PYTHONPATH", inherited.get("PYTHONPATH"))
        changes["PYTHONPATH"] = os.pathsep.join([str(root), path] if path else [str(root)])
        # Device visibility is the harness's own: a CPU case on a GPU host only stays off the GPU where it is hidden.
        if device == "cpu":
            changes["CUDA_VISIBLE_DEVICES"] = ""
        elif gpu is not None:
            changes["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
            changes["CUDA_VISIBLE_DEVICES"] = gpu
        return changes


def why_no_python(interpreter: str, command: list[str], time_limit: float) -> str:
    """Why ``command`` (see :meth:`Side.command`) starts no Python 3.9 or newer, one sentence; "" where it does.

    Asked before each worker: execnet has no time limit for the first answer, and says little when it is another one.
    """
    if shutil.which(interpreter) is None:
        return f"there is no executable interpreter {interpreter!r}."
    try:
        done = subprocess.run(
            [*command, "-c", "import sys; print(*sys.version_info[:2])"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=time_limit,
        )
    except subprocess.TimeoutExpired:
        return f"{interpreter!r} is no Python 3.9 or newer; it gave no answer within {time_limit:g} s."
    if re.fullmatch(r"3 (9|\d\d+)", done.stdout.strip()):
        return ""
    said = " ".join((done.stdout + done.stderr).split())[-300:] or "nothing"
    return (
        f"{interpreter!r} is no Python 3.9 or newer; asked for its version, it ended with exit status "
        f"{done.returncode} and said: {said}."
    )


def environment(reply: Mapping[str, Any]) -> Environment:
    """What a worker's ``describe`` answered, checked; raises ``ValueError`` naming the field that is wrong."""
    texts = {}
    for name in ("versions", "packages", "settings", "variables"):
        value = reply.get(name)
        if not isinstance(value, dict) or not all(isinstance(part, str) for item in value.items() for part in item):
            raise ValueError(f"describe: {name!r} must map text to text, but it is {value!r:.200}")
        texts[name] = value
    devices = reply.get("devices")
    if not isinstance(devices, (list, tuple)) or not all(isinstance(device, str) for device in devices):
        raise ValueError(f"describe: 'devices' must be a list of texts, but it is {devices!r:.200}")
    return Environment(**texts, devices=tuple(devices))
