"""The commands: list, run and explain, and what a person sees when they cannot be done."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path as File
from typing import Any

import pytest

from lstm_models import run, workloads
from lstm_models.__main__ import main
from lstm_models.case import Case
from lstm_models.problem import Problem

OWN = """
[workload.tiny]
source = "a test"
features = 3
units = 4
timesteps = 6
activation = "relu"
head = "linear"
outputs = 1
"""


@pytest.fixture
def own(tmp_path: File, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # main sets it too; this puts the old value back
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    file = tmp_path / "own.toml"
    file.write_text(OWN)
    return str(file)


def case_of(key: str) -> Case:
    return Case.parse(key, workloads.builtin())


def test_list_names_every_workload_and_how_to_name_a_case(own: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--perf-workloads", own]) == 0
    shown = capsys.readouterr().out
    lines = {line.split()[0]: line for line in shown.splitlines() if line and not line.startswith(" ")}
    for name in [*workloads.builtin(), "tiny"]:
        assert name in lines
    assert "2 x 64 bidirectional" in lines["sentiment"]
    assert "decodes 10 tokens" in lines["chatbot"]
    assert "left mask" in lines["layer-128-mask-left"]
    assert "forward[translation-b32-cpu-loop-float32]" in shown
    assert "auto | cudnn | loop | unrolled | xla" in shown


def test_list_imports_no_tensorflow() -> None:
    code = (
        "import sys; from lstm_models.__main__ import main; main(['list']);"
        "sys.exit([name for name in ('tensorflow', 'keras') if name in sys.modules] or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "nonsense"], "A case looks like forward[translation-b32-cpu-loop-float32]"),
        (["run", "forward[nope-b1-cpu-loop-float32]"], "no workload 'nope'"),
        (["run", "forward[translation-b1-cpu-cudnn-float32]"], "cudnn on cpu"),
        (["explain", "nope"], "There is no workload 'nope'; there are: translation,"),
        (["list", "--perf-workloads", "missing.toml"], "missing.toml"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_one_paragraph(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str], own: str
) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert len(shown.err.splitlines()) == 1
    assert shown.out == ""


@pytest.mark.parametrize(
    ("end", "chosen", "words"),
    [
        ("float32]", "torch", "name the case forward[translation-b1-cpu-loop-float32-torch]."),
        ("float32-jax]", "torch", "name the case forward[translation-b1-cpu-loop-float32-torch]."),
        ("float32-torch]", "tensorflow", "name the case forward[translation-b1-cpu-loop-float32]."),
        ("float32]", "theano", "this suite does not know"),
    ],
)
def test_a_case_of_another_framework_than_the_environments_is_refused(
    end: str, chosen: str, words: str, own: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", chosen)
    assert main(["run", f"forward[translation-b1-cpu-loop-{end}"]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("rounds", ["0", "-1", "many"])
def test_rounds_are_counted_from_one(rounds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["run", "forward[translation-b1-cpu-loop-float32]", "--rounds", rounds])
    assert stopped.value.code == 2
    assert "--rounds" in capsys.readouterr().err


def test_run_shows_proof_errors_and_times(own: str, tmp_path: File, capsys: pytest.CaptureFixture[str]) -> None:
    traces = tmp_path / "traces"
    key = "backward[tiny-b2-cpu-unrolled-float32]"
    assert main(["run", key, "--rounds", "3", "--trace", str(traces), "--perf-workloads", own]) == 0
    lines = {line[:16].strip(): line[16:].strip() for line in capsys.readouterr().out.splitlines()[1:]}
    assert lines["ran"] == "unrolled on cpu"
    assert "jit_compile=False" in lines["settings"]
    assert float(lines["output error"].split()[0]) < 1e-5
    assert float(lines["gradient error"].split()[0]) < 1e-5
    assert "per step; middle half of the rounds" in lines["time"]
    assert "(3 rounds of" in lines["time"]
    assert "samples/s" in lines["rate"]
    assert list(traces.rglob("*.xplane.pb"))


def test_explain_names_the_setting(own: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "tiny", "--perf-workloads", own]) == 0
    assert "What keeps cuDNN away: activation = 'relu'." in capsys.readouterr().out


class FakeEngine:
    """Answers as the real one; the first round takes ``seconds``, the others 1, 2, 3 ... times that."""

    def __init__(self, seconds: float = 0.004, kernel: str = "loop", traces: int = 0, problem: str = "") -> None:
        self._seconds, self._kernel, self._traces, self._problem = seconds, kernel, traces, problem
        self.asked: list[tuple[int, int]] = []
        self.closed = 0

    def warm_up(self) -> None:
        assert not self.asked

    def open(self, case: dict[str, Any]) -> dict[str, Any]:
        if self._problem:
            raise Problem("oracle", self._problem)
        facts = {
            "kernel": self._kernel,
            "device": "cpu",
            "resolved": {"jit_compile": "False"},
            "first_call_traces": 1,
            "output_error": 2e-7,
            "gradient_error": None,
            "tolerance": 1e-5,
            "probe": [],
        }
        return {"first_call_seconds": 1.5, "bytes_peak": None, "facts": facts}

    def run(self, rounds: int, calls: int) -> dict[str, Any]:
        self.asked.append((rounds, calls))
        seconds = [self._seconds * calls * (number + 1) for number in range(rounds)]
        return {"seconds": seconds, "call_seconds": [0.004] * rounds * calls, "traces": self._traces}

    def close(self) -> None:
        self.closed += 1


def shown_by(engine: FakeEngine, key: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    status = run.run(case_of(key), 5, None, engine)
    assert engine.closed == 1
    return status, capsys.readouterr().out


def test_times_are_per_step_with_their_spread(capsys: pytest.CaptureFixture[str]) -> None:
    engine = FakeEngine()
    status, shown = shown_by(engine, "forward[translation-b32-cpu-loop-float32]", capsys)
    assert status == 0
    assert engine.asked == [(1, 1), (1, 5), (5, 5)]  # a round lasts 20 ms
    assert "12.0 ms per step; middle half of the rounds 8.00 ms to 16.0 ms (5 rounds of 5 steps)" in shown
    assert "2,667 samples/s, 83.3 steps/s" in shown
    assert "first call     1.5 s, traced 1 time(s)" in shown
    assert "peak memory    not known here" in shown
    assert "gradient error nothing to compare" in shown


def test_a_call_of_many_steps_is_divided_by_them(capsys: pytest.CaptureFixture[str]) -> None:
    _, shown = shown_by(FakeEngine(seconds=0.32), "fit[translation-b32-cpu-loop-float32]", capsys)
    assert "30.0 ms per step" in shown
    assert "(5 rounds of 32 steps)" in shown


def test_decoding_is_per_token_with_its_tail(capsys: pytest.CaptureFixture[str]) -> None:
    _, shown = shown_by(FakeEngine(seconds=0.1), "predict[chatbot-b1-cpu-loop-float32]", capsys)
    assert "30.0 ms per token" in shown
    assert "33.3 tokens/s" in shown
    assert "p50 4.00 ms, p95 4.00 ms, p99 4.00 ms" in shown


def test_another_kernel_than_asked_for_is_said_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    status, shown = shown_by(FakeEngine(kernel="xla"), "forward[translation-b1-cpu-loop-float32]", capsys)
    assert status == 1
    assert "ran            xla on cpu, NOT loop on cpu" in shown
    status, shown = shown_by(FakeEngine(kernel="xla"), "forward[translation-b1-cpu-auto-float32]", capsys)
    assert status == 0
    assert "NOT" not in shown


def test_tracing_while_timed_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    _, shown = shown_by(FakeEngine(traces=2), "forward[translation-b1-cpu-loop-float32]", capsys)
    assert "TRACED         2 time(s)" in shown


def test_wrong_numbers_end_the_run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lstm_models.engine.Engine", lambda: FakeEngine(problem="outputs differ\nby much"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    assert main(["run", "forward[translation-b1-cpu-loop-float32]"]) == 2
    assert capsys.readouterr().err == "lstm_models: outputs differ by much\n"


def test_a_trace_is_not_written_over_a_file(tmp_path: File) -> None:
    (tmp_path / "file").write_text("")
    engine = FakeEngine()
    with pytest.raises(Problem, match="there is a file of this name"):
        run.run(case_of("forward[translation-b1-cpu-loop-float32]"), 1, str(tmp_path / "file"), engine)
    assert engine.closed == 1


@pytest.mark.parametrize(
    ("seconds", "shown"), [(2.345, "2.35 s"), (0.0123, "12.3 ms"), (1e-3, "1.00 ms"), (45.6e-6, "45.6 µs")]
)
def test_times_have_three_digits(seconds: float, shown: str) -> None:
    assert run._time(seconds) == shown
