"""What an interpreter has installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from perf.harness.environment import Side
from perf.harness.installed import installed


def test_a_checkout_in_the_current_folder_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = tmp_path / "checkout.egg-info"
    metadata.mkdir()
    (metadata / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: checkout\nVersion: 1.0\n")
    (tmp_path / "numpy.py").write_text("raise RuntimeError('imported from the current folder')\n")
    monkeypatch.chdir(tmp_path)
    found = installed(Side())
    assert "checkout" not in found.packages
    assert "pytest" in found.packages
    assert found.missing == ()
