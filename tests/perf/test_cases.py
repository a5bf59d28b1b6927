"""The profiles: how many cases, which, and that each is one thing under one name."""

from __future__ import annotations

from pathlib import Path

import pytest

from lstm_models import workloads
from lstm_models.case import Case
from perf.cases import suite
from perf.harness.errors import Refusal
from perf.harness.suite import PROFILES, SuiteRequest

HOSTS = (("cpu",), ("gpu",), ("cpu", "gpu"))


@pytest.mark.parametrize("devices", HOSTS, ids="+".join)
def test_smoke_is_small_and_nothing_in_it_is_skipped(devices: tuple[str, ...]) -> None:
    specs = suite(SuiteRequest("smoke", devices)).specs
    assert 12 <= len(specs) <= 24
    assert [spec.key for spec in specs if spec.skip] == []
    assert {spec.path for spec in specs} == {"forward", "backward", "fit", "evaluate", "predict"}
    assert {spec.device for spec in specs} == set(devices)


@pytest.mark.parametrize("devices", HOSTS, ids="+".join)
def test_smoke_is_smaller_still_where_two_sides_are_measured(devices: tuple[str, ...]) -> None:
    specs = suite(SuiteRequest("smoke", devices, paired=True)).specs
    assert 8 <= len(specs) <= 12
    assert {spec.device for spec in specs} == set(devices)
    whole = {spec.key for spec in suite(SuiteRequest("nightly", devices)).specs}
    assert {spec.key for spec in specs} <= whole


@pytest.mark.parametrize("devices", HOSTS, ids="+".join)
def test_profiles_hold_each_other_and_name_each_case_once(devices: tuple[str, ...]) -> None:
    keys: dict[str, set[str]] = {}
    for profile in PROFILES:
        found = suite(SuiteRequest(profile, devices))
        keys[profile] = {spec.key for spec in found.specs}
        assert len(keys[profile]) == len(found.specs)
    assert keys["smoke"] <= keys["nightly"] <= keys["full"]


def test_hashes_tell_cases_apart_and_ids_lead_back_to_them() -> None:
    specs = suite(SuiteRequest("full", ("cpu", "gpu"))).specs
    assert len({spec.hash for spec in specs}) == len(specs)
    available = workloads.builtin()
    for spec in specs:
        case = Case.parse(f"perf/test_layer.py::test_{spec.path}[{spec.id}]", available)
        assert case.key == spec.key
        assert case.hash == spec.hash
        assert Case.from_plain(spec.payload).hash == spec.hash


def test_full_says_why_a_case_cannot_exist() -> None:
    specs = suite(SuiteRequest("full", ("cpu",))).specs
    skipped = {spec.key: spec.skip for spec in specs if spec.skip}
    assert "cuDNN runs on NVIDIA GPUs only" in str(skipped["forward[translation-b1-cpu-cudnn-float32]"])


def test_own_workloads_replace_the_built_in_ones(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        "[workload.mine]\nsource = 'production'\nfeatures = 3\nunits = 8\ntimesteps = 5\nbatch_sizes = [1, 4]\n"
    )
    for profile in PROFILES:
        specs = suite(SuiteRequest(profile, ("cpu",), file)).specs
        assert {spec.workload for spec in specs} == {"mine"}
        assert {spec.batch for spec in specs} == {1, 4}


def test_a_bad_workload_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[workload.mine]\nunitz = 8\n")
    with pytest.raises(Refusal, match="unitz"):
        suite(SuiteRequest("smoke", ("cpu",), file))
    with pytest.raises(Refusal, match=r"nowhere\.toml"):
        suite(SuiteRequest("smoke", ("cpu",), tmp_path / "nowhere.toml"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "forward",
        "forward[translation]",
        "forward[translation-b0-cpu-loop-float32]",
        "x[translation-b1-cpu-loop-float32]",
    ],
)
def test_text_that_is_no_case_says_what_one_looks_like(text: str) -> None:
    with pytest.raises(ValueError, match=r"forward\[translation-b32-cpu-loop-float32\]"):
        Case.parse(text, workloads.builtin())


def test_every_suite_names_the_settings_whose_kernels_are_traced() -> None:
    selection = suite(SuiteRequest("smoke", ("cpu",))).selection
    assert list(selection)[:2] == ["default", "dropout"]
    assert list(selection)[-1] == "workload:layer-128-dropout"
    assert selection["default"] == {}
    assert selection["workload:chatbot"]["kind"] == "encoder-decoder"
