"""The engine with Keras on real JAX, with tiny workloads. Run with KERAS_BACKEND=jax where JAX is installed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lstm_models import availability, backends, data, kernels, models, paths
from lstm_models.backends import backend
from lstm_models.case import Case
from lstm_models.engine import Engine
from lstm_models.problem import Problem
from lstm_models.words import Framework, Kernel, Path, Precision
from lstm_models.workloads import Workload
from tests.lstm_models import tiny

if backends.name() != "jax":
    pytest.skip("Keras runs on another framework in this process", allow_module_level=True)

import jax
import jax.numpy as jnp

from lstm_models.backends.jax.program import count
from lstm_models.backends.jax.proof import classify
from lstm_models.backends.jax.watching import executed
from lstm_models.proof import Expected
from tests.lstm_models.backends.jax_host import pretend_gpu, traced

#: Keras's own, about NumPy 2, where a variable is read.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy:DeprecationWarning")


def case(workload: Workload, path: Path = Path.FORWARD, kernel: Kernel = Kernel.LOOP, **options: Any) -> Case:
    return replace(tiny.case(workload, path, kernel, **options), framework=Framework.JAX)


def opened(asked: Case) -> tuple[models.Built, paths.Step]:
    backend()
    built = models.build(asked.workload, asked.kernel, asked.precision, asked.batch)
    return built, paths.open_path(
        asked, built, data.dataset(asked.workload, asked.batch, paths.batches_per_call(asked))
    )


@pytest.fixture(scope="module")
def started() -> Engine:
    engine = Engine()
    engine.warm_up()
    return engine


@pytest.fixture
def engine(started: Engine) -> Iterator[Engine]:
    yield started
    started.close()


@pytest.mark.parametrize("kernel", [Kernel.AUTO, Kernel.LOOP, Kernel.UNROLLED])
@pytest.mark.parametrize("path", list(Path))
def test_every_path_and_kernel_is_proved_right_and_timed(engine: Engine, path: Path, kernel: Kernel) -> None:
    reply = engine.open(case(tiny.TOKENS, path, kernel).to_plain())
    facts = reply["facts"]
    assert facts["kernel"] == ("loop" if kernel is Kernel.AUTO else str(kernel))
    assert facts["device"] == "cpu"
    assert facts["output_error"] <= facts["tolerance"]
    assert (facts["gradient_error"] is not None) == (path in (Path.BACKWARD, Path.FIT))
    assert facts["resolved"]["jit_compile"] == "True"
    assert facts["first_call_traces"] >= 1
    run = engine.run(3, 2)
    assert len(run["seconds"]) == 3
    assert run["traces"] == 0


@pytest.mark.parametrize("name", [name for name in tiny.ALL if name not in ("tokens", "stateful")])
def test_every_option_of_a_workload_opens(engine: Engine, name: str) -> None:
    facts = engine.open(case(tiny.ALL[name], Path.BACKWARD).to_plain())["facts"]
    assert facts["kernel"] == "loop"
    assert facts["output_error"] <= facts["tolerance"]
    assert engine.run(2, 2)["traces"] == 0


def test_decoding_is_proved_by_both_of_its_models(engine: Engine) -> None:
    facts = engine.open(case(tiny.CHATBOT, Path.PREDICT).to_plain())["facts"]
    assert (facts["kernel"], facts["resolved"]["programs"], facts["resolved"]["loops"]) == ("loop", "2", "2")
    assert facts["output_error"] <= facts["tolerance"]


@pytest.mark.parametrize("precision", [Precision.MIXED_FLOAT16, Precision.MIXED_BFLOAT16])
@pytest.mark.parametrize("path", [Path.FORWARD, Path.BACKWARD, Path.FIT, Path.PREDICT])
def test_mixed_precision_opens(engine: Engine, path: Path, precision: Precision) -> None:
    facts = engine.open(case(tiny.TOKENS, path, precision=precision).to_plain())["facts"]
    assert 1e-6 < max(facts["output_error"], facts["gradient_error"] or 0) <= facts["tolerance"]


def test_masked_sequences_are_right_in_outputs_and_loss(engine: Engine) -> None:
    both = replace(tiny.FEATURES, name="both", mask="left", bidirectional=True, return_sequences=True)
    for path in (Path.FORWARD, Path.FIT):
        facts = engine.open(case(both, path).to_plain())["facts"]
        assert facts["output_error"] <= facts["tolerance"]
    # Unrolled, Keras computes something else: that is why the case does not exist.
    assert availability.unavailable(case(both, kernel=Kernel.UNROLLED)) is not None
    with pytest.raises(Problem, match="float64 reference"):
        engine.open(case(both, kernel=Kernel.UNROLLED).to_plain())


@pytest.mark.parametrize(
    ("workload", "path"),
    [*((tiny.TOKENS, path) for path in Path), (tiny.CHATBOT, Path.PREDICT)],
)
def test_nothing_is_traced_after_the_first_call_and_weights_stay(workload: Workload, path: Path) -> None:
    built, step = opened(case(workload, path))
    before = [variable.numpy() for variable in built.variables]
    assert step.traces() == 0
    step.call()
    traces = step.traces()
    assert traces >= 1
    step.result()
    step.gradients()
    step.reset()
    step.call()
    assert step.traces() == traces
    for variable, array in zip(built.variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), array)


def test_a_trace_is_seen() -> None:
    """Of a step of this suite's, and of one that Keras keeps to itself."""
    built, step = opened(case(tiny.FEATURES, Path.FIT))
    step.call()
    before = step.traces()
    built.model.fit(np.zeros((2, 6, 5), np.float32), np.zeros((2, 3), np.float32), verbose=0)
    assert step.traces() > before


def test_compiling_anew_without_a_trace_is_seen() -> None:
    """As for weights that lie where they were put by name, which JAX compiles another program for."""
    built, step = opened(case(tiny.FEATURES))
    step.call()
    weights = [jax.device_put(variable.value, jax.devices()[0]) for variable in built.model.trainable_variables]
    others = [variable.value for variable in built.model.non_trainable_variables]
    step.evidence(weights, others, jnp.zeros((2, 4, 5)))
    assert step.traces() == 2


@pytest.mark.parametrize("path", list(Path))
def test_what_is_timed_reads_weights_and_data_from_its_arguments(path: Path) -> None:
    """Constants would let XLA compute at compile time what is to be timed."""
    _, step = opened(case(tiny.TOKENS, path))
    step.call()
    with executed() as programs:
        step.call()
    (program,) = programs.values()
    assert max((np.size(constant) for constant in _constants(program.jaxpr)), default=0) <= 2


def _constants(jaxpr: Any) -> Iterator[Any]:
    yield from getattr(jaxpr, "consts", ())
    for equation in jaxpr.eqns:
        for value in equation.params.values():
            for part in value if isinstance(value, list | tuple) else (value,):
                if hasattr(part, "eqns"):
                    yield from _constants(part)


def test_looking_at_a_call_neither_traces_nor_compiles(capfd: pytest.CaptureFixture[str]) -> None:
    """The proof reads the program that ran, from JAX's caches, and not a second one."""
    _, step = opened(case(tiny.TOKENS, Path.FIT))
    step.call()
    with jax.log_compiles(), executed() as programs:
        step.call()
    assert len(programs) == 1
    assert "Compiling" not in capfd.readouterr().err


@pytest.mark.parametrize("name", ["tokens", "bidirectional", "dropout", "recurrent-dropout", "chatbot"])
def test_fit_shows_the_gradients_that_jax_gives(name: str) -> None:
    """With dropout too: both come from a twin that drops nothing, so they agree and repeat."""
    _, backward = opened(case(tiny.ALL[name], Path.BACKWARD))
    _, fit = opened(case(tiny.ALL[name], Path.FIT))
    backward.call()
    fit.call()
    np.testing.assert_allclose(fit.result(), backward.result(), rtol=1e-5)
    found, expected = fit.gradients(), backward.gradients()
    assert found is not None
    assert expected is not None
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-6 * np.abs(other).max())
        assert np.abs(other).max() > 0


def test_training_drops_otherwise_at_every_call_and_after_a_reset() -> None:
    _, step = opened(case(tiny.ALL["dropout"], Path.BACKWARD))
    losses = []
    for _ in range(3):
        losses += [float(step.call()[0]) for _ in range(2)]
        step.reset()
    assert len(set(losses)) == 6
    _, forward = opened(case(tiny.ALL["dropout"]))
    np.testing.assert_array_equal(forward.result(), forward.result())


@pytest.mark.parametrize("path", [Path.FORWARD, Path.PREDICT])
def test_keras_loses_the_states_of_compiled_calls(path: Path) -> None:
    """Why no stateful case exists on JAX; where this fails, Keras keeps them, and the case can be measured."""
    asked = case(tiny.ALL["stateful"], path)
    assert "stateful" in (availability.unavailable(asked) or "")
    _, step = opened(asked)
    np.testing.assert_array_equal(np.asarray(step.call()), np.asarray(step.call()))


def _heavy_and_light() -> tuple[Any, Any]:
    """Two compiled calls without anything in common, one of them some thousand times as long as the other."""

    def steps(values: Any) -> Any:
        return jax.lax.scan(lambda carry, _: (jnp.tanh(carry @ carry), None), values, None, length=1000)[0]

    long, short = jax.jit(steps), jax.jit(lambda values: values + 1)
    large, small = jnp.ones((100, 100)), jnp.ones((10, 10))
    jax.block_until_ready((long(large), short(small)))
    return lambda: long(large), lambda: short(small)


def test_a_long_call_is_not_overtaken_by_a_short_one() -> None:
    """What waiting for a round's last call rests on."""
    heavy, light = _heavy_and_light()
    for _ in range(5):
        begun = heavy()
        backend().synchronise(light())
        assert begun.is_ready()


@pytest.mark.parametrize("value", [None, {"loss": 1.0}], ids=["nothing", "numbers"])
def test_a_call_that_returns_no_arrays_is_waited_for(value: Any) -> None:
    heavy, _ = _heavy_and_light()
    begun = heavy()
    backend().synchronise(value)
    assert begun.is_ready()


def test_a_model_that_keras_does_not_compile_is_refused() -> None:
    built = models.build(tiny.FEATURES, Kernel.LOOP, Precision.FLOAT32, 2)
    built.model.compile(optimizer="sgd", loss="mse", run_eagerly=True)
    with pytest.raises(Problem, match="Keras compiles nothing for train"):
        backend().record(built.model, "train")


def test_a_case_of_another_framework_runs_where_it_can(engine: Engine) -> None:
    """Side by side one record goes to both."""
    other = tiny.case(tiny.FEATURES)
    assert engine.open(other.to_plain())["facts"]["kernel"] == "loop"
    with pytest.raises(Problem, match="has no such kernel"):
        engine.open(replace(other, kernel=Kernel.XLA).to_plain())


def test_which_kernel_a_gpu_host_would_take_is_not_said(engine: Engine) -> None:
    from lstm_models import explain

    with pytest.raises(Problem, match="Run a case of kernel auto on the GPU host"):
        engine.selection({"default": {}})
    with pytest.raises(Problem, match="Run a case of kernel auto on the GPU host"):
        explain.explain(tiny.FEATURES)


def test_the_process_describes_itself(engine: Engine) -> None:
    found = engine.describe()
    assert found["versions"]["jax"] == jax.__version__
    assert found["versions"]["cuda"] == "not built with CUDA"
    assert found["settings"]["matmul_precision"] == "highest"
    assert found["settings"]["keras_backend"] == "jax"
    assert found["devices"] == ["CPU:0"]
    peak = engine.peak()
    assert set(peak["flops_per_second"]) == {"float32", "float16", "bfloat16"}
    assert peak["transfer"] is None


def gpu_counts(workload: Workload, training: bool) -> tuple[Any, str]:
    """The counts of the jaxpr of a GPU host, and their kernel; what XLA would compile is made up after the jaxpr."""
    with pretend_gpu():
        model = models.build(workload, Kernel.AUTO, Precision.FLOAT32, 2).model
        jaxpr = traced(model, training=training).jaxpr
    found = count(jaxpr, "")
    found.compiled_cudnn_calls, found.compiled_loops = found.cudnn_calls, found.long_loops
    return found, classify(found, Expected.of(workload, Path.FIT if training else Path.FORWARD))


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", list(tiny.ALL))
def test_on_a_gpu_host_the_obstacles_are_keras_own(name: str, training: bool) -> None:
    """By Keras's and JAX's own code, traced as on a GPU host."""
    workload = tiny.ALL[name]
    blocked = bool(kernels.obstacles(workload, Framework.JAX))
    found, kernel = gpu_counts(workload, training)
    assert kernel == ("loop" if blocked else "cudnn")
    assert bool(found.cudnn_gradients) == (training and not blocked)


@pytest.mark.parametrize(("dropout", "calls"), [(0.0, 2), (0.5, 4)])
def test_both_directions_are_fused_into_one_call_without_dropout(dropout: float, calls: int) -> None:
    """Keras 3.15 on; both are cuDNN, and the number of calls is in the evidence."""
    found, kernel = gpu_counts(replace(tiny.ALL["bidirectional"], dropout=dropout), False)
    assert (kernel, found.cudnn_calls, found.cudnn_lstms) == ("cudnn", calls, 4)


def test_cudnn_computes_float32_in_float32_and_nothing_in_16_bits() -> None:
    backend()
    with pretend_gpu():
        plain = models.build(tiny.FEATURES, Kernel.AUTO, Precision.FLOAT32, 2).model
        assert "cudnn_allow_tf32=False" in str(traced(plain, training=False).jaxpr)
        for precision in (Precision.MIXED_FLOAT16, Precision.MIXED_BFLOAT16):
            half = models.build(tiny.FEATURES, Kernel.AUTO, precision, 2).model
            stage = traced(half, training=False)
            assert count(stage.jaxpr, "").cudnn_calls == 1
            with pytest.raises(ValueError, match="Unknown output type"):
                stage.lower(lowering_platforms=("cuda",))
            assert kernels.breaks_cudnn(tiny.FEATURES, Framework.JAX, precision)
