"""What an account needs survives a run's file, and damage is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perf.harness.entry import Entry
from perf.harness.errors import Refusal
from perf.harness.why import store
from perf.harness.why.records import Evidence, Peak, Transfer
from tests.harness.why.makers import subject, who

EVIDENCE = Evidence(
    {"a": subject(who(), 1), "b": subject(who("cudnn", "gpu"), 32, flops=1e6, bytes_=80.0)},
    (Peak(1, "cpu", {"float32": 1e11}, None), Peak(1, "gpu", {"float32": 1e13}, Transfer(0.0, 1e-4))),
    {"cpu": (5.0, 6.0)},
)


def entry(plain: Any) -> Entry:
    return Entry(plain, Path("run.json"))


def test_it_comes_back_as_it_was() -> None:
    assert store.decode(entry({store.BLOCK: store.encode(EVIDENCE)})) == EVIDENCE


def test_an_older_file_has_none() -> None:
    assert store.decode(entry({})) == Evidence()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("subjects", "a", "batch"), 0),
        (("subjects", "a", "flops_per_sample"), -1),
        (("subjects", "a", "extra"), 1),
        (("peaks", 0, "flops_per_second", "float32"), 0),
        (("peaks", 1, "transfer", "seconds_per_mib"), "1"),
        (("startup_seconds", "cpu"), [0]),
        (("other",), 1),
    ],
)
def test_damage_is_refused(path: tuple[Any, ...], value: Any) -> None:
    plain = store.encode(EVIDENCE)
    place: Any = plain
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(Refusal, match="why"):
        store.decode(entry({store.BLOCK: plain}))
