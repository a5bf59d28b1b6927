"""What a change of a kernel means, and how it is said."""

from __future__ import annotations

import shutil
from typing import Any, NoReturn

import pytest

from perf.harness.report.selection import comparison_lines, selection_table
from perf.harness.selection_records import Selection
from perf.harness.selection_verdict import Selected, SelectionComparison, compare
from tests.fake_suite import CHECKOUT
from tests.harness.selections import selection, with_fields

OLD = selection("3.3.3", dropout_layer="loop", dropout_bidirectional="2x loop")
NEW = selection("3.4.1")


def kinds(comparison: SelectionComparison) -> set[str]:
    names = ("lost", "gained", "changed", "resolved", "noted", "not_comparable", "missing", "new")
    return {name for name in names if getattr(comparison, name)}


def test_losing_cudnn_is_red_and_names_setting_modes_and_versions():
    found = compare(NEW, OLD)
    assert kinds(found) == {"lost"}
    assert found.is_red
    assert found.reasons() == (
        "dropout=0.2, inference and training: cudnn under keras 3.4.1, loop under keras 3.3.3 (everywhere, 2 places)",
    )
    assert found.reasons("dropout") == found.reasons()
    assert found.reasons("default") == ()


def test_the_other_way_round_it_is_gained():
    found = compare(OLD, NEW)
    assert kinds(found) == {"gained"}
    assert not found.is_red
    assert found.reasons() == ()
    assert comparison_lines(found) == (
        "gained: dropout=0.2, inference and training: loop under keras 3.3.3, cudnn under keras 3.4.1 "
        "(everywhere, 2 places)"
    )


def test_nothing_changed():
    found = compare(NEW, NEW)
    assert kinds(found) == set()
    assert not found.is_red
    assert comparison_lines(found) == "No kernel that Keras would pick on a GPU host changed (10 compared)."


@pytest.mark.parametrize(
    ("then", "now", "kind", "red"),
    [
        ("cudnn", "loop", "lost", True),
        ("cudnn", "unrolled", "lost", True),
        ("cudnn", "mixed: cudnn 1, loop 1", "lost", True),
        ("cudnn", "unknown", "lost", True),
        ("cudnn", "fails", "lost", True),
        ("loop", "cudnn", "gained", False),
        ("mixed: cudnn 1, loop 1", "cudnn", "gained", False),
        ("fails", "loop", "gained", False),
        ("fails", "cudnn", "gained", False),
        ("loop", "unrolled", "changed", True),
        ("unrolled", "loop", "changed", True),
        ("loop", "mixed: cudnn 1, loop 1", "changed", True),
        ("loop", "fails", "changed", True),
        ("cudnn", "not comparable", "not_comparable", False),
        ("not comparable", "loop", "not_comparable", False),
        ("not comparable", "fails", "not_comparable", False),
    ],
)
def test_every_kind_of_change(then, now, kind, red):
    found = compare(selection(dropout_layer=then), selection(dropout_layer=now))
    assert kinds(found) == {kind}
    assert {change.row for change in getattr(found, kind)} == {"dropout/layer"}
    assert found.is_red is red
    assert bool(found.reasons("dropout")) is red


def test_the_same_word_on_both_sides_is_no_change():
    for kernel in ("fails", "not comparable", "2x loop"):
        one = selection(dropout_layer=kernel)
        assert kinds(compare(one, one)) == set()


def test_one_mode_alone_is_named_alone():
    found = compare(NEW, with_fields(NEW, "dropout/layer", "training", {"kernel": "loop"}))
    assert found.reasons() == (
        "dropout=0.2, training: cudnn before, loop now, both under tensorflow 2.17.1, keras 3.4.1 (bare layer)",
    )


def test_changes_that_places_do_not_share_are_told_apart():
    now = selection("3.3.3", dropout_layer="loop", default_saved="loop", default_bidirectional="2x loop")
    assert compare(NEW, now).reasons() == (
        "Keras's defaults, inference and training: cudnn under keras 3.4.1, loop under keras 3.3.3 "
        "(in Bidirectional; after saving and loading)",
        "dropout=0.2, inference and training: cudnn under keras 3.4.1, loop under keras 3.3.3 (bare layer)",
    )


def test_all_named_versions_that_differ_are_named_and_else_the_others():
    other = selection("3.3.3", "2.16.2", dropout_layer="loop")
    (said,) = compare(NEW, other).reasons()
    assert "cudnn under tensorflow 2.17.1, keras 3.4.1, loop under tensorflow 2.16.2, keras 3.3.3" in said
    python = type(NEW)(selection(dropout_layer="loop").rows, {**NEW.versions, "python": "3.12.1"})
    (said,) = compare(NEW, python).reasons()
    assert "cudnn under python 3.11.2, loop under python 3.12.1" in said


def test_resolved_jit_and_notes_inform():
    now = with_fields(NEW, "dropout/layer", "training", {"jit": "True"})
    now = with_fields(now, "default/saved", "inference", {"note": "refused at run time"})
    found = compare(NEW, now)
    assert kinds(found) == {"resolved", "noted"}
    assert not found.is_red
    now = "now, both under tensorflow 2.17.1, keras 3.4.1"
    assert comparison_lines(found).splitlines() == [
        f"differs, for information: dropout=0.2, training: jit_compile='auto' is False before, True {now} (bare layer)",
        f"differs, for information: Keras's defaults, inference: nothing before, refused at run time {now} "
        "(after saving and loading)",
    ]


def test_a_lost_kernel_is_told_once_though_jit_changed_too():
    now = with_fields(NEW, "dropout/layer", "training", {"kernel": "loop", "jit": "True"})
    assert kinds(compare(NEW, now)) == {"lost"}


def explained(kernel: str, note: str) -> Selection:
    now = selection("3.0.5", dropout_layer=kernel)
    for mode in ("inference", "training"):
        now = with_fields(now, "dropout/layer", mode, {"note": note})
    return now


def test_the_reason_why_a_row_fails_is_told():
    assert compare(NEW, explained("fails", "TypeError: no")).reasons() == (
        "dropout=0.2, inference and training: cudnn under keras 3.4.1, fails (TypeError: no) under keras 3.0.5 "
        "(bare layer)",
    )


def test_a_kernel_that_stood_there_by_a_fault_is_told_with_the_fault():
    said = compare(explained("cudnn", "the layer has 'auto'"), OLD).reasons()
    assert "cudnn (the layer has 'auto') under keras 3.0.5, loop under keras 3.3.3 (bare layer)" in said[0]


def test_why_a_row_is_not_compared_is_told_whichever_side_it_is():
    unknown = explained("not comparable", "knows no use_cudnn")
    for found in (compare(NEW, unknown), compare(unknown, NEW)):
        assert comparison_lines(found) == (
            "not comparable: dropout=0.2, inference and training: knows no use_cudnn (bare layer)"
        )


def test_rows_of_one_table_only_are_listed():
    found = compare(selection(relu_layer="loop"), selection(gelu_layer="loop", default_saved=None))
    assert (found.missing, found.new) == (("default/saved", "relu/layer"), ("gelu/layer",))
    assert not found.is_red
    lines = comparison_lines(found).splitlines()
    assert [line.split(" ")[:2] for line in lines] == [
        ["missing:", "default/saved"],
        ["missing:", "relu/layer"],
        ["new:", "gelu/layer"],
    ]


def test_the_table_joins_places_with_one_answer():
    one = selection(dropout_layer="loop", dropout_saved="loop", default_layer="loop", default_saved="loop")
    one = with_fields(one, "dropout/layer", "inference", {"note": "a note"})
    lines = selection_table(one).splitlines()
    assert lines[0].startswith("Kernel that Keras would pick on a GPU host (tensorflow 2.17.1, keras 3.4.1;")
    assert [line.split() for line in lines[3:]] == [
        ["Keras's", "defaults", "loop", "False", *["bare", "layer;", "after", "saving", "and", "loading"]],
        ["cudnn", "False", "in", "Bidirectional"],
        ["dropout=0.2", "loop", "False", *["bare", "layer:", "a", "note"]],
        ["cudnn", "False", "in", "Bidirectional"],
        ["loop", "False", *["after", "saving", "and", "loading"]],
    ]
    training = with_fields(NEW, "dropout/layer", "training", {"kernel": "loop"})
    assert "inference cudnn" in selection_table(training)
    assert "everywhere (3)" in selection_table(selection())
    assert max(map(len, selection_table(one).splitlines())) <= 120


class Failed(Exception):
    pass


def fail(message: str) -> NoReturn:
    raise Failed(message)


def test_a_setting_that_changed_fails_and_says_all():
    with pytest.raises(Failed, match=r"^dropout=0.2, inference and training: cudnn under keras 3.4.1, loop") as caught:
        Selected("dropout", OLD, compare(NEW, OLD), fail).check()
    assert "Stay with the version that has cuDNN" in str(caught.value)


@pytest.mark.parametrize(
    "selected",
    [
        Selected("default", OLD, compare(NEW, OLD), fail),
        Selected("dropout", NEW, compare(OLD, NEW), fail),
        Selected("dropout", NEW, None, fail),
    ],
)
def test_a_setting_that_holds_passes(selected):
    selected.check()


@pytest.mark.parametrize(
    ("selected", "said"),
    [
        (Selected("dropout", None, None, fail, "The worker was killed."), "The worker was killed."),
        (Selected("gelu", NEW, None, fail), "no row for 'gelu'"),
    ],
)
def test_a_table_that_is_not_there_fails(selected, said):
    with pytest.raises(Failed, match=said):
        selected.check()


FIXTURE = """
import pytest
from perf.harness.selection_records import Selection
from perf.harness.selection_verdict import Selected, compare
from tests.harness.test_selection_verdict import NEW, OLD

def pytest_generate_tests(metafunc):
    metafunc.parametrize("selected", ["default", "dropout"], indirect=True)

@pytest.fixture
def selected(request):
    return Selected(request.param, OLD, compare(NEW, OLD), lambda message: pytest.fail(message, pytrace=False))
"""


def test_the_failing_test_names_the_setting(pytester: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))
    pytester.makeconftest(FIXTURE)
    shutil.copy(CHECKOUT / "perf" / "test_kernel_selection.py", pytester.path)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:benchmark", "-v")
    result.assert_outcomes(passed=1, failed=1)
    message = "dropout=0.2, inference and training: cudnn under keras 3.4.1, loop under keras 3.3.3 (everywhere*"
    passed, failed = (
        f"*test_kernel_selection.py::test_kernel?{name}" for name in ("default? PASSED*", "dropout? FAIL*")
    )
    result.stdout.fnmatch_lines([passed, failed, message])
