"""Energy of CPU packages from a folder that looks like Linux's powercap."""

from pathlib import Path

import pytest

from perf.harness import powercap


def zone(root: Path, name: str, kind: str, microjoules: int = 0, most: int = 1000) -> Path:
    folder = root / name
    folder.mkdir()
    for file, value in (("name", kind), ("energy_uj", microjoules), ("max_energy_range_uj", most)):
        (folder / file).write_text(f"{value}\n")
    return folder


def test_packages_are_added_and_parts_and_the_board_are_not(tmp_path):
    first = zone(tmp_path, "intel-rapl:0", "package-0", 100)
    second = zone(tmp_path, "intel-rapl:1", "package-1", 200)
    zone(tmp_path, "intel-rapl:0:0", "core", 7)
    zone(tmp_path, "intel-rapl:2", "psys", 9)
    zone(tmp_path, "intel-rapl-mmio:0", "package-0", 100)
    counter, why = powercap.find(tmp_path)
    assert counter is not None
    assert why == ""
    before = counter.read()
    (first / "energy_uj").write_text("150")
    (second / "energy_uj").write_text("270")
    assert (before, counter.read()) == ((100, 200), (150, 270))
    assert counter.joules((100, 200), (150, 270)) == pytest.approx(120e-6)


def test_a_counter_that_began_anew_is_followed(tmp_path):
    zone(tmp_path, "intel-rapl:0", "package-0", most=1_000_000)
    counter, _ = powercap.find(tmp_path)
    assert counter is not None
    assert counter.joules((999_990,), (20,)) == pytest.approx(30e-6)


def test_where_there_is_none_it_is_said(tmp_path):
    counter, why = powercap.find(tmp_path / "nowhere")
    assert counter is None
    assert "no counter of its CPU packages" in why


def test_a_counter_for_root_only_is_said(tmp_path, monkeypatch):
    guarded = zone(tmp_path, "intel-rapl:0", "package-0") / "energy_uj"
    read = Path.read_text

    def refusing(file: Path, *args, **options):  # a test may run as root, who may read everything
        if file == guarded:
            raise PermissionError(13, "Permission denied")
        return read(file, *args, **options)

    monkeypatch.setattr(Path, "read_text", refusing)
    counter, why = powercap.find(tmp_path)
    assert counter is None
    assert f"{guarded} may be read by root only" in why


def test_a_counter_that_vanishes_is_no_reading(tmp_path):
    folder = zone(tmp_path, "intel-rapl:0", "package-0")
    counter, _ = powercap.find(tmp_path)
    assert counter is not None
    (folder / "energy_uj").unlink()
    assert counter.read() is None


def test_a_damaged_zone_is_said(tmp_path):
    (zone(tmp_path, "intel-rapl:0", "package-0") / "max_energy_range_uj").write_text("much")
    counter, why = powercap.find(tmp_path)
    assert counter is None
    assert "cannot be read" in why
