"""Guards the arrows between the parts, and shows that the guard sees what it should."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture import Forbidden, broken_rules, cycles, read_tree

ROOT = Path(__file__).parent.parent

RULES = (
    Forbidden("lstm_models", "perf"),
    Forbidden("lstm_models", "pytest"),
    Forbidden("perf.harness", "lstm_models"),
    *(Forbidden(package, "docs") for package in ("lstm_models", "perf")),
    Forbidden("perf.harness", "perf.cases"),
    Forbidden(
        "perf.harness",
        "pytest",
        except_in=(
            "perf.harness.options",
            "perf.harness.commandline",
            "perf.harness.collecting",
            "perf.harness.plugin",
            "perf.harness.hookspec",
        ),
    ),
    # The pytest process never imports a framework: only functions that run in a worker do.
    *(
        Forbidden(package, framework, only_at_import_time=True)
        for package in ("lstm_models", "perf")
        for framework in ("tensorflow", "keras", "tf_keras", "jax", "torch")
    ),
    # One framework in a process: a worker of one imports no other, and a host needs only the one that it runs.
    Forbidden("lstm_models", "tensorflow", except_in=("lstm_models.backends.tensorflow",)),
    Forbidden("lstm_models", "jax", except_in=("lstm_models.backends.jax",)),
    Forbidden("lstm_models", "torch", except_in=("lstm_models.backends.torch",)),
    *(Forbidden("perf", framework) for framework in ("tensorflow", "keras", "tf_keras", "jax", "torch")),
    # Takes 1.2 s to import, so it is imported where it is used.
    Forbidden("perf", "scipy", only_at_import_time=True),
    # Needed by those who ask for a report only.
    *(Forbidden("perf", needed, only_at_import_time=True) for needed in ("jinja2", "markupsafe", "plotly")),
    # Records know nobody; what is stored does not depend on how it is judged or shown.
    Forbidden("perf.harness.records", "perf"),
    Forbidden("perf.harness.stats", "perf.harness.report"),
    *(
        Forbidden(f"perf.harness.{low}", f"perf.harness.{high}")
        for low in (
            "codec",
            "runs",
            "baseline",
            "measure",
            "workers",
            "verdict",
            "spec",
            "builds",
            "rebuild",
            "crossover",
            "expectation_store",
            "why",
        )
        for high in ("report", "plugin", "session", "preparation", "options")
    ),
    *(
        Forbidden(f"lstm_models.{low}", f"lstm_models.{high}")
        for low in ("words", "workloads", "case", "kernels", "data", "oracle_layers")
        for high in ("models", "paths", "proof", "engine", "worker", "explain")
    ),
)


def test_the_tree_keeps_its_arrows() -> None:
    sources = read_tree(ROOT, ["lstm_models", "perf"])
    assert {"lstm_models.case", "perf.harness.records", "perf.harness.plugin", "perf.cases"} <= set(sources)
    assert broken_rules(sources, RULES) == []


def test_the_tree_has_no_import_cycle() -> None:
    assert cycles(read_tree(ROOT, ["lstm_models", "perf"])) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("lstm_models.data", "import perf.cases"),
        ("lstm_models.data", "def f():\n    from perf.harness import stats"),
        ("perf.harness.measure", "from lstm_models import worker"),
        ("perf.harness.verdict", "import pytest"),
        ("perf.harness.verdict", "from docs.benchmarks.gate_quality import binomial"),
        ("lstm_models.models", "import tensorflow as tf"),
        ("lstm_models.models", "try:\n    from keras import layers\nexcept ImportError:\n    pass"),
        ("lstm_models.models", "class A:\n    import tensorflow"),
        ("perf.harness.machine", "def f():\n    import tensorflow"),
        ("perf.harness.stats", "import scipy.stats"),
        ("perf.harness.report.page.charts", "import plotly.graph_objects as go"),
        ("perf.harness.records", "from . import machine"),
        ("perf.harness.verdict", "from .report import results"),
        ("lstm_models.case", "from lstm_models.models import build"),
        ("lstm_models.models", "def build():\n    import tensorflow as tf"),
        ("lstm_models.backends.torch.steps", "def step():\n    import jax"),
    ],
)
def test_the_guard_sees_each_kind(module: str, source: str) -> None:
    assert len(broken_rules({module: source}, RULES)) >= 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("lstm_models.backends.tensorflow.steps", "def build():\n    import tensorflow as tf"),
        ("lstm_models.models", "def build():\n    import keras"),
        ("perf.harness.plugin", "import pytest"),
        ("perf.harness.stats", "def t():\n    from scipy import stats"),
        ("perf.cases", "from lstm_models.case import Case"),
        ("perf.harness.replay", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pytest"),
        ("lstm_models.data", "import performance"),
    ],
)
def test_the_guard_lets_pass_what_may_be(module: str, source: str) -> None:
    assert broken_rules({module: source}, RULES) == []


def test_the_guard_sees_a_cycle() -> None:
    sources = {"p.a": "from p import b", "p.b": "from p.c import f", "p.c": "import p.a", "p.d": "import p.a"}
    assert cycles(sources) == [["p.a", "p.b", "p.c", "p.a"]]


def test_collecting_imports_no_framework() -> None:
    """``pytest perf --collect-only`` lists every case without TensorFlow, and without SciPy's second of import."""
    code = (
        "import sys, pytest\n"
        "status = pytest.main(['perf', '--collect-only', '-q', '-p', 'no:cacheprovider'])\n"
        "heavy = sorted({'tensorflow', 'keras', 'scipy.stats', 'plotly', 'jinja2'} & set(sys.modules))\n"
        "print('STATUS', int(status), 'HEAVY', heavy)\n"
    )
    # Under pytest-xdist the session in there is no worker of ours.
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=ours, capture_output=True, text=True, check=False)
    assert "STATUS 0 HEAVY []" in done.stdout, done.stdout + done.stderr
    assert "perf/test_layer.py::test_forward[translation-b32-cpu-loop-float32]" in done.stdout
