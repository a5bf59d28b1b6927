"""Stored values come back as they were, and a damaged one is refused with its file and entry."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perf.harness.codec import (
    decode_environment,
    decode_machine,
    decode_result,
    encode_environment,
    encode_machine,
    encode_result,
)
from perf.harness.conditions import Conditions, Counter, Energy
from perf.harness.entry import Entry, read_json
from perf.harness.errors import Refusal
from perf.harness.storing import dump, plain, write_whole
from tests.harness import makers

FILE = Path("somewhere/0003_night.json")
CONDITIONS = Conditions(
    blocks_void=("the GPU was throttled",),
    notes=("software power cap",),
    energy=(Energy(Counter.GPU, 123.5, 1.25, 60), Energy(Counter.CPU, 7.0, 1.25, 60)),
    sm_clock_mhz_lowest=1410,
    sm_clock_mhz_highest=1980,
    celsius_highest=61,
    watts_highest=312.5,
)


def _stored(value: Any) -> Entry:
    return Entry(json.loads(dump(value)), FILE)


@pytest.mark.parametrize(
    "result",
    [
        makers.result([0.01, 0.02, 0.03]),
        makers.result(0.5, seconds_per_call=(0.1, 0.2), bytes_peak=None, steady=False),
        makers.failed(),
        makers.result(1.0, device_bytes_peak=7, conditions=CONDITIONS),
        makers.result(1.0, conditions=Conditions()),
        makers.result(1.0, facts=makers.facts(gradient_error=2e-7, output_error=None, probe=())),
    ],
)
def test_results_come_back(result):
    assert decode_result(_stored(encode_result(result))) == result


def test_samples_of_form_2_have_no_conditions():
    old = encode_result(makers.result(1.0))
    old["schema"] = 2
    for sample in old["samples"]:
        del sample["device_bytes_peak"], sample["conditions"]
    assert decode_result(_stored(old)) == makers.result(1.0)


@pytest.mark.parametrize(
    ("path", "wrong", "named"),
    [
        (("celsius_highest",), "hot", "celsius_highest"),
        (("energy", "gpu", "seconds"), 0, "seconds"),
        (("energy", "gpu", "joules"), None, "joules"),
        (("energy", "sun"), {"joules": 1.0, "seconds": 1.0, "rounds": 1}, "energy.sun"),
        (("blocks_void",), 3, "blocks_void"),
        (("weather",), "fair", "weather"),
    ],
)
def test_wrong_conditions_are_refused_with_their_entry(path, wrong, named):
    encoded = encode_result(makers.result(1.0, conditions=CONDITIONS))
    target = encoded["samples"][0]["conditions"]
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = wrong
    with pytest.raises(Refusal, match=named):
        decode_result(_stored(encoded))


def test_machine_and_environment_come_back():
    assert decode_machine(_stored(encode_machine(makers.machine()))) == makers.machine()
    environment = makers.environment(TF_ENABLE_ONEDNN_OPTS="0")
    assert decode_environment(_stored(encode_environment(environment))) == environment


def test_a_time_comes_back_to_the_last_digit():
    """What a session judges is what its file holds: digits are taken off where a number is measured, never here."""
    result = makers.result(1.0, seconds_per_round=(0.1234567890123,), first_call_seconds=1.234567890123)
    assert decode_result(_stored(encode_result(result))) == result


SAMPLE_FAULTS = [
    (("samples", 0, "seconds_per_round", 1), 0, "samples[0].seconds_per_round[1]"),
    (("samples", 0, "seconds_per_round", 1), -0.1, "above 0"),
    (("samples", 0, "seconds_per_round", 1), "0.1", "'0.1'"),
    (("samples", 0, "seconds_per_round", 1), True, "a finite number"),
    (("samples", 0, "seconds_per_round", 1), None, "a finite number"),
    (("samples", 0, "seconds_per_round"), [], "at least 1"),
    (("samples", 0, "first_call_seconds"), float("inf"), "first_call_seconds"),
    (("samples", 0, "calls_per_round"), 0, "calls_per_round"),
    (("samples", 0, "calls_per_round"), 1.5, "whole number"),
    (("samples", 0, "bytes_peak"), -1, "bytes_peak"),
    (("samples", 0, "steady"), 1, "true or false"),
    (("samples", 0, "facts", "probe", 0), float("nan"), "facts.probe[0]"),
    (("samples", 0, "facts", "kernel"), None, "facts.kernel"),
    (("samples", 0, "facts", "more"), 1, "facts.more"),
    (("samples",), [], "at least 1"),
    (("spec", "batch"), "32", "spec.batch"),
    (("schema",), 99, "form 99"),
    (("schema",), 0, "schema"),
]


@pytest.mark.parametrize(("path", "value", "named"), SAMPLE_FAULTS)
def test_a_wrong_value_is_refused_with_its_entry(path, value, named):
    stored = json.loads(dump(encode_result(makers.result(0.01))))
    place = stored
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(Refusal) as refused:
        decode_result(Entry(stored, FILE))
    assert named in str(refused.value)
    assert str(FILE) in str(refused.value)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every key of every object in ``value``."""
    if isinstance(value, dict):
        return [p for key, item in value.items() for p in ((*path, key), *_places(item, (*path, key)))]
    if isinstance(value, list):
        return [p for index, item in enumerate(value) for p in _places(item, (*path, index))]
    return []


def test_every_key_is_needed():
    whole = json.loads(dump(encode_result(makers.result(0.01, facts=makers.facts(resolved={})))))
    places = _places(whole)
    assert len(places) > 30
    for path in places:
        stored = json.loads(json.dumps(whole))
        place = stored
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]
        with pytest.raises(Refusal, match=f"{path[-1]} is missing"):
            decode_result(Entry(stored, FILE))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        ('{"a": [1, 2', "cut short"),
        ("hello", "not valid JSON"),
        ('{"a": NaN}', "NaN is not a number"),
        ('{"a": [Infinity]}', "Infinity is not a number"),
        ('{"a": -Infinity}', "-Infinity"),
        ('{"a": 1e999}', "larger than any number"),
        ('{"a": 1, "a": 2}', "'a' stands twice"),
    ],
)
def test_what_is_no_strict_json_is_refused(tmp_path, text, why):
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(Refusal, match=why) as refused:
        read_json(path)
    assert str(path) in str(refused.value)


def test_a_file_that_is_not_there_or_not_text(tmp_path):
    with pytest.raises(Refusal, match="no such file"):
        read_json(tmp_path / "none.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Refusal, match=r"binary\.json: cannot be read"):
        read_json(tmp_path / "binary.json")


class Colour(Enum):
    RED = "red"


def test_plain_makes_json_of_what_others_store():
    value = {
        "decimal": Decimal("0.5"),
        "path": Path("a/b"),
        "set": {2, 1},
        "tuple": (1, None, True),
        "enum": Colour.RED,
        "numpy": np.float32(0.5),
        "nan": float("nan"),
        "other": Colour,
        3: "key",
    }
    assert json.loads(dump(plain(value))) == {
        "decimal": 0.5,
        "path": "a/b",
        "set": [1, 2],
        "tuple": [1, None, True],
        "enum": "red",
        "numpy": 0.5,
        "nan": None,
        "other": str(Colour),
        "3": "key",
    }


def test_dump_keeps_numbers_on_a_line_and_strings_as_they_are():
    value = {"rounds": [0.1, 2e-7, -3], "text": "[\n1, 2\n]", "nested": [[1], ["a"]], "empty": []}
    text = dump(value)
    assert json.loads(text) == value
    assert '"rounds": [0.1, 2e-07, -3]' in text
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump([float("nan")])


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "new" / "run.json"
    write_whole(path, {"a": 1})
    before = path.read_text()
    with pytest.raises(TypeError):
        write_whole(path, {"a": object()})

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, {"a": 2})
    assert path.read_text() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["run.json"]
