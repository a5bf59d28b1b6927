"""The uv commands that an environment is made with, and what they say when they fail."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import uv

from perf.harness.errors import Refusal

#: Lines of uv's message that are shown; its explanation of an impossible choice of versions can be long.
MESSAGE_LINES = 20
#: Would make uv look at another interpreter than the one it is told to use, or decorate what it says.
_NOT_INHERITED = ("UV_PYTHON", "UV_SYSTEM_PYTHON", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME")
_HINTS = (
    ("No space left", "Free some space, or move the folders with LSTM_PERF_CACHE and uv's UV_CACHE_DIR."),
    (
        "No solution found",
        "Name versions that exist and go together for this Python, or ask for another one with python==X.Y.",
    ),
    ("No interpreter found", "Name the path of an interpreter, or a version that is installed."),
    ("error sending request", "Is there a network? uv's own settings (UV_DEFAULT_INDEX, UV_OFFLINE) apply."),
    ("Failed to fetch", "Is there a network? uv's own settings (UV_DEFAULT_INDEX, UV_OFFLINE) apply."),
)


class UvFailed(Exception):
    """A command failed; ``unsolvable`` says that versions do not go together, and not that anything broke."""

    def __init__(self, command: str, status: int, stderr: str) -> None:
        super().__init__(f"uv {command} ended with exit status {status}")
        self.unsolvable = status == 1 and "No solution found" in stderr
        self._stderr = stderr

    @property
    def message(self) -> str:
        """uv's own last lines, and what may help."""
        lines = [line.rstrip() for line in self._stderr.splitlines() if line.strip()][-MESSAGE_LINES:]
        said = "\n".join(f"    {line}" for line in lines) or "    nothing"
        hint = next((f"\n{hint}" for word, hint in _HINTS if word in self._stderr), "")
        return f"{self}. It said:\n{said}{hint}"


@dataclass(frozen=True, slots=True)
class Uv:
    """Runs uv in the caller's current folder, from which paths in requirements are taken.

    ``lock`` is a file descriptor that uv inherits: a lock on it is held until uv has ended too, also when the session
    that started it is killed.
    """

    lock: int

    def venv(self, folder: Path, python: str) -> None:
        """An empty environment; ``python`` is an interpreter or a version. It may be moved before anything is run."""
        self._run("venv", "--no-project", "--relocatable", "--python", python, str(folder))

    def solve(self, folder: Path, asked: Sequence[Path], constraints: Path, overrides: Path) -> str:
        """Every package that the files of requirements ``asked`` need, pinned, as the text of a requirements file."""
        options = ["--no-header", "--no-annotate", "--python", _interpreter(folder)]
        for option, file in (("--constraints", constraints), ("--overrides", overrides)):
            if file.stat().st_size:  # uv warns of an empty one
                options += [option, str(file)]
        return self._run("pip compile", *options, *map(str, asked))

    def install(self, folder: Path, pinned: Path) -> None:
        """Installs exactly what ``pinned`` lists, compiled: the first process on this side would do it later, timed."""
        options = ["--no-deps", "--compile-bytecode", "--python", _interpreter(folder)]
        self._run("pip install", *options, "-r", str(pinned))

    def _run(self, command: str, *arguments: str) -> str:
        return _uv(command, *arguments, inherit=(self.lock,))


def has_python(version: str) -> bool:
    """Whether uv finds an installed interpreter of this version."""
    try:
        _uv("python find", "--no-project", "--no-python-downloads", version)
    except UvFailed:
        return False
    return True


def _uv(command: str, *arguments: str, inherit: tuple[int, ...] = ()) -> str:
    """Runs ``uv command arguments``; returns what it wrote to stdout. Raises :class:`UvFailed`."""
    environ = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    # pyenv's commands on PATH start no Python that is not switched on, and uv stops at the first of them.
    pyenv = Path(environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv"))
    path = [*map(str, sorted(pyenv.glob("versions/3.*/bin"))), environ.get("PATH", os.defpath)]
    environ |= {"PATH": os.pathsep.join(path), "NO_COLOR": "1", "UV_NO_PROGRESS": "1"}
    done = subprocess.run(
        [_executable(), *command.split(), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        env=environ,
        pass_fds=inherit,
    )
    if done.returncode:
        raise UvFailed(command, done.returncode, done.stderr)
    return done.stdout


def _interpreter(folder: Path) -> str:
    return str(folder / "bin" / "python")


def _executable() -> str:
    try:
        return uv.find_uv_bin()
    except FileNotFoundError:
        raise Refusal(
            "Environments are made with uv, which is not where Python's package of that name puts it. Install it: "
            "python -m pip install --force-reinstall uv. Nothing was measured."
        ) from None
