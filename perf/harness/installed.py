"""What an interpreter has installed, without starting a framework."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from perf.harness.environment import Side, why_no_python
from perf.harness.errors import Refusal
from perf.harness.frameworks import TENSORFLOW, Framework, distribution_of

_TIME_LIMIT_SECONDS = 60.0
# Runs in any Python 3.9, and with nothing but what that interpreter has: a checkout in the current folder, which
# "-c" puts first on the path, is no distribution of it.
_ASK = """
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import importlib.metadata, importlib.util, json, os, platform
packages = {}
for found in importlib.metadata.distributions():
    name = found.metadata["Name"]
    if name and name not in packages:
        packages[name] = str(found.version)
print(json.dumps({
    "python": platform.python_version(),
    "base": os.path.realpath(sys.executable),
    "packages": packages,
    "missing": [name for name in sys.argv[1:] if importlib.util.find_spec(name) is None],
}))
"""


@dataclass(frozen=True, slots=True)
class Installed:
    """``python`` is its version, ``base`` the interpreter behind a virtual environment's link, ``packages`` versions
    by distribution name as it spells itself, ``missing`` the modules a worker needs that are not there."""

    python: str
    base: str
    packages: Mapping[str, str]
    missing: tuple[str, ...]


def installed(side: Side, framework: Framework = TENSORFLOW) -> Installed:
    """Asks the side's interpreter, with its variables; ``missing`` is about a worker on ``framework``.

    Raises :class:`Refusal` where it does not answer.
    """
    command = side.command("cpu", Path(os.devnull))  # no checkout on its path: only what it has itself
    if reason := why_no_python(side.interpreter, command, _TIME_LIMIT_SECONDS):
        raise Refusal(f"{reason[0].upper()}{reason[1:]} Name a Python 3.9 or newer. Nothing was measured.")
    try:
        done = subprocess.run(
            [*command, "-c", _ASK, framework.name, *framework.beside, "numpy"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIME_LIMIT_SECONDS,
        )
        reply = json.loads(done.stdout.strip().rpartition("\n")[2])
        return Installed(reply["python"], reply["base"], reply["packages"], tuple(reply["missing"]))
    except (subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
        raise Refusal(
            f"{side.interpreter} does not say what is installed in it. Does '{side.interpreter} -m pip list' work? "
            "Nothing was measured."
        ) from None


def why_no_worker(found: Installed, framework: Framework) -> str:
    """Why no worker can run Keras on ``framework`` there, without its end; "" where nothing is known against it."""
    if found.missing:
        return f"has no {' and no '.join(found.missing)}"
    installed = distribution_of(framework, found.packages)
    try:
        if installed is not None and framework.oldest is not None and Version(installed[1]) < framework.oldest:
            return f"has {installed[0]} {installed[1]}, and workers need {framework.oldest} or newer"
    except InvalidVersion:
        pass  # a private build may call itself what it likes
    return ""
