"""Fixtures for tests that build environments."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.wheels import make_index


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of wheels; tests add none to it."""
    folder = tmp_path_factory.mktemp("wheels")
    make_index(folder)
    return folder


@pytest.fixture
def cache(
    wheels: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """An empty cache of environments, for a uv that knows these wheels only."""
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(wheels))
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "uv-cache"))
    monkeypatch.setenv("LSTM_PERF_CACHE", str(tmp_path / "cache"))
    for name in ("TF_USE_LEGACY_KERAS", "PYTHONPATH", "UV_CONSTRAINT", "UV_OVERRIDE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache"
