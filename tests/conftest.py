"""Fixtures of the suite's own tests."""

from __future__ import annotations

import signal

import pytest

from tests.project import Project

# Started in the background, a shell lets its jobs ignore Ctrl-C, and so would all that the tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def project(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Project:
    """A throw-away checkout with the real plugin, fake cases and the fake worker."""
    return Project(pytester, monkeypatch, tmp_path_factory.getbasetemp())
