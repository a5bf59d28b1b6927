"""The table of what differs between two environments."""

from __future__ import annotations

from dataclasses import replace

from perf.harness.environments_differ import differences
from perf.harness.records import Environment

SIDE = Environment(
    versions={"python": "3.11.7", "tensorflow": "2.20.0", "keras": "3.11.3", "numpy": "2.2"},
    packages={"tensorflow": "2.20.0", "keras": "3.11.3", "numpy": "2.2", "ml_dtypes": "0.5", "pip": "23"},
    settings={"onednn": "default"},
    variables={"TF_A": "1"},
    devices=("CPU:0",),
)


def test_equal_environments_do_not_differ() -> None:
    assert differences(SIDE, SIDE) == ()
    assert differences(SIDE, replace(SIDE, packages={**SIDE.packages, "pip": "24", "lstm-perf": "1"})) == ()
    renamed = {**SIDE.packages, "ml-dtypes": "0.5"}
    del renamed["ml_dtypes"]
    assert differences(SIDE, replace(SIDE, packages=renamed)) == ()


def test_every_kind_of_difference_has_its_row() -> None:
    other = Environment(
        versions={**SIDE.versions, "python": "3.12.1", "tensorflow": "2.21.0"},
        packages={"tensorflow-cpu": "2.21.0", "keras": "3.11.3", "numpy": "2.2", "ml-dtypes": "0.6", "pytest": "9"},
        settings={"onednn": "0"},
        variables={"TF_B": "2"},
        devices=("CPU:0", "GPU:0"),
    )
    assert differences(SIDE, other) == (
        ("python", "3.11.7", "3.12.1"),
        ("tensorflow", "2.20.0", "2.21.0"),
        ("package of tensorflow", "tensorflow 2.20.0", "tensorflow-cpu 2.21.0"),
        ("setting onednn", "default", "0"),
        ("variable TF_A", "1", "not set"),
        ("variable TF_B", "not set", "2"),
        ("devices", "CPU:0", "CPU:0, GPU:0"),
        ("packages of one side", "none", "pytest 9"),
        ("ml-dtypes", "0.5", "0.6"),
    )


def test_a_build_of_the_same_version_from_elsewhere_is_a_difference() -> None:
    local = replace(SIDE, packages={**SIDE.packages, "keras": "3.11.3 (from a local path)"})
    assert differences(SIDE, local) == (("keras", "3.11.3", "3.11.3 (from a local path)"),)
    # The version itself is told once.
    newer = replace(SIDE, versions={**SIDE.versions, "keras": "3.12"}, packages={**SIDE.packages, "keras": "3.12"})
    assert differences(SIDE, newer) == (("keras", "3.11.3", "3.12"),)
