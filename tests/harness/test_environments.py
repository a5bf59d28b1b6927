from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from perf.__main__ import main
from perf.harness import environments
from perf.harness.environment_cache import mark_used, write_record

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LSTM_PERF_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def built(cache: Path, name: str, days: float) -> Path:
    """An environment that was last used so many days ago."""
    folder = cache / name
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "big").write_bytes(b"0" * 3 * 2**20)
    write_record(folder, {"asked": f"tensorflow=={name}"})
    used = (NOW - timedelta(days=days)).timestamp()
    os.utime(folder / "lstm-perf.json", (used, used))
    return folder


def test_what_there_is_with_its_size_the_longest_unused_first(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built(cache, "2.21.0", 1)
    built(cache, "2.17.1", 40)
    (cache / "nothing.building").mkdir()
    assert main(["environments"]) == 0
    rows = capsys.readouterr().out.splitlines()[2:4]
    assert [row.split()[0] for row in rows] == ["tensorflow==2.17.1", "tensorflow==2.21.0"]
    assert all(row.split()[-2] == "3" for row in rows)
    assert rows[0].split()[1] == "2026-04-22"


def test_only_what_was_unused_for_so_long_is_removed(cache: Path) -> None:
    old, used, young = built(cache, "2.17.1", 40), built(cache, "2.18.0", 40), built(cache, "2.21.0", 1)
    mark_used(used)  # by a session that found it in the cache
    said = environments.remove_unused(cache, 30, NOW)
    assert (old.exists(), used.exists(), young.exists()) == (False, True, True)
    assert said.startswith("1 removed, 3 MiB: tensorflow==2.17.1. 2 left")


def test_nothing_to_remove_and_no_cache_at_all(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["environments"], ["environments", "--remove-unused", "30"]):
        assert main(command) == 0
        assert "There is no built environment" in capsys.readouterr().out
    assert not cache.exists()
    with pytest.raises(SystemExit) as stopped:
        main(["environments", "--remove-unused", "0"])
    assert stopped.value.code == 4
