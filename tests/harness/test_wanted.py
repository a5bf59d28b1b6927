"""What an environment is made of besides what was named, and what is held."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from perf.harness.wanted import hold_most, wanted

HELD = {"tensorflow-cpu": "2.21.0", "keras": "3.15.1", "numpy": "2.4.6", "Rich": "15.0", "lstm-perf": "0.1.0"}
CUDA = {"tensorflow": "2.21.0", "nvidia-cudnn-cu12": "9.3", "keras": "3.15.1", "numpy": "2.4.6"}


@pytest.mark.parametrize(
    ("named", "held", "unnamed"),
    [
        ({"keras": "keras==3.3.3"}, HELD, ("tensorflow-cpu", "numpy")),
        ({"tensorflow": "tensorflow==2.20.0"}, HELD, ("keras", "numpy")),
        ({}, HELD, ("tensorflow-cpu", "keras", "numpy")),
        ({"tf-nightly": "tf-nightly"}, HELD, ("keras", "numpy")),
        ({"keras": "keras==3.3.3"}, CUDA, ("tensorflow", "tensorflow[and-cuda]", "numpy")),
        ({"tensorflow": "tensorflow==2.20.0"}, CUDA, ("tensorflow[and-cuda]", "keras", "numpy")),
        ({"tensorflow-cpu": "tensorflow-cpu==2.20.0"}, CUDA, ("keras", "numpy")),
    ],
)
def test_a_worker_gets_tensorflow_keras_and_numpy(
    named: dict[str, str], held: dict[str, str], unnamed: tuple[str, ...]
) -> None:
    assert wanted(named, held, legacy_keras=False).unnamed == unnamed


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ({"tensorflow": "tensorflow==2.17.1"}, "tf-keras==2.17.*"),
        ({"keras": "keras==3.3.3"}, "tf-keras==2.21.*"),
        ({"tensorflow": "tensorflow"}, "tf-keras"),
    ],
)
def test_keras_2_comes_with_the_tensorflow_of_its_number(named: dict[str, str], expected: str) -> None:
    assert wanted(named, HELD, legacy_keras=True).unnamed[-1] == expected


def test_keras_2_that_is_named_is_taken_as_named() -> None:
    assert "tf-keras" not in " ".join(wanted({"tf-keras": "tf-keras==2.17.0"}, HELD, legacy_keras=True).unnamed)


def test_what_is_not_named_is_held_the_important_first() -> None:
    assert list(wanted({"keras": "keras==3.3.3"}, HELD, False).holds.values()) == [
        "tensorflow-cpu==2.21.0",
        "numpy==2.4.6",
        "rich==15.0",
    ]


@pytest.mark.parametrize(
    ("version", "holds"),
    [
        ("3.12.0 @ git+https://x/keras@abc", {"keras": "keras @ git+https://x/keras@abc"}),
        ("3.12.0 (from a local path)", {}),
        ("not a version", {}),
    ],
)
def test_what_came_from_no_index_is_held_where_its_origin_is_known(version: str, holds: dict[str, str]) -> None:
    assert wanted({}, {"keras": version}, False).holds == holds


@pytest.mark.parametrize(
    ("named", "without"),
    [
        ({"tensorflow-cpu": "tensorflow-cpu==2.17.1"}, ("tensorflow",)),
        ({"keras": "keras==3.3.3"}, ("tensorflow",)),
        ({"tensorflow": "tensorflow==2.17.1"}, ()),
    ],
)
def test_nothing_pulls_in_a_second_tensorflow(named: dict[str, str], without: tuple[str, ...]) -> None:
    assert wanted(named, HELD, False).without == without


@pytest.mark.parametrize("seed", range(30))
def test_as_many_as_possible_are_held(seed: int) -> None:
    """Whatever cannot go together: what was kept goes together, and nothing that was let go could have stayed."""
    draw = random.Random(seed)
    names = [f"p{number}" for number in range(draw.randrange(1, 40))]
    conflicts = [set(draw.sample(names, min(len(names), draw.choice([1, 2, 3])))) for _ in range(draw.randrange(1, 5))]
    asked = 0

    def solvable(group: Sequence[str]) -> bool:
        nonlocal asked
        asked += 1
        return not any(conflict <= set(group) for conflict in conflicts)

    kept = hold_most(names, solvable)
    assert solvable(kept)
    assert all(not solvable([*kept, name]) for name in names if name not in kept)
    # The first of the names that conflict is kept: the important ones stay.
    assert all(not solvable([*(k for k in kept if names.index(k) < names.index(name)), name])
               for name in names if name not in kept)  # fmt: skip


def test_all_are_held_where_all_go_together() -> None:
    assert hold_most(["a", "b", "c"], lambda names: True) == ("a", "b", "c")


def test_one_conflict_among_many_costs_few_questions() -> None:
    names = [f"p{number}" for number in range(64)]
    asked: list[int] = []

    def solvable(group: Sequence[str]) -> bool:
        asked.append(len(group))
        return "p40" not in group

    assert len(hold_most(names, solvable)) == 63
    assert len(asked) <= 14
