"""``CuDNNLSTM``, the layer of Keras 2 that is cuDNN's LSTM and nothing else, from before ``LSTM`` could pick cuDNN.

It is what people have in mind who say that the newer layers lost speed, and it runs nowhere but on an NVIDIA GPU. Its
variables have the shapes of an ``LSTM``'s but lie in memory as cuDNN wants them: gate after gate, i, f, c, o, each
matrix by rows of its outputs. Its bias (8 * units,) is cuDNN's two, that of the inputs and that of the state, whose sum
is the canonical one. Source: ``_convert_rnn_weights`` in saving/legacy/hdf5_format.py of tf-keras.
"""

from __future__ import annotations

import importlib
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from lstm_models.data import Array
from lstm_models.problem import Problem

_NAME = "CuDNNLSTM"
_GATES = 4
#: Arguments of ``keras.layers.LSTM`` that this layer does not take, each with what it does all the same.
_FIXED = {
    "activation": "tanh",
    "recurrent_activation": "sigmoid",
    "use_bias": True,
    "dropout": 0.0,
    "recurrent_dropout": 0.0,
}


def layer(keras: Any, units: int, options: Mapping[str, Any]) -> Any:
    """A new layer; ``options`` as ``keras.layers.LSTM``. ``keras``: the module whose layer it is.

    Raises :class:`Problem` for a Keras that has none, and for an option that it cannot have.
    """
    if not str(keras.__version__).startswith("2."):
        raise Problem(
            "open",
            f"{_NAME} is a layer of Keras 2, and this process runs Keras {keras.__version__}. Install the package "
            "tf-keras, the extra 'legacy' of this suite, and set TF_USE_LEGACY_KERAS=1.",
        )
    for name, value in _FIXED.items():
        if options.get(name, value) != value:
            raise Problem("open", f"{_NAME} has no {name} = {options[name]!r}; with it there is only {value!r}.")
    # What tf.compat.v1.keras.layers has under this name; Keras 2's own public layers do not show it.
    made = getattr(importlib.import_module(f"{keras.__name__}.src.layers"), _NAME)
    return made(units, **{name: value for name, value in options.items() if name not in _FIXED})


def assign(model: Any, variables: Sequence[Any], weights: Sequence[Array]) -> None:
    """Give the model's ``variables`` the canonical ``weights`` (:func:`lstm_models.data.weights`), converted where they
    are those of a CuDNNLSTM. The bias of the state is zero."""
    to_layer = {"kernel": _by_outputs, "recurrent_kernel": _by_outputs, "bias": _with_zeros}
    for variable, array in zip(variables, _converted(model, variables, weights, to_layer)):
        variable.assign(array)


def canonical(model: Any, variables: Sequence[Any], gradients: Sequence[Array]) -> list[Array]:
    """Gradients of ``variables`` as those of the canonical weights. Those of the two biases are the same, since the two
    are added; the first is taken."""
    from_layer = {"kernel": _by_inputs, "recurrent_kernel": _by_inputs, "bias": _first_half}
    return _converted(model, variables, gradients, from_layer)


def _converted(
    model: Any, variables: Sequence[Any], arrays: Sequence[Array], convert: Mapping[str, Callable[[Array], Array]]
) -> list[Array]:
    layers = [found for found in model._flatten_layers() if type(found).__name__ == _NAME]
    roles = {id(getattr(found, role)): role for found in layers for role in convert}
    return [
        convert[roles[id(variable)]](array) if id(variable) in roles else array
        for variable, array in zip(variables, arrays)
    ]


def _by_outputs(matrix: Array) -> Array:
    """A matrix (inputs, 4 * units) of the same shape whose gates hold the transposed numbers, in their order."""
    return np.hstack([gate.T.reshape(gate.shape) for gate in np.hsplit(matrix, _GATES)])


def _by_inputs(matrix: Array) -> Array:
    """Undoes :func:`_by_outputs`."""
    return np.hstack([gate.reshape(gate.shape[::-1]).T for gate in np.hsplit(matrix, _GATES)])


def _with_zeros(bias: Array) -> Array:
    return np.concatenate([bias, np.zeros_like(bias)])


def _first_half(bias: Array) -> Array:
    return bias[: len(bias) // 2]
