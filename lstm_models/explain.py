"""Why Keras picks the kernel it picks, in plain words. Measured by tracing, never looked up in a table of rules."""

from __future__ import annotations

import copy
import re
import textwrap
from dataclasses import dataclass, replace
from typing import Any, Iterator, Optional

from lstm_models import data, keras_layers, kernels, models, user_models
from lstm_models.backends import backend, trace
from lstm_models.problem import Problem
from lstm_models.proof import Expected
from lstm_models.words import Framework, Kernel, Path, Precision
from lstm_models.workloads import Workload

#: Settings of ``keras.layers.LSTM`` that are put back to Keras's default one at a time, to see which one decides.
DEFAULTS: dict[str, Any] = {
    "use_cudnn": "auto",
    "unroll": False,
    "activation": "tanh",
    "recurrent_activation": "sigmoid",
    "use_bias": True,
    "recurrent_dropout": 0.0,
    "dropout": 0.0,
}
_BATCH = 2


@dataclass(frozen=True)
class Choice:
    """What Keras picks in one place: the kernel of the traced graph, and whether ``jit_compile="auto"`` is on."""

    kernel: str
    jit_compile: bool

    @property
    def words(self) -> str:
        """What then runs: a graph under XLA is no longer the loop that was traced."""
        runs = "xla" if self.jit_compile and self.kernel != "cudnn" else self.kernel
        if keras_layers.is_keras_2():
            return f"{runs:<9} Keras 2 uses XLA only when it is told to"
        return f"{runs:<9} jit_compile='auto' resolves to {self.jit_compile}"


@dataclass(frozen=True)
class Explanation:
    """``choices`` by (device, "inference" or "training"). ``blocking``: settings that keep cuDNN away on a GPU host,
    each as text with the kernel that its default would give; ``together``: they do so only jointly, each by itself
    being enough. ``refusal``: why cuDNN, once picked, fails at run time; empty if it does not."""

    workload: Workload
    choices: dict[tuple[str, str], Choice]
    blocking: tuple[str, ...]
    together: bool
    refusal: str
    not_lstm: int
    framework: Framework = Framework.TENSORFLOW


def explain(workload: Workload) -> Explanation:
    """Trace the workload under ``auto`` on the CPU and as on a GPU host. Seconds to a minute; nothing is run.

    Raises :class:`Problem` on a framework of which nobody can say it.
    """
    if backend().why_no_selection:
        raise Problem("open", backend().why_no_selection)
    choices: dict[tuple[str, str], Choice] = {}
    plain = _model(workload)
    for training in (False, True):
        choices["cpu", _name(training)] = _choice(workload, plain, training, gpu=False)
    with trace().pretend_gpu():
        model = _model(workload)
        for training in (False, True):
            choices["gpu", _name(training)] = _choice(workload, model, training, gpu=True)
        on_gpu = {choices["gpu", _name(training)].kernel for training in (False, True)}
        blocking, together = ((), False) if on_gpu == {"cudnn"} else _blocking(workload, model)
    others = sum(1 for layer in keras_layers.recurrent_layers(model) if not hasattr(layer, "use_cudnn"))
    refusal = refused_mask(workload, plain) if "cudnn" in on_gpu else ""
    not_lstm = others if keras_layers.has_use_cudnn() else 0
    framework = Framework(backend().name)
    return Explanation(workload, choices, blocking, together, refusal, not_lstm, framework)


def _name(training: bool) -> str:
    return "training" if training else "inference"


def _model(workload: Workload) -> Any:
    return models.build(workload, Kernel.AUTO, Precision.FLOAT32, _BATCH).model


def _expected(workload: Workload, training: bool) -> Expected:
    expected = Expected.of(workload, Path.FIT if training else Path.FORWARD)
    return replace(expected, timesteps=expected.timesteps or 2)


def _kernel(workload: Workload, model: Any, training: bool, gpu: bool) -> str:
    expected = _expected(workload, training)
    return str(trace().traced_kernel(model, training=training, gpu=gpu, expected=expected, batch=_BATCH))


def _choice(workload: Workload, model: Any, training: bool, gpu: bool) -> Choice:
    return Choice(_kernel(workload, model, training, gpu), keras_layers.jit_compiled(model))


def _blocking(workload: Workload, model: Any) -> tuple[tuple[str, ...], bool]:
    """The settings that keep cuDNN away, found by putting one at a time back to its default; where that is not
    enough, by putting back all the others: then each that remains in the way is in it."""
    changed = [name for name in DEFAULTS if any(value != DEFAULTS[name] for value in _values(model, name))]
    shown = {name: ", ".join(sorted({repr(value) for value in _values(model, name)})) for name in changed}
    alone = [(name, _after(workload, model, [name])) for name in changed]
    found = tuple(f"{name} = {shown[name]}" for name, kernel in alone if kernel == "cudnn")
    if found or len(changed) < 2:
        return found, False
    joint = [
        f"{name} = {shown[name]}"
        for name in changed
        if _after(workload, model, [other for other in changed if other != name]) != "cudnn"
    ]
    return tuple(joint), True


def _after(workload: Workload, model: Any, names: list[str]) -> str:
    """The kernel with ``names`` at their defaults: ``cudnn`` only if inference and training both have it."""
    try:
        other = _with_defaults(model, names)
    except (TypeError, ValueError, NotImplementedError):  # a user's layer that cannot be made from its configuration
        return "unknown"
    kernels = {_kernel(workload, other, training, gpu=True) for training in (False, True)}
    return kernels.pop() if len(kernels) == 1 else "mixed: " + ", ".join(sorted(kernels))


def _values(model: Any, name: str) -> list[Any]:
    """What the LSTM layers of ``model`` have for ``name``, as their configuration writes it."""
    layers = [layer for layer in keras_layers.recurrent_layers(model) if type(layer).__name__ == "LSTM"]
    if name == "use_cudnn":  # not part of the configuration
        return [getattr(layer, "use_cudnn", "auto") for layer in layers]
    return [layer.get_config().get(name, DEFAULTS[name]) for layer in layers]


def _with_defaults(model: Any, names: list[str]) -> Any:
    """``model`` made anew from its configuration, with ``names`` at Keras's defaults in every LSTM."""
    keras = keras_layers.keras()
    config = copy.deepcopy(model.get_config())
    for lstm in _lstm_configs(config):
        lstm.update({name: DEFAULTS[name] for name in names if name in lstm})
    made = type(model).from_config(config)
    before = keras_layers.recurrent_layers(model)
    for at, layer in enumerate(keras_layers.recurrent_layers(made)):
        if hasattr(layer, "use_cudnn") and "use_cudnn" not in names:
            layer.use_cudnn = before[at].use_cudnn
    made.compile(optimizer="sgd", loss=keras.losses.MeanSquaredError())
    return made


def _lstm_configs(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if node.get("class_name") == "LSTM":
            yield node["config"]
        for value in node.values():
            yield from _lstm_configs(value)
    elif isinstance(node, (list, tuple)):
        for value in node:
            yield from _lstm_configs(value)


def refused_mask(workload: Workload, model: Any) -> str:
    """Keras's own run-time check of a mask for cuDNN, on the workload's data; its message, empty where it passes."""
    if workload.mask == "none":
        return ""
    inputs = _inputs(workload, model)
    return str(trace().refusal(inputs != 0 if inputs.ndim == 2 else (inputs != 0).any(axis=-1)))


def _inputs(workload: Workload, model: Any) -> Any:
    if workload.kind in ("stack", "encoder-decoder"):
        return data.dataset(workload, 8, 1).inputs[0]
    return user_models.dataset(workload, model, 8, 1).inputs[0]


def versions() -> str:
    """One line: what was asked."""
    framework = backend()
    return f"{framework.title} {framework.versions()[framework.name]}, Keras {keras_layers.keras().__version__}"


def text(found: Explanation, asked: Optional[str] = None) -> str:
    """The explanation for a person."""
    workload = found.workload
    lines = [f"{workload.name}: which kernel Keras picks by itself ({asked or versions()})", ""]
    for (device, mode), choice in found.choices.items():
        host = "machine without a GPU" if device == "cpu" else "GPU host"
        lines.append(f"  {host + ', ' + mode:<32} {choice.words}")
    lines.append("")
    on_gpu = [choice.kernel for (device, _), choice in found.choices.items() if device == "gpu"]
    for paragraph in _why(found, on_gpu):
        lines += textwrap.wrap(paragraph, 100)
    lines.append("Found by tracing, the GPU's choices with Keras told that there is a GPU; no GPU was used.")
    return "\n".join(lines)


def _why(found: Explanation, on_gpu: list[str]) -> list[str]:
    lines = []
    if all(kernel == "cudnn" for kernel in on_gpu):
        lines.append("On a GPU host Keras picks cuDNN. On a machine without a GPU there is no cuDNN to pick.")
    elif found.blocking and found.together:
        lines.append("These settings keep cuDNN away, each of them by itself: " + "; ".join(found.blocking) + ".")
        lines.append("With all of them at Keras's defaults the same layers go to cuDNN.")
    elif found.blocking:
        lines.append("What keeps cuDNN away: " + "; ".join(found.blocking) + ".")
        lines.append("With Keras's default for it, all else left as it is, the same layers go to cuDNN.")
    elif keras_layers.is_keras_2() and found.workload.mask != "none":
        lines.append("Keras 2 has both in its graph and looks at each mask: right padding goes to cuDNN, others loop.")
    elif any(_twice(found, kernel) for kernel in on_gpu):
        lines.append("On a GPU host cuDNN runs, Keras throws its result away, and then runs the loop as well.")
    elif any(reason.startswith("mask") for reason in kernels.obstacles(found.workload, found.framework)):
        lines += [f"{reason}." for reason in kernels.obstacles(found.workload, found.framework)]
    elif found.not_lstm:
        lines.append(f"{found.not_lstm} recurrent layer(s) are no keras.layers.LSTM; only that can go to cuDNN.")
    else:
        lines.append("No single setting of the LSTM layers was found that keeps cuDNN away.")
    picked = any("cudnn" in kernel for kernel in on_gpu)
    has_xla = Kernel.XLA in kernels.EXIST[found.framework] and not keras_layers.is_keras_2()
    if not picked and has_xla and not found.choices["gpu", "training"].jit_compile:
        lines.append(
            "And it is neither cuDNN nor XLA: Keras leaves jit_compile='auto' off all the same, as if the layer went "
            "to cuDNN. use_cudnn=False with jit_compile=True gives XLA."
        )
    if found.refusal:
        lines.append(
            f"But cuDNN refuses at run time, and training or prediction stops with an error: Keras's check of the "
            f"{found.workload.mask} mask says: {found.refusal}"
        )
    return lines


def _twice(found: Explanation, kernel: str) -> bool:
    """Whether cuDNN and loops together are more than there are LSTMs."""
    cells = _expected(found.workload, training=False).cells
    return "cudnn" in kernel and cells is not None and sum(map(int, re.findall(r"\d+", kernel))) > cells
