"""A throw-away checkout around the real plugin, with fake cases and the fake worker."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fake_suite import CHECKOUT

CONFTEST = """
from pathlib import Path
from perf.harness import powercap
from tests.fake_suite import suite

powercap.ROOT = Path(__file__).parent / "powercap"  # whatever this host's kernel counts

pytest_plugins = ["perf.harness.plugin"]

def pytest_perf_suite(request):
    return suite(request, Path(__file__).parent)
"""

#: Folders of baselines that tests have made, by number of runs.
_BASELINES: dict[int, Path] = {}


class Project:
    """Runs ``pytest perf`` and ``python -m perf`` as a user would, each in a process of its own."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, session_folder: Path) -> None:
        self.pytester = pytester
        self._session_folder = session_folder
        self._monkeypatch = monkeypatch
        self.path = pytester.path
        monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))
        monkeypatch.setenv("FAKE_WORKER_SCRIPT", str(self.path / "script.json"))
        monkeypatch.delenv("LSTM_PERF_SLOWDOWN", raising=False)
        monkeypatch.delenv("CI", raising=False)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
            monkeypatch.delenv(name, raising=False)  # the session in the project is no worker of ours
        (self.path / "conftest.py").write_text(CONFTEST)
        (self.path / "perf").mkdir()
        (self.path / "tests").mkdir()
        for file in (
            "test_layer.py",
            "test_model.py",
            "test_kernel_selection.py",
            "test_crossovers.py",
            "test_gpu_assumptions.py",
        ):
            shutil.copy(CHECKOUT / "perf" / file, self.path / "perf" / file)
        (self.path / "pytest.ini").write_text("[pytest]\nstrict = true\ntestpaths = tests\nfilterwarnings = error\n")
        self._monkeypatch = monkeypatch
        self.cases("forward/alpha", "forward/beta", "fit/alpha")
        self.script()

    def with_gpu(self, **nvml: Any) -> None:
        """From now on the host has GPUs, as far as NVML says: by default one, with nothing else on it."""
        folder = self.path / "driver"
        folder.mkdir(exist_ok=True)
        (folder / "pynvml.py").write_text("from tests.fake_nvml import *\n")
        (folder / "nvml.json").write_text(json.dumps(nvml))
        self._monkeypatch.setenv("FAKE_NVML", str(folder / "nvml.json"))
        self._monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{CHECKOUT}")

    def with_cpu_counter(self, watts: float) -> None:
        """From now on the CPU's energy is counted, at so many watts while rounds run, and begins anew every 200 J."""
        zone = self.path / "powercap" / "intel-rapl:0"
        zone.mkdir(parents=True)
        counter = {"file": str(zone / "energy_uj"), "watts": watts, "range": 200_000_000}
        for name, value in (("name", "package-0"), ("energy_uj", 0), ("max_energy_range_uj", counter["range"])):
            (zone / name).write_text(f"{value}\n")
        script = json.loads((self.path / "script.json").read_text())
        (self.path / "script.json").write_text(json.dumps({**script, "powercap": counter}))

    def cases(
        self,
        *names: str,
        skipped: dict[str, str] | None = None,
        nightly: tuple[str, ...] = (),
        expectations: bool = False,
        real: bool = False,
    ) -> None:
        """What the suite holds from now on; with the real ``expectations`` or none, and all ``real`` cases or none."""
        listed = {"cases": names, "skipped": skipped or {}, "nightly": nightly, "expectations": expectations}
        listed["real"] = real
        (self.path / "suite.json").write_text(json.dumps(listed))

    def script(self, **entries: Any) -> None:
        """What the fake worker does from now on; a little noise unless told otherwise."""
        default = {"noise": 0.01, "process_noise": 0.005, **entries.pop("default", {})}
        script = {"seed": self._next_seed(), "default": default, **entries}
        (self.path / "script.json").write_text(json.dumps(script))
        for suffix in (".log", ".gpu_pids", ".gpu_seconds"):
            (self.path / f"script.json{suffix}").unlink(missing_ok=True)

    def upgrade(self, **entries: Any) -> None:
        """From now on workers run in another environment, in which they do ``entries``; in that of before they do not.

        The environments differ by a variable, so that a stored baseline's can be had without building anything.
        """
        self._monkeypatch.setenv("FAKE_WORKER_SIDE", "upgraded")
        self.script(sides={"upgraded": entries})

    def _next_seed(self) -> int:
        self._seed = getattr(self, "_seed", 0) + 1
        return self._seed

    def opened(self) -> int:
        """How many times a worker was asked to open a case since the last :meth:`script`."""
        log = self.path / "script.json.log"
        return log.read_text().count(" open ") if log.exists() else 0

    def run(self, *args: str) -> pytest.RunResult:
        """``pytest perf <args>``."""
        return self.pytester.runpytest_subprocess("perf", "-p", "no:cacheprovider", *args)

    def save(self, name: str = "run", *args: str, **script: Any) -> pytest.RunResult:
        """A saved run with fresh noise."""
        self.script(**script)
        return self.run(f"--benchmark-save={name}", *args)

    def promote(self, *args: str) -> subprocess.CompletedProcess[str]:
        """``python -m perf promote <args>`` in this project."""
        storage = ["--storage", str(self.path / ".benchmarks"), "--baselines", str(self.baselines)]
        command = [sys.executable, "-m", "perf", "promote", *args, "--reason", "test", *storage]
        return subprocess.run(command, cwd=self.path, env=dict(os.environ), capture_output=True, text=True, check=False)

    def retire(self, *args: str) -> subprocess.CompletedProcess[str]:
        """``python -m perf retire <args>`` in this project."""
        command = [sys.executable, "-m", "perf", "retire", *args, "--baselines", str(self.baselines)]
        return subprocess.run(command, cwd=self.path, env=dict(os.environ), capture_output=True, text=True, check=False)

    def with_baseline(self, runs: int = 3) -> None:
        """Saved and promoted runs of unchanged code; made once a session, since they are the same for all tests."""
        made = _BASELINES.get(runs)
        if made is None:
            self._make_baseline(runs)
            made = _BASELINES[runs] = self._session_folder / f"baseline-of-{runs}"
            shutil.copytree(self.path / ".benchmarks", made / ".benchmarks")
            shutil.copytree(self.baselines, made / "perf" / "baselines")
        shutil.copytree(made, self.path, dirs_exist_ok=True)
        self.script()

    def _make_baseline(self, runs: int) -> None:
        for _ in range(runs):
            result = self.save()
            assert result.ret == 0, result.stdout.str()
        done = self.promote(*(str(number) for number in range(1, runs + 1)))
        assert done.returncode == 0, done.stdout + done.stderr

    @property
    def baselines(self) -> Path:
        return self.path / "perf" / "baselines"

    @property
    def baseline(self) -> Path:
        """The one baseline file."""
        (file,) = self.baselines.glob("*.json")
        return file

    @property
    def saved(self) -> list[Path]:
        """The saved runs, oldest first."""
        return sorted(self.path.glob(".benchmarks/*/*.json"))


def refused(result: pytest.RunResult) -> str:
    """Asserts a refusal before measuring (exit 4, one paragraph, no traceback) and returns what was said."""
    text = result.stdout.str() + result.stderr.str()
    assert result.ret == 4, text
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    return " ".join(text.split())
