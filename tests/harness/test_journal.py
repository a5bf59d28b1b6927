import json
import os
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

import pytest

from perf.harness.journal import Journal
from perf.harness.records import Facts, Failure, Machine, Sample

MACHINE = Machine(identity={"cpu": "x"}, informs={}, id="linux-x-1")


def sample(process: int = 1, seconds: tuple[float, ...] = (0.02, 0.021)) -> Sample:
    facts = Facts("loop", "cpu", MappingProxyType({"jit_compile": "False"}), 1, 1e-7, None, 1e-5, (1.0, -0.5))
    return Sample(process, 5, 1, seconds, 10, True, 0.5, None, 0, facts)


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "machine" / "journal" / "a.jsonl"


def test_header_samples_and_failures_are_whole_lines_at_once(path):
    journal = Journal.start(path, MACHINE)
    header = lines(path)[0]
    assert (header["schema"], header["machine"]) == (1, "linux-x-1")
    assert datetime.fromisoformat(header["date"]).tzinfo is not None
    journal.sample("forward[a]", sample())
    assert lines(path)[1]["case"] == "forward[a]"
    assert lines(path)[1]["sample"]["seconds_per_round"] == [0.02, 0.021]
    assert lines(path)[1]["sample"]["facts"]["resolved"] == {"jit_compile": "False"}
    assert lines(path)[1]["sample"]["bytes_peak"] is None
    journal.failure("forward[b]", Failure("proof", "other kernel"))
    assert lines(path)[2] == {"case": "forward[b]", "failure": {"stage": "proof", "message": "other kernel"}}
    journal.close()
    assert len(lines(path)) == 3
    assert journal.warning is None


def test_discard_removes_the_file(path):
    journal = Journal.start(path, MACHINE)
    journal.discard()
    assert not path.exists()
    assert journal.warning is None


def test_discard_after_close_removes_the_file(path):
    journal = Journal.start(path, MACHINE)
    journal.close()
    journal.discard()
    assert not path.exists()


def test_a_closed_journal_writes_no_more(path):
    journal = Journal.start(path, MACHINE)
    journal.close()
    journal.sample("forward[a]", sample())
    assert len(lines(path)) == 1


def test_a_killed_session_loses_nothing(path):
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[2])\n"
        "from pathlib import Path\n"
        "from tests.harness.test_journal import Journal, MACHINE, sample\n"
        "journal = Journal.start(Path(sys.argv[1]), MACHINE)\n"
        "for process in range(50): journal.sample('forward[a]', sample(process))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code, str(path), str(root)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [line["sample"]["process"] for line in lines(path)[1:]] == list(range(50))


def test_a_full_disk_stops_the_journal_with_one_warning_and_nothing_else():
    journal = Journal(Path("/dev/full"), open("/dev/full", "w"))  # noqa: SIM115 - the journal closes it
    journal.sample("forward[a]", sample())
    first = journal.warning
    assert first is not None
    assert "No space left on device" in first
    journal.sample("forward[b]", sample())
    journal.close()
    assert journal.warning == first


def test_a_folder_that_cannot_be_made_is_a_warning(tmp_path):
    (tmp_path / "file").write_text("")
    journal = Journal.start(tmp_path / "file" / "journal" / "a.jsonl", MACHINE)
    journal.sample("forward[a]", sample())
    journal.close()
    journal.discard()
    assert "file" in str(journal.warning)
    assert os.listdir(tmp_path) == ["file"]


def test_an_existing_journal_is_not_overwritten(path):
    Journal.start(path, MACHINE).close()
    before = path.read_text()
    second = Journal.start(path, MACHINE)
    second.sample("forward[a]", sample())
    second.discard()
    assert path.read_text() == before
    assert second.warning is not None


def test_a_number_that_is_none_is_never_written(path):
    journal = Journal.start(path, MACHINE)
    with pytest.raises(ValueError, match="JSON"):
        journal.sample("forward[a]", sample(seconds=(float("nan"),)))
    journal.close()
    assert len(lines(path)) == 1
