"""The digest beside the runs: as fast as it may be, never trusted over the runs."""

from __future__ import annotations

import os

import pytest

from perf.harness import digest
from perf.harness.digest import digests
from perf.harness.runs import run_files
from tests.harness import makers


@pytest.fixture
def folder(tmp_path):
    for day in (1, 2, 3):
        store(tmp_path, day)
    return tmp_path


def store(folder, day, seconds=0.01, **changes):
    results = [makers.result([seconds, seconds * 1.02, seconds * 1.04], number) for number in range(3)]
    return makers.store(folder, makers.run([*results, makers.failed(7)], day, **changes))


def test_it_says_what_the_runs_say(folder):
    store(folder, 4, red={makers.key(1): "regressed"})
    for _ in range(2):
        run = digests(folder).runs["0004_night.json"]
        case = run.cases[makers.key(1)]
        assert run.versions["cpu"]["tensorflow"] == "2.21.0"
        assert case.seconds_per_step == pytest.approx(0.0102)
        assert case.seconds_low < 0.0102 < case.seconds_high
        assert (case.kernel, case.hash, case.red) == ("loop", "0123456789abcdef", True)
        assert not run.cases[makers.key(0)].red
        assert makers.key(7) not in run.cases


def test_a_later_reading_is_the_same_and_reads_no_run(folder):
    first, second = digests(folder), digests(folder)
    assert (first.read, second.read) == (3, 0)
    assert first.runs == second.runs


def test_it_is_no_run(folder):
    digests(folder)
    assert [path.name for path in run_files(folder)] == ["0001_night.json", "0002_night.json", "0003_night.json"]


def test_only_what_is_new_is_read(folder):
    digests(folder)
    store(folder, 4)
    found = digests(folder)
    assert found.read == 1
    assert list(found.runs) == [path.name for path in run_files(folder)]


def test_only_what_is_wanted_is_read_and_the_rest_is_kept(folder):
    assert digests(folder, ["0002_night.json"]).read == 1
    found = digests(folder, ["0003_night.json"])
    assert (found.read, list(found.runs)) == (1, ["0003_night.json"])
    assert digests(folder).read == 1


def test_a_run_that_changed_is_read_again(folder):
    digests(folder)
    file = store(folder, 2, seconds=0.05)
    os.utime(file, ns=(1, 1))
    found = digests(folder)
    assert found.read == 1
    assert found.runs[file.name].cases[makers.key(0)].seconds_per_step == pytest.approx(0.051)


def test_a_run_that_is_gone_leaves_the_digest(folder):
    digests(folder)
    (folder / "0001_night.json").unlink()
    assert digests(folder).read == 0
    assert "0001_night.json" not in (folder / digest.NAME).read_text()
    assert list(digests(folder).runs) == ["0002_night.json", "0003_night.json"]


def test_a_run_that_cannot_be_read_is_left_out_and_named_each_time(folder):
    (folder / "0002_night.json").write_text("{")
    for _ in range(2):
        found = digests(folder)
        assert list(found.runs) == ["0001_night.json", "0003_night.json"]
        (warning,) = found.warnings
        assert "0002_night.json" in warning


DAMAGE = {
    "cut": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "no JSON": lambda text: "\x00\x01" + text,
    "a digit": lambda text: text.replace("0.0102", "0.0103", 1),
    "another form": lambda text: text.replace('"schema":1', '"schema":99', 1),
    "without its runs": lambda text: "\n".join(text.splitlines()[:1]),
    "a list": lambda text: "[]\n",
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_digest_is_made_anew(folder, kind):
    first = digests(folder)
    path = folder / digest.NAME
    whole = path.read_text()
    path.write_text(DAMAGE[kind](whole))
    assert path.read_text() != whole
    again = digests(folder)
    assert (again.read, again.runs, again.warnings) == (3, first.runs, ())
    assert path.read_text() == whole


def test_a_digest_that_cannot_be_written_costs_time_only(folder, monkeypatch):
    def full(path, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(digest, "write_text_whole", full)
    found = digests(folder)
    assert len(found.runs) == 3
    assert "could not be written (No space left on device)" in found.warnings[0]
