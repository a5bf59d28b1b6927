"""What a SPEC may say, and what is refused."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from perf.harness.errors import Refusal
from perf.harness.spec import Spec, parse
from tests.wheels import make_wheel


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([], Spec()),
        (["tensorflow==2.20.0"], Spec(requirements=("tensorflow==2.20.0",))),
        (["tensorflow == 2.20"], Spec(requirements=("tensorflow == 2.20",))),
        (["tensorflow-cpu==2.17.1 keras==3.3.3"], Spec(requirements=("tensorflow-cpu==2.17.1", "keras==3.3.3"))),
        (["tensorflow==2.17.1", "keras==3.3.3"], Spec(requirements=("tensorflow==2.17.1", "keras==3.3.3"))),
        (["tensorflow[and-cuda]>=2.18,<3"], Spec(requirements=("tensorflow[and-cuda]>=2.18,<3",))),
        (["keras==3.3; python_version < '3.12'"], Spec(requirements=("keras==3.3; python_version < '3.12'",))),
        (["keras @ file:///w/keras.whl"], Spec(requirements=("keras @ file:///w/keras.whl",))),
        (["https://x/keras-3.11.3-py3-none-any.whl"],
         Spec(requirements=("keras @ https://x/keras-3.11.3-py3-none-any.whl",))),
        (["python==3.12"], Spec(python="3.12")),
        (["python == 3.12.1"], Spec(python="3.12.1")),
        (["TF_ENABLE_ONEDNN_OPTS=0"], Spec(variables={"TF_ENABLE_ONEDNN_OPTS": "0"})),
        (["XLA_FLAGS=--xla_a=1 --xla_b=2"], Spec(variables={"XLA_FLAGS": "--xla_a=1 --xla_b=2"})),
        (["TF_X="], Spec(variables={"TF_X": ""})),
        (["keras==3.3.3 TF_X=a=b python==3.11"],
         Spec(requirements=("keras==3.3.3",), variables={"TF_X": "a=b"}, python="3.11")),
        (["'keras @ file:///w/keras.whl' TF_X=1"],
         Spec(requirements=("keras @ file:///w/keras.whl",), variables={"TF_X": "1"})),
    ],
)  # fmt: skip
def test_what_is_asked_for(tokens: list[str], expected: Spec) -> None:
    assert parse(tokens) == expected


@pytest.mark.parametrize(
    "tokens", [["-r", "needs.txt"], ["-r needs.txt"], ["-rneeds.txt"], ["--requirement=needs.txt"]]
)
def test_a_file_of_requirements(tokens: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "needs.txt").write_text("keras==3.3.3\n")
    assert parse([*tokens, "TF_X=1"]) == Spec(requirement_files=(tmp_path / "needs.txt",), variables={"TF_X": "1"})


def test_paths_of_interpreters_environments_and_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    interpreter = tmp_path / "my envs" / "tensorflow==2.20" / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.symlink_to(sys.executable)
    assert parse([str(interpreter)]) == Spec(interpreter=str(interpreter))  # the link, not what it leads to
    assert parse(["my envs/tensorflow==2.20/bin/python"]) == Spec(interpreter=str(interpreter))
    assert parse([str(interpreter.parent.parent)]) == Spec(interpreter=str(interpreter))
    wheel = make_wheel(tmp_path / "wheels", "keras", "3.11.3")
    assert parse(["./wheels/keras-3.11.3-py3-none-any.whl"]) == Spec(requirements=(f"keras @ {wheel.as_uri()}",))
    monkeypatch.setenv("PATH", str(interpreter.parent))
    assert parse(["python"]) == Spec(interpreter=str(interpreter))


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        ([""], "it is empty"),
        (["???"], "neither path, requirement nor variable"),
        (["keras ???"], "'???': it is neither path, requirement nor variable"),
        (["tensorflow=2.20.0"], "two signs: tensorflow==2.20.0"),
        (["python=3.12"], "two signs: python==3.12"),
        (["tensorflow==newest"], "not a valid requirement"),
        (["python>=3.12"], "python==X.Y"),
        (["python==3.*"], "python==X.Y"),
        (["python3.99"], "no such interpreter is on PATH"),
        (["./no/python"], "no such file"),
        (["-e ."], "only '-r FILE' is taken"),
        (["-r"], "only '-r FILE' is taken"),
        (["TF_A=1 TF_B=2"], "is 'TF_B=2' a part of the value of TF_A?"),
        (["TF_A=1 keras==3.3.3"], "is 'keras==3.3.3' a part"),
        (["TF_A=1", "TF_A=2"], "TF_A was already given the value '1'"),
        (["python==3.11", "python==3.12"], "python==3.11 was asked for already"),
        (["CUDA_VISIBLE_DEVICES=1"], "--perf-gpu"),
        (["keras==3 'x"], "quotes"),
    ],
)
def test_what_is_no_spec_is_refused_with_the_token_and_the_forms(tokens: list[str], reason: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse(tokens, "--perf-candidate")
    assert str(refused.value).startswith("--perf-candidate ")
    assert reason in str(refused.value)
    for form in ("interpreter", "tensorflow==2.20.0", "-r FILE", "python==3.12", "TF_ENABLE_ONEDNN_OPTS=0"):
        assert form in str(refused.value)


def test_paths_that_lead_nowhere_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no program")
    with pytest.raises(Refusal, match="no executable file"):
        parse([str(tmp_path / "notes.txt")])
    with pytest.raises(Refusal, match="a folder without bin/python"):
        parse([str(tmp_path)])
    with pytest.raises(Refusal, match="there is no file"):
        parse([f"-r {tmp_path / 'needs.txt'}"])


def test_a_side_has_one_interpreter() -> None:
    with pytest.raises(Refusal, match="Name one of the two"):
        parse([sys.executable, "python==3.12"])
    other = next(path for path in ("/bin/sh", "/usr/bin/env") if os.access(path, os.X_OK))
    with pytest.raises(Refusal, match="already named"):
        parse([sys.executable, other])


def test_a_spec_says_itself_again() -> None:
    tokens = ["keras==3.3.3", "python==3.11", "TF_X=1"]
    assert parse([parse(tokens).words]) == parse(tokens)
    recorded = Spec(requirements=tuple(f"p{n}==1" for n in range(67)), python="3.11.7", complete=True)
    assert recorded.words == "as recorded: Python 3.11.7 and 67 packages"
    assert Spec().words == "the environment in which pytest runs"
