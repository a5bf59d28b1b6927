"""A workload under a kernel, as a compiled Keras model with the seeded weights.

Keras is imported inside functions, so that importing this module costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from lstm_models import cudnn_layer, data, keras_layers, user_models
from lstm_models.keras_layers import keras
from lstm_models.words import Kernel, Precision
from lstm_models.workloads import Workload


@dataclass(frozen=True)
class Built:
    """A model ready to run.

    ``model`` is compiled. ``encoder`` (tokens -> h, c) and ``decoder`` (token, h, c -> distribution, h, c) share its
    layers and are there for encoder-decoder workloads only. ``variables`` are the trainable variables of Keras in
    canonical order (:func:`lstm_models.data.weights`). ``loss(targets, outputs)`` is the loss of ``fit``.
    ``loss_scale`` is what float16 gradients are scaled with, 1 otherwise. ``resolved``: the settings in force.
    """

    model: Any
    variables: list[Any]
    loss: Callable[[Any, Any], Any]
    resolved: dict[str, str]
    encoder: Optional[Any] = None
    decoder: Optional[Any] = None
    loss_scale: float = 1.0

    @property
    def jit_compile(self) -> bool:
        """Whether the model's steps are compiled with XLA."""
        return self.resolved["jit_compile"] == "True"


@dataclass(frozen=True)
class _Network:
    """An uncompiled model; ``layers`` in canonical order where the model's own order is another."""

    model: Any
    layers: list[Any] = field(default_factory=list)
    encoder: Optional[Any] = None
    decoder: Optional[Any] = None


def build(workload: Workload, kernel: Kernel, precision: Precision, batch: int) -> Built:
    """The workload's model, with seeded weights (a saved model keeps its own), compiled for ``kernel``.

    ``batch`` is fixed in the model only where it is stateful. Raises ``worker.Problem`` for a user's model that
    cannot be had.
    """
    with keras_layers.policy(precision):
        network = _network(workload, kernel, batch)
        loss = _loss(workload.head)
        for model in (network.model, network.encoder, network.decoder):
            if model is not None:
                keras_layers.enforce(model, kernel)
                keras_layers.compile_model(model, kernel, precision, loss)
    owners = network.layers or [network.model]
    variables = [variable for owner in owners for variable in owner.trainable_variables]
    if kernel is Kernel.CUDNN_LAYER:
        cudnn_layer.assign(network.model, variables, data.weights(workload))
    elif workload.kind != "saved":
        _assign(workload, variables)
    return Built(
        model=network.model,
        variables=variables,
        loss=loss,
        resolved=keras_layers.resolved(network.model),
        encoder=network.encoder,
        decoder=network.decoder,
        loss_scale=keras_layers.LOSS_SCALE if precision is Precision.MIXED_FLOAT16 else 1.0,
    )


def _assign(workload: Workload, variables: list[Any]) -> None:
    if workload.kind == "builder":
        arrays = data.weights_like(workload, [tuple(variable.shape) for variable in variables])
    else:
        arrays = data.weights(workload)
    if [tuple(variable.shape) for variable in variables] != [array.shape for array in arrays]:
        raise AssertionError(f"{workload.name}: Keras made variables of other shapes than the workload's weights.")
    for variable, array in zip(variables, arrays):
        variable.assign(array)


def _loss(head: str) -> Any:
    losses = keras().losses
    if head == "softmax":
        return losses.SparseCategoricalCrossentropy()
    return losses.BinaryCrossentropy() if head == "sigmoid" else losses.MeanSquaredError()


def _network(workload: Workload, kernel: Kernel, batch: int) -> _Network:
    lstm = keras_layers.lstm_maker(kernel)
    if workload.kind == "encoder-decoder":
        return _encoder_decoder(workload, lstm)
    if workload.kind == "builder":
        return _Network(user_models.built(workload, lstm))
    if workload.kind == "saved":
        return _Network(user_models.loaded(workload, kernel))
    return _Network(_stack(workload, lstm, batch))


def _options(workload: Workload) -> dict[str, Any]:
    """Arguments of ``keras.layers.LSTM`` that all LSTMs of a workload share."""
    return {
        "activation": workload.activation,
        "use_bias": workload.use_bias,
        "dropout": workload.dropout,
        "recurrent_dropout": workload.recurrent_dropout,
    }


def _stack(workload: Workload, lstm: Callable[..., Any], batch: int) -> Any:
    layers = keras().layers
    fixed = batch if workload.stateful else None
    if workload.vocabulary:
        inputs = keras().Input((workload.timesteps,), batch_size=fixed, dtype="int32")
        masked = workload.mask != "none"
        values = layers.Embedding(workload.vocabulary, workload.embedding, mask_zero=masked)(inputs)
    else:
        inputs = keras().Input((workload.timesteps, workload.features), batch_size=fixed, dtype="float32")
        values = layers.Masking(0.0)(inputs) if workload.mask != "none" else inputs
    for number in range(workload.layers):
        sequences = workload.return_sequences or number + 1 < workload.layers
        layer = lstm(workload.units, return_sequences=sequences, stateful=workload.stateful, **_options(workload))
        values = (layers.Bidirectional(layer) if workload.bidirectional else layer)(values)
    if workload.outputs:
        values = _head(workload)(values)
    return keras().Model(inputs, values)


def _head(workload: Workload) -> Callable[[Any], Any]:
    """Dense, then its activation in float32 whatever the precision, as Keras's mixed precision guide asks."""
    dense = keras().layers.Dense(workload.outputs)
    activation = keras().layers.Activation(workload.head, dtype="float32")

    def head(values: Any) -> Any:
        return activation(dense(values))

    head.dense = dense  # type: ignore[attr-defined]
    return head


def _encoder_decoder(workload: Workload, lstm: Callable[..., Any]) -> _Network:
    """As keras-io's lstm_seq2seq: one model to train by teacher forcing, and two that share its layers to decode."""
    layers, options = keras().layers, _options(workload)
    encoder_embedding = layers.Embedding(workload.vocabulary, workload.embedding)
    encoder_lstm = lstm(workload.units, return_state=True, **options)
    decoder_embedding = layers.Embedding(workload.vocabulary, workload.embedding)
    decoder_lstm = lstm(workload.units, return_sequences=True, return_state=True, **options)
    head = _head(workload)

    source = keras().Input((workload.timesteps,), dtype="int32")
    target = keras().Input((workload.timesteps,), dtype="int32")
    _, *states = encoder_lstm(encoder_embedding(source))
    sequence, *_ = decoder_lstm(decoder_embedding(target), initial_state=states)
    model = keras().Model([source, target], head(sequence))

    token = keras().Input((1,), dtype="int32")
    # In the encoder's own precision: Keras 2 does not cast the states that a layer is given.
    given = [keras().Input((workload.units,), dtype=state.dtype) for state in states]
    sequence, *after = decoder_lstm(decoder_embedding(token), initial_state=given)
    return _Network(
        model=model,
        layers=[encoder_embedding, encoder_lstm, decoder_embedding, decoder_lstm, head.dense],  # type: ignore[attr-defined]
        encoder=keras().Model(source, states),
        decoder=keras().Model([token, *given], [head(sequence), *after]),
    )
