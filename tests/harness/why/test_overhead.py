"""What Keras's loops add to the bare step."""

from __future__ import annotations

import pytest

from perf.harness.why.curves import Source
from perf.harness.why.overhead import overheads
from tests.harness.why.makers import curve, who


def test_it_is_the_difference_within_a_process() -> None:
    bare, fit = curve(who(path="backward"), {32: 2e-3}), curve(who(path="fit"), {32: 5e-3})
    (one,) = overheads([bare, fit])
    assert (one.who.path, one.bare, one.batch) == ("fit", "backward", 32)
    assert one.added_seconds_per_step.value == pytest.approx(3e-3)
    assert one.change.ratio == pytest.approx(2.5)


def test_another_kernel_batch_or_stage_is_not_its_bare_step() -> None:
    predict = curve(who(path="predict"), {1: 5e-3})
    assert overheads([predict, curve(who("xla"), {1: 1e-3})]) == ()
    assert overheads([predict, curve(who(), {32: 1e-3})]) == ()
    assert overheads([predict, curve(who(), {1: 1e-3}, source=Source.CASES)]) == ()
