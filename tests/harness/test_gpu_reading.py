"""What is made of NVML's answers."""

import json

import pytest

from perf.harness.gpu_reading import GpuLost, GpuReader
from tests import fake_nvml


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Writes what the driver says from now on."""
    file = tmp_path / "nvml.json"
    monkeypatch.setenv("FAKE_NVML", str(file))
    monkeypatch.delenv("FAKE_WORKER_SCRIPT", raising=False)
    monkeypatch.setattr(fake_nvml, "_reading", 0)

    def write(**entries):
        file.write_text(json.dumps(entries))

    write()
    return write


def test_a_reading_has_units(script):
    script(
        cards=[{"watts": 70.5, "sm_clock_mhz": 1590, "celsius": 66, "throttle_reasons": 5, "processes": {"7": 4096}}]
    )
    found = GpuReader.open("GPU-0", fake_nvml).read()
    assert (found.watts, found.sm_clock_mhz, found.celsius, found.joules) == (70.5, 1590, 66, 0.0)
    assert found.throttle_reasons == ("idle", "software power cap")
    assert found.bytes_by_process == {7: 4096}
    assert found.percent_by_process == {}


def test_what_a_driver_does_not_tell_is_missing(script):
    script(cards=[{"percents": None}], energy_counter=False)
    found = GpuReader.open("GPU-0", fake_nvml).read()
    assert (found.joules, found.thermal_seconds, found.percent_by_process) == (None, None, None)


def test_the_largest_share_since_the_reading_before_counts(script):
    script(cards=[{"percents": {"7": 30}}])
    assert GpuReader.open("GPU-0", fake_nvml).read().percent_by_process == {7: 30}


def test_a_gpu_that_is_lost_while_it_is_read(script):
    script(changes=[{"from": 2, "error": "GPU is lost"}])
    reader = GpuReader.open("GPU-0", fake_nvml)
    reader.read()
    with pytest.raises(GpuLost, match="GPU is lost"):
        reader.read()
    reader.close()


def test_a_driver_that_does_not_start(script):
    script(init_error="Driver Not Loaded")
    with pytest.raises(GpuLost, match="Driver Not Loaded"):
        GpuReader.open("GPU-0", fake_nvml)


def test_without_the_library():
    with pytest.raises(GpuLost, match="nvidia-ml-py"):
        GpuReader.open("GPU-0", None)
