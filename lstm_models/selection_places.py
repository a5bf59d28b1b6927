"""The places in which an LSTM layer is looked at: bare, in models as people build them, cloned, saved and loaded.

Keras is imported inside functions, so that the names of the rows cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, Callable, Mapping, Optional

import numpy as np

from lstm_models.keras_layers import keras
from lstm_models.words import Precision

#: Sizes of every layer of the table: what Keras picks depends on options and not on sizes.
UNITS, TIMESTEPS, FEATURES, BATCH = 4, 3, 2, 2


@dataclass(frozen=True)
class Setting:
    """One configuration of ``keras.layers.LSTM``.

    ``words``: how a person writes it. ``given``: what a call of the layer is given besides its inputs: ``""``,
    ``initial_state`` (h and c as further inputs), ``mask-right`` or ``mask-left``. ``places``: ids of the places in
    which it can stand, all of them where empty.
    """

    id: str
    words: str
    options: Mapping[str, Any] = field(default_factory=dict)
    given: str = ""
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class Placed:
    """A model with the layer in its place, not compiled, and ``call(inputs, training=...)``, which is to be traced."""

    model: Any
    call: Callable[..., Any]


@dataclass(frozen=True)
class Place:
    """``build(setting, folder)`` makes the layer in its place; ``cells`` LSTMs are in it then, ``None`` where that is
    not known. Files go into ``folder``. To be built under the policy ``precision``."""

    id: str
    words: str
    build: Callable[[Setting, FilePath], Placed]
    cells: Optional[int] = 1
    precision: Precision = Precision.FLOAT32


def mask(which: str) -> list[list[bool]]:
    """``mask-right`` or ``mask-left`` for a batch of :data:`BATCH`: the padding is one step long in one sample."""
    padded = [True] * (TIMESTEPS - 1) + [False]
    return [padded if which == "mask-right" else padded[::-1], [True] * TIMESTEPS]


def _lstm(setting: Setting, **more: Any) -> Any:
    return keras().layers.LSTM(UNITS, **{**setting.options, **more})


def _input(setting: Setting, *shape: int, dtype: str = "float32") -> Any:
    """An input of ``(batch, *shape)``, features over time unless said otherwise; only a stateful layer needs its
    batch fixed."""
    fixed = BATCH if setting.options.get("stateful") else None
    return keras().Input(shape or (TIMESTEPS, FEATURES), batch_size=fixed, dtype=dtype)


def _whole(model: Any) -> Placed:
    return Placed(model, model)


def _bare(setting: Setting, folder: FilePath) -> Placed:
    layer, inputs = _lstm(setting), _input(setting)
    if setting.given == "initial_state":
        states = [_input(setting, UNITS), _input(setting, UNITS)]
        model = keras().Model([inputs, *states], layer(inputs, initial_state=states))
        return Placed(model, lambda given, training: layer(given[0], initial_state=list(given[1:]), training=training))
    # The model is there for its inputs, its variables and its choice of jit_compile; the layer itself is traced.
    model = keras().Model(inputs, layer(inputs))
    if not setting.given:
        return Placed(model, layer)
    return Placed(model, lambda given, training: layer(given, mask=np.array(mask(setting.given)), training=training))


def _functional(setting: Setting) -> Any:
    inputs = _input(setting)
    return keras().Model(inputs, _lstm(setting)(inputs))


def _sequential(setting: Setting, folder: FilePath) -> Placed:
    return _whole(keras().Sequential([_input(setting), _lstm(setting)]))


def _encoder_decoder(setting: Setting, folder: FilePath) -> Placed:
    source, target = _input(setting), _input(setting)
    _, *states = _lstm(setting, return_state=True)(source)
    sequence, *_ = _lstm(setting, return_sequences=True, return_state=True)(target, initial_state=states)
    return _whole(keras().Model([source, target], sequence))


def _bidirectional(setting: Setting, folder: FilePath) -> Placed:
    inputs = _input(setting)
    return _whole(keras().Model(inputs, keras().layers.Bidirectional(_lstm(setting))(inputs)))


def _masking(setting: Setting, folder: FilePath) -> Placed:
    inputs = _input(setting)
    return _whole(keras().Model(inputs, _lstm(setting)(keras().layers.Masking(0.0)(inputs))))


def _embedding(setting: Setting, folder: FilePath) -> Placed:
    inputs = _input(setting, TIMESTEPS, dtype="int32")
    embedded = keras().layers.Embedding(5, FEATURES, mask_zero=True)(inputs)
    return _whole(keras().Model(inputs, _lstm(setting)(embedded)))


def _cloned(setting: Setting, folder: FilePath) -> Placed:
    return _whole(keras().models.clone_model(_functional(setting)))


def _saved(setting: Setting, folder: FilePath) -> Placed:
    file = folder / "model.keras"
    _functional(setting).save(file)
    return _whole(keras().models.load_model(file, compile=False))


def _plain(setting: Setting, folder: FilePath) -> Placed:
    return _whole(_functional(setting))


PLACES = (
    Place("layer", "bare layer", _bare),
    Place("sequential", "in a Sequential", _sequential),
    Place("encoder-decoder", "in an encoder-decoder", _encoder_decoder, cells=2),
    Place("bidirectional", "in Bidirectional", _bidirectional, cells=2),
    Place("masking", "after Masking", _masking),
    Place("embedding", "after Embedding(mask_zero=True)", _embedding),
    Place("cloned", "after clone_model", _cloned),
    Place("saved", "after saving and loading", _saved),
    Place("mixed-float16", "under mixed_float16", _plain, precision=Precision.MIXED_FLOAT16),
    Place("mixed-bfloat16", "under mixed_bfloat16", _plain, precision=Precision.MIXED_BFLOAT16),
)
_ALL = tuple(place.id for place in PLACES)
#: Where an option is looked at that changes what a layer returns and not what it computes.
_OUTPUTS = ("layer", "bidirectional", "masking", "mixed-float16")

#: The LSTM options of the built-in workloads and of what people report (LSTM.md), one at a time: two options together
#: say nothing that each alone does not. The ids stand in test names, run files and baselines.
SETTINGS = (
    Setting("default", "Keras's defaults"),
    Setting("dropout", "dropout=0.2", {"dropout": 0.2}),
    Setting("recurrent-dropout", "recurrent_dropout=0.2", {"recurrent_dropout": 0.2}),
    Setting("relu", 'activation="relu"', {"activation": "relu"}),
    Setting("no-bias", "use_bias=False", {"use_bias": False}),
    Setting("unroll", "unroll=True", {"unroll": True}),
    Setting("no-cudnn", "use_cudnn=False", {"use_cudnn": False}),
    # Bidirectional turns the direction itself, and an encoder-decoder hands its states over itself.
    Setting(
        "go-backwards",
        "go_backwards=True",
        {"go_backwards": True},
        places=tuple(place for place in _ALL if place != "bidirectional"),
    ),
    Setting(
        "stateful",
        "stateful=True",
        {"stateful": True},
        places=tuple(place for place in _ALL if place != "encoder-decoder"),
    ),
    Setting("sequences", "return_sequences=True", {"return_sequences": True}, places=_OUTPUTS),
    Setting("return-state", "return_state=True", {"return_state": True}, places=_OUTPUTS),
    Setting("initial-state", "initial_state given", given="initial_state", places=("layer",)),
    Setting("mask-right", "mask with padding at the end", given="mask-right", places=("layer",)),
    Setting("mask-left", "mask with padding at the start", given="mask-left", places=("layer",)),
)

#: Ids of the settings, in the order of the table: what stands before the ``/`` in a row's id.
GROUPS = tuple(setting.id for setting in SETTINGS)


def rows() -> list[tuple[Setting, Place]]:
    """Every row of the table, in its order; its id is ``setting/place``."""
    return [
        (setting, place) for setting in SETTINGS for place in PLACES if not setting.places or place.id in setting.places
    ]
