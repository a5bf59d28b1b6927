"""The stored session's table of kernels: judged against what was promoted, promoted, shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from perf.harness import baseline as baselines
from perf.harness.errors import Refusal
from perf.harness.promote import promote
from perf.harness.records import Baseline
from perf.harness.report.promotion import promotion_table
from perf.harness.report.selection import selection_table, stored_lines
from perf.harness.runs import read_run
from perf.harness.selection_records import PromotedSetting, Selection
from perf.harness.stored_selection import StoredSelection, judge
from perf.harness.suite import Suite
from tests import fake_selection
from tests.harness import makers
from tests.harness.selections import made, selection

SUITE = Suite(Path(), (), Path(), selection={"default": {}, "dropout": {}})
GROUPS = ("default", "dropout")
CASES = [makers.result(0.01)]


def promoted(table: Selection, *, suite: str = "built-in") -> dict[str, PromotedSetting]:
    return {one: PromotedSetting(table.only([one]), suite, makers.START, "first") for one in table.groups}


def baseline(selection: dict[str, PromotedSetting]) -> Baseline:
    return Baseline("base.json", makers.machine(), makers.baseline_of(makers.run(CASES)).cases, selection)


def judged(table: Selection | None, before: dict[str, PromotedSetting], *, narrowed: bool = False) -> StoredSelection:
    return judge(table, "", table.groups if table else (), narrowed, SUITE, baseline(before))


def test_settings_promoted_under_other_versions_are_each_compared_with_their_own():
    before = {
        **promoted(selection("3.3.3").only(["default"])),
        **promoted(selection("3.4.1").only(["dropout"])),
    }
    found = judged(selection("3.5.0", default_layer="loop", dropout_layer="loop"), before)
    assert [one.before.versions["keras"] for one in found.comparisons] == ["3.3.3", "3.4.1"]
    assert found.red["kernel[default]"].startswith("Keras's defaults, inference and training: cudnn under keras 3.3.3")
    assert found.red["kernel[dropout]"].startswith("dropout=0.2, inference and training: cudnn under keras 3.4.1")
    assert found.reasons_not_green() == ()


def test_without_a_baseline_nothing_is_judged():
    found = judge(selection(), "", GROUPS, False, SUITE, None)
    assert (found.comparisons, found.new, found.reasons_not_green()) == ((), (), ())
    assert stored_lines(found, None) == [selection_table(selection())]


def test_settings_without_a_baseline_are_named_with_the_command():
    found = judged(selection(), promoted(selection().only(["default"])))
    assert found.new == ("dropout",)
    assert found.reasons_not_green() == (
        "1 setting is without a baseline in the table of kernels (new): kernel[dropout].",
    )
    (text,) = stored_lines(found, "0004_night")
    assert "new: kernel[dropout] has no baseline" in text
    assert "python -m perf promote 0004_night -k kernel --reason TEXT" in text
    assert "(6 compared)" in text


@pytest.mark.parametrize(("narrowed", "missing"), [(False, ("dropout",)), (True, ())])
def test_a_setting_that_was_not_collected_is_missing_unless_the_user_left_it_out(narrowed, missing):
    found = judged(selection().only(["default"]), promoted(selection()), narrowed=narrowed)
    assert found.missing == missing
    assert bool(found.reasons_not_green()) is not narrowed


def test_a_setting_of_another_suite_is_not_missing():
    found = judged(selection().only(["default"]), promoted(selection(), suite="mine.toml"), narrowed=False)
    assert found.missing == ()
    assert found.without_test == ("dropout",)


def test_a_table_that_could_not_be_made_is_neither_new_nor_missing():
    found = judge(None, "the worker crashed", GROUPS, False, SUITE, baseline(promoted(selection())))
    assert (found.new, found.missing, found.reasons_not_green()) == ((), (), ())
    assert stored_lines(found, None) == []
    with pytest.raises(AssertionError, match="the worker crashed"):
        found.selected("default", _fail).check()


def _fail(message: str):
    raise AssertionError(message)


# Files


def test_run_and_baseline_keep_the_table(tmp_path):
    run = makers.run(CASES, selection=selection(dropout_layer="mixed: cudnn 1, loop 1"))
    read = read_run(makers.store(tmp_path, run))
    assert read.selection == run.selection
    promotion = promote([read], None, reason="r", now=makers.START)
    baselines.write(tmp_path / "base.json", promotion.baseline)
    again = baselines.read(tmp_path / "base.json").selection
    assert again == promotion.baseline.selection
    assert list(again) == ["default", "dropout"]
    assert again["dropout"].selection == run.selection.only(["dropout"])


# Promotion


def run(number: int, **changes):
    return makers.run(CASES, number, **{"selection": selection(), **changes})


def test_runs_that_agree_are_promoted_and_parts_touch_only_their_settings():
    first = promote([run(1), run(2)], None, reason=" quiet ", now=makers.START)
    assert first.settings == GROUPS
    assert first.baseline.selection["dropout"].reason == "quiet"
    other = run(3, selection=selection("9.9.9", dropout_layer="loop", default_layer="loop"))
    second = promote([other], first.baseline, select="kernel and dropout", reason="r", now=makers.START)
    assert (second.promoted, second.settings) == ((), ("dropout",))
    assert second.baseline.selection["default"] == first.baseline.selection["default"]
    assert second.baseline.selection["dropout"].selection == other.selection.only(["dropout"])
    assert second.baseline.cases == first.baseline.cases
    text = promotion_table(second, first.baseline)
    assert text.startswith("kernels that Keras would pick on a GPU host, 1 setting (1 replaced): dropout")
    assert "1 promoted, 2 as they were" in text


LEFT_OUT = [
    ({"selection": None}, "absent from run 0002_night"),
    ({"selection": selection().only(["default"])}, "absent from run 0002_night"),
    ({"selection": selection(dropout_layer="loop")}, "not the same in runs 0001_night and 0002_night"),
    ({"red": {"kernel[dropout]": "lost"}}, "red in run 0002_night"),
]


@pytest.mark.parametrize(("changes", "why"), LEFT_OUT, ids=["no table", "another part", "other kernels", "red"])
def test_what_is_no_basis_is_left_out_and_named(changes, why):
    promotion = promote([run(1), run(2, **changes)], None, reason="r", now=makers.START)
    assert "dropout" not in promotion.settings
    assert promotion.left_out["kernel[dropout]"].startswith(why)
    assert "left out, " in promotion_table(promotion, None)


def test_runs_without_a_table_leave_the_baselines_as_it_is():
    old = baseline(promoted(selection()))
    assert promote([run(1, selection=None)], old, reason="r", now=makers.START).baseline.selection == old.selection


def test_a_table_alone_makes_no_baseline():
    with pytest.raises(Refusal, match="a table of kernels alone makes none"):
        promote([run(1)], None, select="kernel", reason="r", now=makers.START)


def test_only_red_settings_promote_nothing():
    red = run(1, red={"kernel[dropout]": "lost"})
    with pytest.raises(Refusal, match=r"No setting of run 0001_night can be promoted.*kernel\[dropout\]: red"):
        promote([red], baseline({}), select="kernel[dropout]", reason="r", now=makers.START)


# The table


def test_settings_that_are_alike_stand_together_and_lines_are_short():
    rows = [
        {**row, "row": f"workload:{number}/model", "setting": f"workload number-{number}", "place": "whole model"}
        for number in range(12)
        for row in fake_selection.rows({})[:2]
    ]
    text = selection_table(made([*fake_selection.rows({"dropout/layer": "loop"}), *rows]))
    assert text.count("whole model") == 1
    assert all(f"number-{number}" in text for number in range(12))
    assert max(map(len, text.splitlines())) <= 120
    assert "Keras's defaults" in text
    assert "bare layer" in text
