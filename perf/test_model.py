"""What people call: Keras's own fit, evaluate and predict, per step."""

from __future__ import annotations

from pytest_benchmark.fixture import BenchmarkFixture

from perf.harness.replay import MeasuredCase


def test_fit(measured: MeasuredCase, benchmark: BenchmarkFixture) -> None:
    """A training step inside ``model.fit``."""
    measured.replay(benchmark)
    measured.check()


def test_evaluate(measured: MeasuredCase, benchmark: BenchmarkFixture) -> None:
    """A batch inside ``model.evaluate``."""
    measured.replay(benchmark)
    measured.check()


def test_predict(measured: MeasuredCase, benchmark: BenchmarkFixture) -> None:
    """A batch inside ``model.predict``; for an encoder-decoder one decoded token."""
    measured.replay(benchmark)
    measured.check()
