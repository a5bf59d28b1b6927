"""Margins by case."""

from __future__ import annotations

from pathlib import Path

import pytest

from perf.harness.errors import Refusal
from perf.harness.margins import load_margins

KEYS = ["forward[a-b1-cpu-loop-float32]", "predict[a-b1-cpu-loop-float32]", "predict[b-b1-cpu-xla-float32]"]


def write(folder: Path, text: str) -> Path:
    file = folder / "margins.toml"
    file.write_text(text)
    return file


def test_the_first_pattern_that_matches_counts(tmp_path: Path) -> None:
    file = write(tmp_path, '[margins]\n"predict[a-b1-cpu-loop-float32]" = 7\n"predict[*" = 12.5\n')
    assert load_margins(file, KEYS) == {KEYS[1]: 7.0, KEYS[2]: 12.5}


def test_brackets_are_no_character_class(tmp_path: Path) -> None:
    assert load_margins(write(tmp_path, '[margins]\n"predict[ab]" = 7\n'), ["predicta", "predict[ab]"]) == {
        "predict[ab]": 7
    }


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[margins", "TOML"),
        ("[margin]\n", "margin"),
        ("margins = 5\n", "margins = 5"),
        *((f'[margins]\n"a" = {value}\n', "'a'") for value in ("0", "-5", "'5'", "true", "nan", "inf", "[5]")),
    ],
)
def test_bad_margins_are_refused_naming_file_and_entry(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(Refusal, match=r"margins\.toml") as refusal:
        load_margins(write(tmp_path, text), KEYS)
    assert named in str(refusal.value)
