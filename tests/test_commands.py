"""What the documents tell people to type is what the programs take."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import ROOT, commands, fault, parsers

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture(scope="module")
def config() -> pytest.Config:
    return parsers()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_names_only_commands_that_exist(document: Path, config: pytest.Config) -> None:
    faults = {" ".join(words): fault(words, config) for words in commands(document.read_text())}
    assert {command: said for command, said in faults.items() if said} == {}


def test_commands_are_found_wherever_a_document_has_them() -> None:
    text = (
        "Run `pytest perf --perf-budget\n20m`, not `pytest` or `perf/cases.py`.\n\n"
        "```\n$ pytest perf -k test_kernel --perf-against 'keras==3.4.1' \\\n      --perf-device cpu\n"
        "python -m pip install tox && tox -e perf      # all of it\n"
        "python -m lstm_models list      the workloads\nLSTM_PERF_SLOWDOWN=3 pytest perf\nit's output\n```\n"
        "```python\npytest perf --not-shell\n```\n"
    )
    assert list(commands(text)) == [
        ["pytest", "perf", "-k", "test_kernel", "--perf-against", "keras==3.4.1", "--perf-device", "cpu"],
        ["tox", "-e", "perf"],
        ["python", "-m", "lstm_models", "list"],
        ["pytest", "perf"],
        ["pytest", "perf", "--perf-budget", "20m"],
    ]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["pytest", "perf", "--perf-turbo"], "nobody knows ['--perf-turbo']"),
        (["pytest", "perf", "--perf-profile", "weekly"], "weekly"),
        (["pytest", "perf", "--perf-against", "keras==3", "--benchmark-compare"], "two gates"),
        (["pytest", "perf", "--perf-against=-r no-such-file.txt"], "no-such-file.txt"),
        (["tox", "-e", "gqu"], "no environment 'gqu'"),
        (["tox", "-e", "gpu", "--", "--perf-turbo"], "nobody knows"),
        ([".ci/gate", "gpu", "--perf-turbo"], "nobody knows"),
        (["python", "-m", "perf", "promote", "1"], "ends with 4"),
        (["python", "-m", "lstm_models", "explian", "x"], "ends with 2"),
    ],
)
def test_what_would_be_refused_is_seen(command: list[str], said: str, config: pytest.Config) -> None:
    assert said in fault(command, config)
