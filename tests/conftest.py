"""Fixtures of the suite's own tests."""

from __future__ import annotations

import pytest

from tests.project import Project


@pytest.fixture
def project(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Project:
    """A throw-away checkout with the real plugin, fake cases and the fake worker."""
    return Project(pytester, monkeypatch, tmp_path_factory.getbasetemp())
