"""Real processes, a fake engine: what becomes of a worker is said, and none remains."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perf.harness.environment import Side
from perf.harness.workers import Worker, WorkerError

ROOT = Path(__file__).parents[2]
CASE = {"key": "forward[lstm]"}


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch) -> Iterator[Path]:
    """Where workers keep their files; whatever a test does, nothing may remain in it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert os.listdir(folder) == []


def start(tmp_path: Path, time_limit: float = 20.0, module: str = "tests.fake_worker", **script: Any) -> Worker:
    file = tmp_path / "script.json"
    file.write_text(json.dumps(script))
    return Worker.start(Side(variables={"FAKE_WORKER_SCRIPT": str(file)}), "cpu", module, ROOT, time_limit)


def pid_of(tmp_path: Path) -> int:
    return int((tmp_path / "script.json.log").read_text().split()[0])


def is_gone(pid: int) -> bool:
    """Neither running nor a zombie."""
    return not Path(f"/proc/{pid}").exists()


def failure(worker: Worker, op: str, **fields: Any) -> WorkerError:
    with pytest.raises(WorkerError) as caught:
        worker.request(op, **fields)
    return caught.value


def test_a_healthy_worker_answers_and_ends(tmp_path):
    with start(tmp_path) as worker:
        assert worker.describe().versions["tensorflow"] == "2.21.0"
        assert worker.request("warm_up") == {}
        assert worker.request("open", case=CASE)["facts"]["kernel"] == "loop"
        reply = worker.request("run", rounds=3, calls=2)
        assert reply == {"seconds": [0.008] * 3, "call_seconds": [], "traces": 0}
        assert worker.alive
    assert not worker.alive
    assert is_gone(pid_of(tmp_path))


def test_closing_twice_is_no_error(tmp_path):
    worker = start(tmp_path)
    worker.close()
    worker.close()
    assert failure(worker, "describe").lost


def test_a_worker_gets_its_variables_and_no_gpu(tmp_path):
    file = tmp_path / "script.json"
    file.write_text("{}")
    side = Side(variables={"FAKE_WORKER_SCRIPT": str(file), "TF_TEST": "a 'b' \"c\" $d"})
    with Worker.start(side, "cpu", "tests.fake_worker", ROOT) as worker:
        assert worker.describe().variables["TF_TEST"] == "a 'b' \"c\" $d"


def test_prints_do_not_break_the_protocol(tmp_path):
    with start(tmp_path, cases={"": {"fault": "print"}}) as worker:
        worker.request("open", case=CASE)
        for _ in range(3):
            assert worker.request("run", rounds=1, calls=1)["seconds"] == [0.004]


def test_an_expected_problem_leaves_the_worker_alive(tmp_path):
    with start(tmp_path, cases={"": {"fault": "problem", "fault_at": "open", "stderr": "a warning"}}) as worker:
        error = failure(worker, "open", case=CASE)
        assert error.failure.stage == "oracle"
        assert error.failure.message == "the outputs are 0.3 apart, tolerated are 1e-05"
        assert not error.lost
        assert worker.request("close") == {}


def test_an_exception_leaves_the_worker_alive_and_brings_its_traceback(tmp_path):
    with start(tmp_path, cases={"": {"fault": "exception"}}) as worker:
        worker.request("open", case=CASE)
        error = failure(worker, "run", rounds=1, calls=1)
        assert error.failure.stage == "run"
        assert "the fake engine's exception" in error.failure.message
        assert "in _fault" in error.failure.message
        assert not error.lost
        assert worker.request("close") == {}


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("crash", "ended with exit status 3 during 'run'"),
        ("kill", "was killed by SIGKILL (perhaps for lack of memory"),
        ("segfault", "was killed by SIGSEGV (a crash in native code)"),
    ],
)
def test_a_lost_worker_is_reported_with_its_last_words(tmp_path, fault, said):
    with start(tmp_path, cases={"": {"fault": fault, "stderr": "my last words"}}) as worker:
        worker.request("open", case=CASE)
        error = failure(worker, "run", rounds=1, calls=1)
        assert error.lost
        assert error.failure.stage == "worker"
        assert said in error.failure.message
        assert "my last words" in error.failure.message
        assert not worker.alive
        assert is_gone(pid_of(tmp_path))


def test_a_crash_in_native_code_says_from_where_it_was_called(tmp_path):
    with start(tmp_path, cases={"": {"fault": "segfault"}}) as worker:
        worker.request("open", case=CASE)
        assert "fake_worker.py" in failure(worker, "run", rounds=1, calls=1).failure.message


def test_only_the_end_of_a_long_stderr_is_shown(tmp_path):
    text = "\n".join(f"line {number} é" for number in range(5000))
    with start(tmp_path, cases={"": {"fault": "crash", "stderr": text}}) as worker:
        worker.request("open", case=CASE)
        message = failure(worker, "run", rounds=1, calls=1).failure.message
    assert "line 4999 é" in message
    assert "line 4985 é" in message
    assert "line 4984" not in message


def test_a_hang_ends_at_the_time_limit_and_names_the_option(tmp_path):
    with start(tmp_path, time_limit=1.0, cases={"": {"fault": "hang", "stderr": "waiting for a lock"}}) as worker:
        worker.request("open", case=CASE)
        error = failure(worker, "run", rounds=1, calls=1)
        assert error.failure.stage == "time limit"
        assert "time limit of 1 s" in error.failure.message
        assert "--perf-timeout" in error.failure.message
        assert "waiting for a lock" in error.failure.message
        assert error.lost
        assert is_gone(pid_of(tmp_path))


def test_an_import_that_fails_is_named(tmp_path):
    with start(tmp_path, module="tests.no_such_worker") as worker:
        error = failure(worker, "describe")
        assert error.lost
        assert "could not import" in error.failure.message
        assert "No module named 'tests.no_such_worker'" in error.failure.message


def test_a_framework_that_is_not_installed_is_named(tmp_path):
    with start(tmp_path, startup="import") as worker:
        assert "No module named 'tensorflow'" in failure(worker, "describe").failure.message


@pytest.mark.parametrize("startup", ["crash", "exception"])
def test_a_worker_that_ends_at_once(tmp_path, startup):
    with start(tmp_path, startup=startup) as worker:
        error = failure(worker, "describe")
        assert error.lost
        assert {"crash": "exit status 3", "exception": "the fake engine's exception"}[startup] in error.failure.message


def test_nonsense_is_not_taken_for_a_reply(tmp_path):
    with start(tmp_path, cases={"": {"fault": "nonsense"}}) as worker:
        error = failure(worker, "open", case=CASE)
        assert error.lost
        assert "['nonsense']" in error.failure.message


def test_a_description_that_makes_no_sense_is_refused(tmp_path):
    with start(tmp_path, environment={"settings": {"threads": 4}}) as worker:
        with pytest.raises(WorkerError, match="'settings' must map text to text") as caught:
            worker.describe()
        assert caught.value.lost


def test_what_cannot_travel_is_the_callers_fault_and_ends_the_worker(tmp_path):
    with start(tmp_path) as worker:
        worker.describe()
        with pytest.raises(Exception, match="can't serialize"):
            worker.request("open", case={"key": object()})
        assert is_gone(pid_of(tmp_path))


@pytest.mark.parametrize("name", ["/no/such/python", "no-such-python", "/"])
def test_an_interpreter_that_is_not_there(name):
    with pytest.raises(WorkerError, match="no executable interpreter") as caught:
        Worker.start(Side(name), "cpu", "tests.fake_worker", ROOT)
    assert name in caught.value.failure.message


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 7", "exit status 7 and said: nothing"),
        ("echo words", "said: words"),
        ("echo 3 8", "said: 3 8"),
        ("echo 'I am no Python' >&2; exit 1", "said: I am no Python"),
        ("exec tail -f /dev/null", "no answer within 0.2 s"),
    ],
)
def test_an_interpreter_that_is_no_python(tmp_path, script, said):
    impostor = tmp_path / "python"
    impostor.write_text(f"#!/bin/sh\n{script}\n")
    impostor.chmod(0o755)
    limit = 0.2 if "tail" in script else 20
    with pytest.raises(WorkerError, match=r"is no Python 3.9 or newer") as caught:
        Worker.start(Side(str(impostor)), "cpu", "tests.fake_worker", ROOT, limit)
    assert said in caught.value.failure.message


def interrupt_at(log: Path, line: str) -> None:
    """Ctrl-C for this process as soon as the worker has logged the line."""
    while line not in (log.read_text() if log.exists() else ""):
        os.sched_yield()
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_while_waiting_ends_the_worker_and_goes_on(tmp_path):
    worker = start(tmp_path, cases={"": {"fault": "hang"}})
    worker.request("open", case=CASE)
    thread = threading.Thread(target=interrupt_at, args=(tmp_path / "script.json.log", " run "))
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        worker.request("run", rounds=1, calls=1)
    thread.join()
    assert is_gone(pid_of(tmp_path))


def test_closing_does_not_wait_for_a_worker_that_hangs(tmp_path):
    worker = start(tmp_path, cases={"": {"fault": "hang"}})
    worker.request("open", case=CASE)
    worker._channel.send({"op": "run", "rounds": 1, "calls": 1})
    began = time.monotonic()
    worker.close()
    assert time.monotonic() - began < 15  # execnet in the worker would wait 15 s for its main thread
    assert is_gone(pid_of(tmp_path))


def test_no_worker_outlives_a_killed_session(tmp_path, folders):
    """The parent is killed while the worker hangs; the kernel then ends the worker."""
    code = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "from tests.harness.test_workers import start, CASE, pid_of\n"
        "worker = start(Path(sys.argv[2]), cases={'': {'fault': 'hang'}})\n"
        "worker.request('open', case=CASE)\n"
        "print(pid_of(Path(sys.argv[2])), flush=True)\n"
        "worker.request('run', rounds=1, calls=1)\n"
    )
    command = [sys.executable, "-c", code, str(ROOT), str(tmp_path)]
    variables = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables) as parent:
        assert parent.stdout is not None
        handle = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
    try:
        ended, _, _ = select.select([handle], [], [], 4)  # without the kernel's help execnet takes 15 s
        assert ended
    finally:
        os.close(handle)


def test_posted_requests_are_answered_in_their_order(tmp_path: Path) -> None:
    with start(tmp_path) as worker:
        worker.post("describe")
        worker.post("warm_up")
        assert worker.described().versions
        assert worker.reply_to("warm_up") == {}
        assert worker.request("close") == {}
