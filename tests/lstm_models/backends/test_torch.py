"""The real engine on real PyTorch, with tiny workloads: what is proved, timed and refused.

``KERAS_BACKEND=torch pytest tests/lstm_models/backends``, in an environment with torch.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest

from lstm_models import availability, backends, data, models, paths
from lstm_models.__main__ import main
from lstm_models.case import Case
from lstm_models.engine import Engine
from lstm_models.problem import Problem
from lstm_models.step import Step
from lstm_models.words import Device, Framework, Kernel, Path, Precision
from lstm_models.workloads import Workload
from tests.lstm_models import tiny

if backends.name() != "torch":
    pytest.skip("Keras does not run on PyTorch in this process: KERAS_BACKEND=torch", allow_module_level=True)

import torch

from lstm_models.backends.torch import compilation, trace
from lstm_models.backends.torch.counts import classify, evidence_of
from lstm_models.backends.torch.proof import prove
from lstm_models.backends.torch.watch import MOST_WATCHED, watched
from lstm_models.proof import Expected

#: NumPy 2 says it of Keras's variables on PyTorch, wherever Keras itself makes arrays of them.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy:DeprecationWarning")


def case(*args: Any, **more: Any) -> Case:
    return replace(tiny.case(*args, **more), framework=Framework.TORCH)


@pytest.fixture
def opened() -> Iterator[Engine]:
    """An engine that is closed again."""
    found = Engine()
    yield found
    found.close()


def open_path(asked: Case) -> tuple[models.Built, Step]:
    backends.backend()
    built = models.build(asked.workload, asked.kernel, asked.precision, asked.batch)
    batches = paths.batches_per_call(asked)
    return built, paths.open_path(asked, built, data.dataset(asked.workload, asked.batch, batches))


@pytest.mark.parametrize("kernel", [Kernel.AUTO, Kernel.LOOP])
@pytest.mark.parametrize("path", list(Path))
def test_every_path_opens_proved_and_runs(opened: Engine, path: Path, kernel: Kernel) -> None:
    reply = opened.open(case(tiny.TOKENS, path, kernel).to_plain())
    facts = reply["facts"]
    assert (facts["kernel"], facts["device"]) == ("loop", "cpu")
    assert facts["first_call_traces"] == 0
    assert facts["output_error"] <= facts["tolerance"] == 1e-5
    assert (facts["gradient_error"] is not None) == (path in (Path.BACKWARD, Path.FIT))
    assert facts["resolved"]["jit_compile"] == "False"
    # auto takes Keras's LSTM, whose inputs are multiplied at once; loop its loop over any cell, with one step more.
    assert facts["resolved"]["products_per_lstm"] == ("5" if kernel is Kernel.AUTO else "10")
    json.dumps(reply)
    run = opened.run(3, 2)
    assert (len(run["seconds"]), run["traces"]) == (3, 0)


def _options() -> list[Case]:
    """Each tiny workload under each kernel that can exist."""
    found = [
        case(workload, Path.PREDICT if workload.decode_tokens else Path.BACKWARD, kernel)
        for workload in tiny.ALL.values()
        for kernel in (Kernel.AUTO, Kernel.LOOP)
    ]
    return [one for one in found if availability.unavailable(one) is None]


@pytest.mark.parametrize("asked", _options(), ids=lambda asked: asked.id)
def test_every_option_of_a_workload_opens(opened: Engine, asked: Case) -> None:
    facts = opened.open(asked.to_plain())["facts"]
    assert facts["kernel"] == "loop"
    assert facts["output_error"] <= facts["tolerance"]
    assert facts["gradient_error"] is None or facts["gradient_error"] <= facts["tolerance"]


def test_keras_still_cannot_train_a_stateful_lstm_but_in_its_general_loop() -> None:
    """Should it once, the case exists: take it out of ``availability.unavailable``."""
    asked = case(tiny.ALL["stateful"], Path.FIT, Kernel.AUTO)
    assert "stateful" in (availability.unavailable(asked) or "")
    _, step = open_path(asked)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        step.call()


@pytest.mark.parametrize("precision", [Precision.MIXED_FLOAT16, Precision.MIXED_BFLOAT16])
@pytest.mark.parametrize("path", [Path.FORWARD, Path.FIT])
def test_mixed_precision_opens(opened: Engine, path: Path, precision: Precision) -> None:
    facts = opened.open(case(tiny.TOKENS, path, precision=precision).to_plain())["facts"]
    assert 1e-6 < max(facts["output_error"], facts["gradient_error"] or 0) <= facts["tolerance"]


@pytest.mark.parametrize("name", ["tokens", "bidirectional", "dropout", "recurrent-dropout", "chatbot"])
def test_fit_shows_the_gradients_that_autograd_gives(name: str) -> None:
    """With dropout too: both come from a twin that drops nothing. The weights stay as they were."""
    _, backward = open_path(case(tiny.ALL[name], Path.BACKWARD))
    built, fit = open_path(case(tiny.ALL[name], Path.FIT))
    before = [variable.numpy() for variable in built.variables]
    backward.call()
    fit.call()
    np.testing.assert_allclose(fit.result(), backward.result(), rtol=1e-5)
    for one, other in zip(fit.gradients() or [], backward.gradients() or [], strict=True):
        np.testing.assert_allclose(one, other, atol=2e-6 * np.abs(other).max())
        assert np.abs(other).max() > 0
    for variable, array in zip(built.variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), array)


def test_states_go_from_call_to_call_until_reset() -> None:
    _, step = open_path(case(tiny.ALL["stateful"]))
    first, second = np.asarray(step.call()), np.asarray(step.call())
    assert np.abs(first - second).max() > 1e-3
    step.reset()
    np.testing.assert_array_equal(np.asarray(step.call()), first)


def test_the_proof_leaves_the_layers_as_they_were() -> None:
    import keras

    before = [keras.layers.LSTM.inner_loop, keras.layers.RNN.inner_loop, keras.layers.Bidirectional.call]
    _, step = open_path(case(tiny.ALL["bidirectional"]))
    found = prove(step, case(tiny.ALL["bidirectional"]))
    assert (found.kernel, found.evidence["lstm_calls"]) == ("loop", "4")
    assert [keras.layers.LSTM.inner_loop, keras.layers.RNN.inner_loop, keras.layers.Bidirectional.call] == before


def test_many_batches_are_looked_at_in_part() -> None:
    asked = case(tiny.ALL["bidirectional"], Path.PREDICT)
    _, step = open_path(asked)
    found = prove(step, asked)
    assert found.kernel == "loop"
    assert found.evidence["lstm_calls"] == str(4 * 32)
    assert found.evidence["lstm_calls_watched"] == str(MOST_WATCHED)


def test_an_op_over_all_steps_is_seen_where_keras_runs_one() -> None:
    """What cuDNN is on a GPU, oneDNN is here: the same function of torch, in the place where Keras calls it."""
    import keras

    recurrence = importlib.import_module("keras.src.backend.torch.rnn")
    layer = keras.layers.LSTM(3)
    inputs = torch.ones(2, 4, 5)
    layer(inputs)

    def fused(inputs: Any, h: Any, c: Any, mask: Any, kernel: Any, recurrent_kernel: Any, **options: Any) -> Any:
        weights = recurrence.prepare_lstm_params(kernel.value, recurrent_kernel.value, options["bias"], "cpu")
        states = (h.unsqueeze(0), c.unsqueeze(0))
        outputs, *after = torch._VF.lstm(inputs, states, weights, True, 1, 0.0, False, False, True)
        return outputs[:, -1], outputs, [state.squeeze(0) for state in after]

    expected = Expected(cells=1, timesteps=4, training=False)
    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        plain = layer(inputs)
        patch.setattr("keras.src.backend.lstm", fused)
        with watched() as counts:
            found = layer(inputs)
        torch.testing.assert_close(found, plain)
        assert classify(counts, expected) == "onednn"
        assert evidence_of(counts)["products_per_lstm"] == "0"


#: What Keras picks on a GPU host; a Bidirectional runs as one op since Keras 3.15, and as two before.
PICKED = {
    "default": "cudnn",
    "dropout": "cudnn",
    "recurrent-dropout": "loop",
    "relu": "loop",
    "no-bias": "loop",
    "no-cudnn": "loop",
    "mask-left": "loop",
    "stateful": "cudnn",
}


def test_what_a_gpu_host_would_run_is_found_without_one(opened: Engine) -> None:
    rows = opened.selection({name: {} for name in PICKED} | {"workload:own": tiny.ALL["bidirectional"].to_plain()})
    found = {(row["row"], row["mode"]): row["kernel"] for row in rows["rows"]}
    for name, kernel in PICKED.items():
        assert {found[f"{name}/layer", mode] for mode in ("inference", "training")} == {kernel}
    assert found["default/masking", "inference"] == "loop"
    assert found["default/mixed-float16", "training"] == "cudnn"
    assert found["default/encoder-decoder", "training"] == "2x cudnn"
    assert found["default/bidirectional", "training"] == "2x cudnn"
    assert found["workload:own/model", "training"] == "4x cudnn"


def test_cudnn_that_keras_runs_and_throws_away_is_found_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keras 3.14 unpacked torch's three results as two, in a function whose errors are swallowed: issue 22874."""
    import keras

    recurrence: Any = importlib.import_module("keras.src.backend.torch.rnn")
    inner = recurrence._cudnn_lstm

    def as_in_3_14(*args: Any, **options: Any) -> Any:
        outputs, (h, c) = inner(*args, **options)
        return outputs, h, c

    monkeypatch.setattr(recurrence, "_cudnn_lstm", as_in_3_14)
    inputs = keras.Input((4, 5))
    model = keras.Model(inputs, keras.layers.LSTM(3)(inputs))
    expected = Expected(cells=1, timesteps=4, training=False)
    assert trace.traced_kernel(model, training=False, gpu=True, expected=expected) == "mixed: cudnn 1, loop 1"
    assert trace.traced_kernel(model, training=False, gpu=False, expected=expected) == "loop"


def test_pretending_leaves_nothing_behind() -> None:
    import keras

    recurrence: Any = importlib.import_module("keras.src.backend.torch.rnn")
    inputs = keras.Input((4, 5), batch_size=2)
    model = keras.Model(inputs, keras.layers.LSTM(3, stateful=True)(inputs))
    weights = [variable.numpy() for variable in model.variables]
    before = (torch._VF.lstm, recurrence._is_cuda_cudnn_available, str(keras.ops.zeros(1).device))
    expected = Expected(cells=1, timesteps=4, training=True)
    assert trace.traced_kernel(model, training=True, gpu=True, expected=expected) == "cudnn"
    assert (torch._VF.lstm, recurrence._is_cuda_cudnn_available, str(keras.ops.zeros(1).device)) == before
    for variable, array in zip(model.variables, weights, strict=True):
        np.testing.assert_array_equal(variable.numpy(), array)
    assert np.isfinite(np.asarray(model(torch.ones(2, 4, 5)).detach())).all()


INDUCTOR = replace(tiny.FEATURES, units=2, timesteps=3, name="compiled")


@pytest.mark.parametrize("path", [Path.BACKWARD, Path.PREDICT])
def test_inductor_compiles_the_recurrence(opened: Engine, path: Path) -> None:
    reply = opened.open(case(INDUCTOR, path, Kernel.INDUCTOR).to_plain())
    facts = reply["facts"]
    assert (facts["kernel"], facts["device"]) == ("inductor", "cpu")
    assert facts["first_call_traces"] >= 1
    assert facts["output_error"] <= facts["tolerance"]
    assert facts["resolved"]["jit_compile"] == "True"
    assert int(facts["resolved"]["graphs_compiled"]) >= 1
    assert facts["resolved"]["products_outside"] == "0"
    assert opened.run(2, 2)["traces"] == 0


def test_a_host_without_a_compiler_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", lambda function: _refuse)
    compilation._why_not.cache_clear()
    with pytest.raises(Problem, match=r"torch\.compile, which does not work here: RuntimeError: No working C\+\+"):
        open_path(case(INDUCTOR, kernel=Kernel.INDUCTOR))
    compilation._why_not.cache_clear()


def _refuse(*args: Any) -> Any:
    raise RuntimeError("No working C++ compiler found.\nA long story.")


def test_a_worker_warms_up_describes_itself_and_measures_its_peak(opened: Engine) -> None:
    opened.warm_up()
    found = opened.describe()
    assert found["versions"]["torch"] == torch.__version__
    assert found["settings"]["tf32"] == "off"
    assert found["settings"]["keras_device"] == "cpu"
    assert found["devices"] == ["CPU:0"]
    json.dumps(found)
    rates = opened.peak()["flops_per_second"]
    assert rates["float32"] > 0
    assert opened.peak()["transfer"] is None


def test_what_cannot_be_done_here_is_refused_in_words(opened: Engine) -> None:
    with pytest.raises(Problem, match="PyTorch sees no GPU"):
        opened.open(case(tiny.FEATURES, device=Device.GPU).to_plain())
    with pytest.raises(Problem, match="cannot exist with Keras on PyTorch: xla"):
        opened.open(tiny.case(tiny.FEATURES, kernel=Kernel.XLA).to_plain())
    found = Workload("own", "", kind="builder", timesteps=4, builder="no_such_module:build")
    with pytest.raises(Problem, match="no_such_module"):
        opened.open(case(found).to_plain())


def test_a_person_runs_a_case_and_its_profile(capsys: pytest.CaptureFixture[str], tmp_path: FilePath) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[workload.own]\nunits = 2\ntimesteps = 3\nfeatures = 2\nbatch_sizes = [2]\nsource = "a test"\n')
    given = ["--perf-workloads", str(file), "--rounds", "2", "--trace", str(tmp_path / "trace")]
    assert main(["run", "forward[own-b2-cpu-loop-float32-torch]", *given]) == 0
    told = capsys.readouterr().out
    assert "ran            loop on cpu" in told
    assert "trace.json in ui.perfetto.dev" in told
    assert json.loads((tmp_path / "trace" / "trace.json").read_text())["traceEvents"]


def test_a_name_of_another_framework_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "forward[translation-b32-cpu-loop-float32]"]) == 2
    told = capsys.readouterr().err
    assert "name the case forward[translation-b32-cpu-loop-float32-torch]" in told
    assert main(["explain", "translation"]) == 0
    assert "On a GPU host Keras picks cuDNN." in capsys.readouterr().out
