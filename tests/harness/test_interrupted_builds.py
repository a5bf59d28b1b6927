"""Builds that end before they are complete, and two sessions that build at once."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import uv

from perf.harness.builds import side_for
from perf.harness.environment_cache import cache_folder
from perf.harness.spec import parse

TIME_LIMIT_SECONDS = 60  # else a build that fails early would be waited for without end
ROOT = Path(__file__).parent.parent.parent
#: Builds in a process of its own, with a uv that waits before it installs; says what happens, one line each.
BUILD = """
import sys, uv
uv.find_uv_bin = lambda: sys.argv[1]
from perf.harness.builds import side_for
from perf.harness.spec import parse
built = side_for(parse(["keras==3.15.1"]), {"tensorflow-cpu": "2.21.0", "numpy": "2.4.6"}, lambda text: print(text, flush=True))
print("cached" if built.cached else "built", built.side.interpreter, flush=True)
"""  # noqa: E501
#: Tells its process id through one pipe when it would install, and goes on when it is told to through another.
UV = """#!/bin/sh
if [ "$1 $2" = "pip install" ]; then echo $$ > "{gate}/started"; read _ < "{gate}/go"; fi
exec {uv} "$@"
"""


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    folder = tmp_path / "gate"
    folder.mkdir()
    os.mkfifo(folder / "started")
    os.mkfifo(folder / "go")
    (folder / "uv").write_text(UV.format(gate=folder, uv=uv.find_uv_bin()))
    (folder / "uv").chmod(0o755)
    return folder


@contextlib.contextmanager
def session(gate: Path) -> Iterator[subprocess.Popen[str]]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", BUILD, str(gate / "uv")]
    # In a group of its own, as a terminal would have it: Ctrl-C goes to all of the group.
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environ, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def installing(gate: Path) -> int:
    """Waits until a session's uv would install; its process id."""
    pipe = os.open(gate / "started", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert select.select([pipe], [], [], TIME_LIMIT_SECONDS)[0], "no uv would install anything"
        return int(os.read(pipe, 100))
    finally:
        os.close(pipe)


def left_in(cache: Path) -> list[str]:
    return sorted(path.name.partition("-")[0] for path in cache.glob("*") if path.name != ".lock")


def test_a_build_that_was_killed_is_never_reused_and_is_removed(cache: Path, gate: Path) -> None:
    with session(gate) as process:
        orphan = installing(gate)
        process.kill()
        process.wait()
        assert [path.suffix for path in cache.glob("keras-*")] == [".building"]
        # Its uv still writes there: nobody may build, or remove what it writes, until it has ended.
        with (cache / ".lock").open() as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.kill(orphan, signal.SIGKILL)
    built = side_for(parse(["rich==15.0"]), {"tensorflow-cpu": "2.21.0"}, lambda text: None)
    assert not built.cached
    assert left_in(cache) == ["rich"]


def test_ctrl_c_leaves_nothing(cache: Path, gate: Path) -> None:
    with session(gate) as process:
        installing(gate)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(TIME_LIMIT_SECONDS) != 0
    assert left_in(cache) == []


def test_a_second_session_waits_and_takes_what_the_first_built(cache: Path, gate: Path) -> None:
    with session(gate) as first:
        installing(gate)
        with session(gate) as second:
            assert second.stdout is not None
            assert "waiting for another session" in second.stdout.readline()
            (gate / "go").write_text("\n")
            first_said, _ = first.communicate()
            second_said, _ = second.communicate()
    (place,) = cache.glob("keras-*")
    assert first_said.splitlines()[-1] == f"built {place}/bin/python"
    assert second_said.splitlines() == [f"cached {place}/bin/python"]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"LSTM_PERF_CACHE": "/x/y", "XDG_CACHE_HOME": "/c"}, "/x/y"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/lstm-perf/environments"),
        ({"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/lstm-perf/environments"),
        ({}, "/home/me/.cache/lstm-perf/environments"),
        ({"LSTM_PERF_CACHE": "~/big"}, "/home/me/big"),
    ],
)
def test_where_environments_are_kept(variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LSTM_PERF_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/me", **variables}.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(expected)
