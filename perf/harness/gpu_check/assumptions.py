"""Read the list of assumptions; it is this suite's own file, and a fault in it is a fault of the suite."""

from __future__ import annotations

import tomllib
from pathlib import Path

from perf.harness.gpu_check.records import Assumption

FILE = Path(__file__).with_name("assumptions.toml")


def assumptions() -> tuple[Assumption, ...]:
    """All of them, in the order of the documentation's tables."""
    return tuple(Assumption(id=id, **table) for id, table in tomllib.loads(FILE.read_text(encoding="utf-8")).items())
