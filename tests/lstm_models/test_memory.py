"""Peak memory of a stretch of a process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lstm_models import memory

MIB = 2**20


def test_the_peak_of_a_stretch_is_seen_although_the_memory_is_free_again() -> None:
    """In a process of its own: what others allocate here must not be counted."""
    code = (
        "from lstm_models import memory\n"
        "big = bytearray(b'x') * (200 * 2**20); del big\n"
        "memory.trim(); assert memory.reset_peak(); before = memory.resident()\n"
        "some = bytearray(b'x') * (50 * 2**20); del some\n"
        "print(memory.peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # A little less may show: pages that were resident before are used again.
    assert 48 * MIB < int(done.stdout) < 60 * MIB


def test_resident_is_not_above_the_peak() -> None:
    resident, peak = memory.resident(), memory.peak()
    assert resident is not None
    assert peak is not None
    assert MIB < resident <= peak + MIB


def test_a_system_without_proc_has_no_figures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "_SELF", tmp_path / "none")
    assert memory.reset_peak() is False
    assert memory.resident() is None
    assert memory.peak() is None
