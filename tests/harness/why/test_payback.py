"""From how many steps on a dearer start pays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perf.harness.records import Sample
from perf.harness.why.payback import payback
from perf.harness.why.records import Subject
from tests.harness.makers import sample
from tests.harness.why.makers import subject, who

LOOP, XLA, GPU = (subject(of, 1) for of in (who(), who("xla"), who("cudnn", "gpu")))
NO_STARTUP: dict[str, tuple[float, ...]] = {}


def measured(
    of: Subject, per_step: float, first_call: float, spread: float = 0.01
) -> tuple[Subject, dict[int, Sample]]:
    made = {}
    for process in (1, 2, 3):
        factor = 1 + spread * (process - 2)
        one = replace(sample(process=process), calls_per_round=1, steps_per_call=1)
        made[process] = replace(one, seconds_per_round=(per_step * factor,) * 3, first_call_seconds=first_call * factor)
    return of, made


def test_extra_over_gain_whichever_stands_first() -> None:
    loop, xla = measured(LOOP, 1e-3, 0.1), measured(XLA, 2e-4, 0.5)
    for pair in ((loop, xla), (xla, loop)):
        found = payback(*pair, NO_STARTUP)
        assert found is not None
        assert (found.fast, found.slow) == (XLA.who, LOOP.who)
        assert found.steps is not None
        assert found.steps.value == pytest.approx(0.4 / 8e-4)
        assert found.steps.low is not None
        assert found.steps.high is not None
        assert found.steps.low < 500 < found.steps.high


def test_noise_over_the_gain_leaves_it_open() -> None:
    found = payback(measured(LOOP, 1e-3, 0.1, 0.0), measured(XLA, 9e-4, 0.5, 0.3), NO_STARTUP)
    assert found is not None
    assert found.steps is None


def test_who_starts_cheaper_has_nothing_to_earn() -> None:
    found = payback(measured(LOOP, 1e-3, 0.5), measured(XLA, 2e-4, 0.1), NO_STARTUP)
    assert found is not None
    assert found.steps is None
    assert found.extra_seconds.high is not None
    assert found.extra_seconds.high < 0


def test_another_device_pays_for_its_start_up_too() -> None:
    startup = {"cpu": (2.0, 2.1, 1.9), "gpu": (6.0, 6.2, 5.8)}
    found = payback(measured(XLA, 1e-3, 0.5), measured(GPU, 5e-4, 0.5), startup)
    assert found is not None
    assert found.extra_seconds.value == pytest.approx(4.0)
    assert found.steps is not None
    assert found.steps.value == pytest.approx(8000)
    assert payback(measured(XLA, 1e-3, 0.5), measured(GPU, 5e-4, 0.5), NO_STARTUP) is None


def test_one_process_tells_nothing() -> None:
    (of, samples) = measured(LOOP, 1e-3, 0.1)
    assert payback((of, {1: samples[1]}), measured(XLA, 2e-4, 0.5), NO_STARTUP) is None
