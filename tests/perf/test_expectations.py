"""The file of expectations, and what it becomes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lstm_models import workloads
from lstm_models.words import Kernel
from lstm_models.workloads import Workload
from perf import cases as suite_cases
from perf import expectation_file, expectations
from perf.expectations import Host
from perf.harness.crossover import asserted_sizes
from perf.harness.errors import Refusal
from perf.harness.expectation_records import Kind

BOTH = Host(("cpu", "gpu"), frozenset())
GOOD = {
    "kind": '"crossover"',
    "workload": '"translation"',
    "path": '"forward"',
    "first": '{ device = "gpu", kernel = "cudnn" }',
    "second": '{ kernel = "loop" }',
    "batch": "[1, 8, 64]",
    "where": '"above"',
    "at": "8",
    "ratio": "1.5",
    "reason": '"of physics"',
    "source": '"a test"',
}


def write(folder: Path, **changes: str | None) -> Path:
    """A file with one expectation, ``GOOD`` but for ``changes``; ``None`` leaves a key out."""
    keys = {name: text for name, text in {**GOOD, **changes}.items() if text is not None}
    file = folder / "own.toml"
    file.write_text("[expectation.mine]\n" + "\n".join(f"{name} = {text}" for name, text in keys.items()) + "\n")
    return file


def made(folder: Path, host: Host = BOTH, available: dict[str, Workload] | None = None, **changes: str | None):
    own = workloads.builtin() if available is None else available
    (expectation,), cases = expectations.of_suite(write(folder, **changes), own, host, own=True)
    return expectation, {case.key: case for case in cases}


def test_the_built_in_ones_are_sound() -> None:
    found, cases = expectations.of_suite(None, workloads.builtin(), BOTH, own=False)
    keys = {case.key for case in cases}
    assert len(cases) == len(keys)
    assert [each.id for each in found if each.skip] == []
    for each in found:
        assert asserted_sizes(each)  # of an observed pair all, and nothing is asserted there
        assert set(each.first.cases.values()) | set(each.second.cases.values()) <= keys
        assert each.first.label != each.second.label
        assert len(each.reason) <= 150
    assert {each.kind for each in found} == set(Kind)


def test_at_least_eight_hold_on_a_host_without_a_gpu() -> None:
    found, _ = expectations.of_suite(None, workloads.builtin(), Host(("cpu",), frozenset()), own=False)
    assert sum(each.skip is None for each in found) >= 8
    assert {each.skip for each in found} == {None, "no gpu is measured here"}


def test_a_cpu_with_the_instructions_is_promised_nothing() -> None:
    found, _ = expectations.of_suite(None, workloads.builtin(), Host(("cpu",), frozenset({"avx512_bf16"})), own=False)
    assert [each.id for each in found if each.skip == "this CPU has avx512_bf16"] == [
        "bfloat16-does-not-pay-without-instructions"
    ]


def test_a_table_becomes_an_expectation_and_its_cases(tmp_path: Path) -> None:
    found, cases = made(tmp_path)
    assert found.promise == "gpu cudnn beats cpu loop above batch 8, at least 1.5 times"
    assert found.first.cases[64] == "forward[translation-b64-gpu-cudnn-float32]"
    assert len(cases) == 6
    assert found.skip is None


def test_another_size_is_a_workload_under_a_name_that_says_so(tmp_path: Path) -> None:
    found, cases = made(tmp_path, batch="1", timesteps="[20, 40, 80]", at="40", units="64")
    assert list(found.first.cases.values()) == [
        f"forward[translation-u64{steps}-b1-gpu-cudnn-float32]" for steps in ("", "-t40", "-t80")
    ]
    workload = cases["forward[translation-u64-t80-b1-gpu-cudnn-float32]"].workload
    assert (workload.units, workload.timesteps) == (64, 80)
    own = workloads.builtin()["translation"]
    assert workload == replace(own, name="translation-u64-t80", units=64, timesteps=80)


def test_a_side_has_what_is_its_own(tmp_path: Path) -> None:
    found, cases = made(
        tmp_path,
        kind='"ordering"', where=None, at=None, batch="1",
        first='{ kernel = "unrolled", timesteps = 10, label = "short" }',
        second='{ kernel = "loop", path = "predict", batch = 4, precision = "mixed_bfloat16", variables = {A = "1"} }',
    )  # fmt: skip
    assert found.first.label == "short"
    assert found.second.label == "predict b4 mixed_bfloat16 A=1 loop"
    assert found.second.cases == {1: "predict[translation-b4-cpu-loop-mixed_bfloat16]"}
    assert found.second.variables == {"A": "1"}
    assert cases[found.first.cases[1]].kernel is Kernel.UNROLLED
    assert (found.path, found.workload) == ("forward, predict", "translation-t10, translation")


def test_sides_that_differ_in_where_their_inputs_lie_say_so(tmp_path: Path) -> None:
    found, cases = made(
        tmp_path,
        kind='"ordering"', where=None, at=None, batch="1",
        first='{ kernel = "xla" }', second='{ kernel = "xla", inputs = "host" }',
    )  # fmt: skip
    assert (found.first.label, found.second.label) == ("device inputs xla", "host inputs xla")
    assert found.second.cases == {1: "forward[translation-b1-cpu-xla-float32-host]"}
    traits = [suite_cases.work(cases[side.cases[1]]).traits for side in (found.second, found.first)]
    assert set(traits[0].items()) - set(traits[1].items()) == {("transfer", "inputs on the host")}


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        (Host(("cpu",), frozenset()), "no gpu is measured here"),
        (Host(("gpu",), frozenset()), "no cpu is measured here"),
    ],
)
def test_a_device_that_is_not_measured_skips_it(tmp_path: Path, host: Host, reason: str) -> None:
    assert made(tmp_path, host)[0].skip == reason


def test_a_case_that_cannot_exist_skips_it(tmp_path: Path) -> None:
    assert "cuDNN runs on NVIDIA GPUs only" in made(tmp_path, first='{ kernel = "cudnn" }')[0].skip


def test_without_keras_2_what_asks_for_it_is_skipped_and_says_how_to_get_it() -> None:
    without = replace(BOTH, has_keras_2=False)
    found, _ = expectations.of_suite(None, workloads.builtin(), without, own=False)
    skipped = {each.id for each in found if each.skip}
    assert skipped == {each.id for each in found if each.id.startswith("cudnn-layer-")} != set()
    assert {each.skip for each in found if each.skip} == {
        "Keras 2 is not installed here: install the extra legacy, pip install -e '.[legacy]'"
    }


def test_a_users_own_workloads_can_be_named(tmp_path: Path) -> None:
    own = {"mine": replace(workloads.builtin()["rows"], name="mine")}
    found, _ = made(tmp_path, available=own, workload='"mine"')
    assert found.workload == "mine"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"kind": '"order"'}, 'kind is one of "crossover", "ordering"'),
        ({"kind": None}, "the key kind is missing"),
        ({"first": None}, "the key first is missing"),
        ({"reason": '" "'}, "a text that is not empty"),
        ({"metric": '"speed"'}, '"time per step"'),
        ({"batch": "[8, 1]"}, "ascending"),
        ({"batch": "[]"}, "ascending"),
        ({"batch": "true"}, "ascending"),
        ({"batch": "0"}, "ascending"),
        ({"timesteps": "[10, 20]"}, "both lists"),
        ({"ratio": "0.5"}, "a number from 1"),
        ({"ratio": "nan"}, "a number from 1"),
        ({"ratio": "true"}, "a number from 1"),
        ({"at": "64"}, "reach 128 or more"),
        ({"where": '"below"', "at": "1"}, "reach 0.5 or less"),
        ({"where": None}, 'needs where = "above" or "below"'),
        ({"batch": "1"}, "a list of sizes"),
        ({"kind": '"ordering"'}, 'belong to kind = "crossover"'),
        ({"kind": '"equal"', "where": None, "at": None, "ratio": None}, "needs a ratio above 1"),
        ({"kind": '"narrowing"', "where": None, "at": None, "batch": "1"}, "needs a list of sizes"),
        ({"second": GOOD["first"]}, "the same"),
        ({"first": "3"}, "a table"),
        ({"first": "{}"}, "first: the key kernel is missing"),
        ({"first": '{ kernel = "cuda" }'}, 'kernel is one of "auto"'),
        ({"first": '{ kernel = "loop", threads = 1 }'}, "no key 'threads'"),
        ({"first": '{ kernel = "loop", batch = [1, 2] }'}, "a whole number"),
        ({"first": '{ kernel = "loop", variables = { A = 1 } }'}, "environment variables"),
        ({"first": '{ kernel = "loop", variables = { CUDA_VISIBLE_DEVICES = "0" } }'}, "which the harness sets"),
        ({"speed": "1"}, "no key 'speed'"),
        ({"unless_cpu_has": '"amx"'}, "a list of the CPU flags"),
        ({"workload": '"nothing"'}, "no workload 'nothing'"),
    ],
)
def test_what_is_wrong_is_refused_by_name(tmp_path: Path, changes: dict[str, str | None], named: str) -> None:
    with pytest.raises(Refusal) as refusal:
        made(tmp_path, **changes)
    assert named in str(refusal.value)
    assert "[expectation.mine]" in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[expectation", "not valid TOML"),
        ("", "holds [expectation.NAME] tables"),
        ("[workload.a]\nunits = 1", "found workload"),
        ("[expectation.Mine]\nkind = 1", "lower case letters"),
        ("expectation = 3", "tables"),
        ("[expectation]\nmine = 3", "write a table of keys"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str, named: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(Refusal, match=r"own\.toml") as refusal:
        expectation_file.read(file)
    assert named in str(refusal.value)


def test_a_builders_sizes_cannot_be_changed(tmp_path: Path) -> None:
    own = {"mine": Workload("mine", "", kind="builder", timesteps=4, builder="a:b")}
    with pytest.raises(Refusal, match="cannot be changed from here"):
        made(tmp_path, available=own, workload='"mine"', units="64")
