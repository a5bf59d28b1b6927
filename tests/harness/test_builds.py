"""Environments from a SPEC, built by real uv from wheels written by hand: no package index is asked."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
import uv

from perf.harness.builds import BuiltSide, side_for, sides
from perf.harness.environment import Side
from perf.harness.errors import Refusal
from perf.harness.installed import installed
from perf.harness.spec import Spec, parse
from tests.wheels import make_wheel

HELD = {"tensorflow-cpu": "2.21.0", "keras": "3.15.1", "numpy": "2.4.6", "rich": "13.0", "pytest": "9"}


def build(*tokens: str, held: Mapping[str, str] = HELD, said: list[str] | None = None) -> BuiltSide:
    return side_for(parse(tokens), held, (said if said is not None else []).append)


def refused(*tokens: str) -> str:
    with pytest.raises(Refusal) as error:
        build(*tokens)
    return str(error.value)


def left_in(cache: Path) -> list[str]:
    """What lies in the cache besides its lock."""
    return sorted(path.name for path in cache.glob("*") if path.name != ".lock")


def test_one_package_is_changed_and_all_others_stay(cache: Path) -> None:
    built = build("rich==15.0", "TF_X=1")
    assert built.packages == {"tensorflow-cpu": "2.21.0", "keras": "3.15.1", "numpy": "2.4.6", "rich": "15.0"}
    assert (built.released, built.cached) == ((), False)
    assert built.side.variables == {"TF_X": "1"}
    assert installed(built.side).packages == built.packages
    # Compiled already: the first process of a fresh environment would else do it while it is timed.
    assert list(cache.glob("*/lib/python*/site-packages/rich/__pycache__/*.pyc"))


@pytest.mark.parametrize(
    ("tokens", "released"),
    [
        (["tensorflow-cpu==2.17.1"], ("numpy 2.4.6 -> 1.26.4",)),
        (["tensorflow==2.15.1"], ("keras 3.15.1 -> 2.15.0", "numpy 2.4.6 -> 1.26.4")),
        (["tensorflow-cpu==2.17.1", "keras==3.3.3"], ("numpy 2.4.6 -> 1.26.4",)),
        (["keras==3.4.1"], ("numpy 2.4.6 -> 1.26.4", "tensorflow-cpu 2.21.0 -> 2.17.1")),
    ],
)
def test_only_what_cannot_stay_is_released_and_named(cache: Path, tokens: list[str], released: tuple[str, ...]) -> None:
    built = build(*tokens)
    assert built.released == released
    assert built.packages["rich"] == "13.0"
    assert build(*tokens).released == released  # also when it comes from the cache


def test_a_local_build_on_the_other_side_is_named_as_released(cache: Path) -> None:
    built = build("rich==15.0", held={**HELD, "keras": "3.15.1 (from a local path)"})
    assert built.released == ("keras 3.15.1 (from a local path) -> 3.15.1",)


def test_the_control_has_the_candidates_versions(cache: Path) -> None:
    built = build("tensorflow-cpu==2.21.0")
    assert built.released == ()
    assert built.packages == {name: version for name, version in HELD.items() if name != "pytest"}


def test_keras_2_comes_along_and_brings_no_second_tensorflow(cache: Path) -> None:
    built = build("tensorflow-cpu==2.17.1", "TF_USE_LEGACY_KERAS=1")
    assert built.packages["tf-keras"] == "2.17.0"
    assert "tensorflow" not in built.packages


def test_it_is_built_once(cache: Path) -> None:
    first, said = build("keras==3.15.1"), list[str]()
    again = build("keras==3.15.1", said=said)
    assert (first.cached, again.cached) == (False, True)
    assert again.side == first.side
    assert said == []
    # Variables make no other environment, versions do.
    assert build("keras==3.15.1", "TF_X=2").side.interpreter == first.side.interpreter
    assert build("keras==3.15.1", held={**HELD, "rich": "15.0"}).packages["rich"] == "15.0"


def test_another_text_in_the_file_is_another_environment(cache: Path, tmp_path: Path) -> None:
    needs, nested = tmp_path / "needs.txt", tmp_path / "nested.txt"
    needs.write_text("-r nested.txt\nkeras==3.15.1  # as today\n")
    nested.write_text("rich==13.0\n")
    first = build(f"-r {needs}")
    assert (first.packages["rich"], first.packages["tensorflow-cpu"]) == ("13.0", "2.21.0")
    nested.write_text("rich==15.0\n")
    second = build(f"-r {needs}")
    assert (second.packages["rich"], second.released) == ("15.0", ())  # named there, so not released
    nested.write_text("-r needs.txt\n")
    assert "names itself" in refused(f"-r {needs}")
    nested.write_bytes(b"\xff\xff")
    assert f"{nested}: cannot be read" in refused(f"-r {needs}")


def test_a_wheel_that_was_made_again_is_another_environment(cache: Path, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "keras", "3.99.0")
    assert build(f"keras @ {wheel.as_uri()}").packages["keras"] == "3.99.0"
    assert build(str(wheel)).cached
    make_wheel(tmp_path, "keras", "3.99.0", ["rich==15.0"])
    again = build(str(wheel))
    assert (again.cached, again.packages["rich"]) == (False, "15.0")


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["tensorflow-cpu==2.15.1", "keras==3.4.1"], ["depends on keras>=2.15,<2.16", "go together"]),
        (["keras==9.9"], ["there is no version of keras==9.9", "ask for another one with python==X.Y"]),
        (["no-such-package"], ["no-such-package was not found"]),
        (["tensorflow-cpu==2.12.0"], ["has tensorflow-cpu 2.12.0, and workers need 2.15 or newer"]),
        (["python==3.99"], ["No interpreter found for Python 3.99", "path of an interpreter"]),
    ],
)
def test_what_cannot_be_built_says_why_and_leaves_nothing(cache: Path, tokens: list[str], said: list[str]) -> None:
    message = refused(*tokens)
    for words in (*said, " ".join(tokens), "Nothing was measured"):
        assert words in message
    assert "Traceback" not in message
    assert left_in(cache) == []


def test_without_a_network_it_says_so(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UV_NO_INDEX")
    monkeypatch.delenv("UV_OFFLINE")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")  # nothing listens on the discard port
    assert "Is there a network?" in refused("only-there==1.0")
    assert left_in(cache) == []


def test_a_full_disk_is_told_from_versions_that_do_not_go_together(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = tmp_path / "uv"
    full.write_text(
        f'#!/bin/sh\n[ "$1" = pip ] || exec {uv.find_uv_bin()} "$@"\n'
        'echo "error: failed to copy file: No space left on device (os error 28)" >&2; exit 2\n'
    )
    full.chmod(0o755)
    monkeypatch.setattr("uv.find_uv_bin", lambda: str(full))
    message = refused("keras==3.15.1")
    assert "No space left on device" in message
    assert "LSTM_PERF_CACHE" in message
    assert left_in(cache) == []


def test_a_cache_that_cannot_be_written_is_refused(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LSTM_PERF_CACHE", str(tmp_path / "file" / "cache"))
    message = refused("keras==3.15.1")
    assert str(tmp_path / "file" / "cache") in message
    assert "LSTM_PERF_CACHE" in message


def test_without_uv_it_says_how_to_get_it(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> str:
        raise FileNotFoundError

    monkeypatch.setattr("uv.find_uv_bin", absent)
    assert "pip install" in refused("keras==3.15.1")


def test_an_environment_that_was_changed_by_hand_is_built_again(cache: Path) -> None:
    built = build("keras==3.15.1")
    (info,) = cache.glob("*/lib/python*/site-packages/rich-13.0.dist-info")
    shutil.rmtree(info)
    again = build("keras==3.15.1")
    assert (again.cached, again.packages) == (False, built.packages)


def test_what_the_caller_has_on_the_path_belongs_to_no_environment(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(make_wheel(tmp_path, "other", "1.0")) as wheel:
        wheel.extractall(tmp_path / "mine")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "mine"))
    assert "other" not in build("keras==3.15.1").packages
    monkeypatch.delenv("PYTHONPATH")
    assert build("keras==3.15.1").cached


def test_an_environment_whose_python_is_gone_is_built_again(cache: Path) -> None:
    python = Path(build("keras==3.15.1").side.interpreter)
    python.unlink()
    assert not build("keras==3.15.1").cached
    assert python.exists()


def test_what_needs_no_packages_is_not_built(cache: Path) -> None:
    other = build("keras==3.15.1").side.interpreter
    there = left_in(cache)
    built = build(other, "TF_X=1")
    assert (built.side, built.cached, built.released) == (Side(other, {"TF_X": "1"}), True, ())
    assert left_in(cache) == there


def test_an_interpreter_without_tensorflow_is_refused(cache: Path, tmp_path: Path) -> None:
    subprocess.run([uv.find_uv_bin(), "venv", "-q", "--python", sys.executable, tmp_path / "bare"], check=True)
    message = refused(str(tmp_path / "bare"))
    assert f"{tmp_path / 'bare/bin/python'} has no tensorflow and no numpy: no worker can run there" in message
    assert "tensorflow==2.20.0" in message


def test_what_is_no_python_is_refused(cache: Path) -> None:
    assert "is no Python 3.9 or newer" in refused(shutil.which("sh") or "")


def test_a_side_is_held_at_the_other_whichever_is_built(cache: Path) -> None:
    old = build("tensorflow-cpu==2.17.1", "keras==3.3.3")
    there = Spec(interpreter=old.side.interpreter)
    # Only the candidate is built: it stays at the baseline's versions, not at those where pytest runs.
    baseline, candidate = sides(there, parse(["keras==3.4.1"]), lambda text: None)
    assert baseline.packages == old.packages
    assert candidate.packages == {**old.packages, "keras": "3.4.1"}
    # Only the baseline is.
    baseline, candidate = sides(parse(["keras==3.4.1"]), there, lambda text: None)
    assert candidate.packages == old.packages
    assert baseline.packages == {**old.packages, "keras": "3.4.1"}
    # Both are: the baseline stays at the candidate's.
    baseline, candidate = sides(
        parse(["keras==3.3.3"]), parse(["tensorflow-cpu==2.17.1 keras==3.4.1 numpy==1.26.4"]), lambda text: None
    )
    assert {name for name in baseline.packages if baseline.packages[name] != candidate.packages[name]} == {"keras"}
