"""The bare model: one batch forward, and one batch with the gradients of all weights."""

from __future__ import annotations

from pytest_benchmark.fixture import BenchmarkFixture

from perf.harness.replay import MeasuredCase


def test_forward(measured: MeasuredCase, benchmark: BenchmarkFixture) -> None:
    """One batch through the compiled call, inference mode."""
    measured.replay(benchmark)
    measured.check()


def test_backward(measured: MeasuredCase, benchmark: BenchmarkFixture) -> None:
    """Loss of one batch and its gradients, training mode."""
    measured.replay(benchmark)
    measured.check()
